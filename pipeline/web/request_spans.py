"""Optional OpenTelemetry spans: one for each request, in the trace that its client names.

As for background runs (`tasks.tracing`), nothing happens without the package `opentelemetry-api`
(the extra `tracing`) and a provider, which `opentelemetry-instrument` configures.
"""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus

from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse

from tasks.log_context import add_log_fields

try:
    from opentelemetry import trace as otel
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    otel = None  # type: ignore[assignment]  # the package is optional


def request_span(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Make a span of each request. Its log lines get the `trace_id`.

    A span holds the route but never the URL, whose ids and tokens can belong to people.
    """
    if otel is None:
        raise MiddlewareNotUsed

    def request_span_middleware(request: HttpRequest) -> HttpResponse:
        carrier = {"traceparent": request.headers.get("traceparent", "")}
        with otel.get_tracer("pipeline").start_as_current_span(
            str(request.method),
            context=TraceContextTextMapPropagator().extract(carrier),
            kind=otel.SpanKind.SERVER,
            attributes={"http.request.method": str(request.method)},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            if span.get_span_context().is_valid:
                add_log_fields(trace_id=f"{span.get_span_context().trace_id:032x}")
            response = get_response(request)
            route = f"/{request.resolver_match.route}" if request.resolver_match else "unknown"
            span.update_name(f"{request.method} {route}")
            span.set_attributes(
                {
                    "http.route": route,
                    "http.response.status_code": response.status_code,
                    "request_id": str(getattr(request, "request_id", "")),
                }
            )
            if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                span.set_status(otel.Status(otel.StatusCode.ERROR))
        return response

    return request_span_middleware
