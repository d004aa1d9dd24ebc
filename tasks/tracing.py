"""Optional OpenTelemetry spans: one for each run, linked to the trace that enqueued the task.

If the package `opentelemetry-api` is installed (the extra `tracing`), a task stores the trace in
which it was enqueued, and each run becomes a span linked to that trace. The settings or
`opentelemetry-instrument` configure the provider that receives the spans. Without the package,
nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

try:
    from opentelemetry import trace as otel
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    otel = None  # type: ignore[assignment]  # the package is optional


def current_trace() -> str:
    """Return the active trace as a W3C traceparent; empty if there is none."""
    if otel is None or not otel.get_current_span().get_span_context().is_valid:
        return ""
    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return carrier.get("traceparent", "")


def _is_recorded() -> bool:
    """Tell whether spans go anywhere: without a provider, the package only makes empty ones."""
    return otel is not None and not isinstance(otel.get_tracer_provider(), otel.ProxyTracerProvider)


def run_span(type_name: str, enqueued_in: str, **attributes: Any) -> AbstractContextManager[None]:
    """Make a span of a run, linked to the trace in which the task was enqueued.

    The span of a failed run records only the exception's class: its message could contain a secret
    from the payload.
    """
    return _recorded_span(type_name, enqueued_in, attributes) if _is_recorded() else nullcontext()


@contextmanager
def _recorded_span(type_name: str, enqueued_in: str, attributes: Any) -> Iterator[None]:
    context = TraceContextTextMapPropagator().extract({"traceparent": enqueued_in})
    origin = otel.get_current_span(context).get_span_context()
    with otel.get_tracer("tasks").start_as_current_span(
        f"run {type_name}",
        kind=otel.SpanKind.CONSUMER,
        links=[otel.Link(origin)] if origin.is_valid else [],
        attributes={f"task.{name}": value for name, value in attributes.items()},
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield
        except BaseException as error:
            span.set_status(otel.Status(otel.StatusCode.ERROR, type(error).__qualname__))
            raise
