"""Metrics, spans and caller names of requests.

Under gunicorn, each process keeps its numbers in files in the directory that
`pipeline.server.gunicorn_config` sets as PROMETHEUS_MULTIPROC_DIR. The process that is asked adds
them all up.

Labels hold the route's pattern, never its ids, so they reveal no company or person.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus

from django.contrib.auth import SESSION_KEY
from django.core.exceptions import MiddlewareNotUsed
from django.db import Error
from django.http import HttpRequest, HttpResponse
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from applicants.browser import KEY as APPLICANT
from tasks import log_context

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

REQUESTS = Counter(
    "nextinline_http_requests",
    "Requests answered.",
    ["method", "route", "status"],
)
LATENCY = Histogram(
    "nextinline_http_request_duration_seconds",
    "Time from the first middleware to the response.",
    ["method", "route"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)


def measure(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Count and time each request by method, route and response status."""

    def request_metrics_middleware(request: HttpRequest) -> HttpResponse:
        start = time.perf_counter()
        response = get_response(request)
        method = request.method if request.method in _METHODS else "OTHER"
        match = request.resolver_match
        labels = (method, f"/{match.route.lstrip('^')}" if match else "none")
        LATENCY.labels(*labels).observe(time.perf_counter() - start)
        REQUESTS.labels(*labels, str(response.status_code)).inc()
        return response

    return request_metrics_middleware


def count_loop_answer(method: str, route: str, status: int) -> None:
    """Count a request that the event loop answered without Django."""
    REQUESTS.labels(method if method in _METHODS else "OTHER", route, str(status)).inc()


def metrics_exposition() -> bytes:
    """Return the counters of all of this server's processes, in Prometheus' text format."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest(REGISTRY)
    everyone = CollectorRegistry()
    MultiProcessCollector(everyone)
    return generate_latest(everyone)


# Optional OpenTelemetry spans: one for each request, in the trace that its client names. As for
# background runs (`tasks.tracing`), nothing happens without the package `opentelemetry-api` (the
# extra `tracing`) and a provider, which `opentelemetry-instrument` configures.


try:
    from opentelemetry import trace as otel
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
except ImportError:
    otel = None  # type: ignore[assignment]  # the package is optional


def trace(
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
                log_context.add_fields(trace_id=f"{span.get_span_context().trace_id:032x}")
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


# Caller of a request, as log lines name it.


ANONYMOUS = "anonymous"
# The request has a session cookie, but nothing has read the session yet.
UNREAD = "session"


class CallerName:
    """Name of a request's caller for log lines: `key:ID`, `member:ID` or `applicant:ID`.

    Uses only what the request has already read, so a log line costs no query.
    """

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    def __str__(self) -> str:
        """Return the caller's kind and id, or `anonymous` without a credential."""
        known = self._request.__dict__
        if name := getattr(type(known.get("user")), "log_name", None):
            return str(name.fget(known["user"]))
        session = known.get("session")
        if session is None or session.session_key is None:
            return ANONYMOUS
        if "_session_cache" not in session.__dict__:
            return UNREAD
        for key, kind in ((SESSION_KEY, "member"), (APPLICANT, "applicant")):
            if key in session:
                return f"{kind}:{session[key]}"
        return ANONYMOUS

    __repr__ = __str__

    @property
    def accepted_name(self) -> str:
        """Return the caller's name if the request's credential was read and holds, else nothing."""
        name = str(self)
        return "" if name in (ANONYMOUS, UNREAD) else name

    def look_up(self) -> None:
        """Read the session if nothing has yet; without a database the name stays `session`."""
        session = self._request.__dict__.get("session")
        if session is not None and session.session_key is not None:
            with suppress(Error):
                session.get(SESSION_KEY)
