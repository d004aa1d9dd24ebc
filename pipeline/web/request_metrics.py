"""Request counts and durations for Prometheus.

Under gunicorn, each process keeps its numbers in files in the directory that
`pipeline.server.gunicorn_config` sets as PROMETHEUS_MULTIPROC_DIR. The process that is asked adds
them all up.

Labels hold the route's pattern, never its ids, so they reveal no company or person.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from prometheus_client import REGISTRY, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

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


def measure_request_metrics(
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


def count_request_metric_without_django(method: str, route: str, status: int) -> None:
    """Count a request that the event loop answered without Django."""
    REQUESTS.labels(method if method in _METHODS else "OTHER", route, str(status)).inc()


def metrics_exposition() -> bytes:
    """Return the counters of all of this server's processes, in Prometheus' text format."""
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest(REGISTRY)
    everyone = CollectorRegistry()
    MultiProcessCollector(everyone)
    return generate_latest(everyone)
