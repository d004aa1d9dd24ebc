"""Spans of OpenTelemetry: one for each request, and the log lines and tasks that go with it."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from tasks import log_context
from tasks.models import Task
from tests.support import factories
from tests.support.keyed_posts import some_work

pytestmark = pytest.mark.django_db

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
CLIENTS = {"traceparent": f"00-{TRACE}-{PARENT}-01"}


def test_a_request_is_a_span_with_its_route_and_without_its_ids(
    spans: InMemorySpanExporter, client: Any
) -> None:
    job = factories.job()

    answer = client.get(f"/api/v1/jobs/{job}?secret=s3cret", headers=CLIENTS)

    [span] = spans.get_finished_spans()
    assert span.kind is SpanKind.SERVER
    assert span.name == "GET /api/v1/jobs/<uuid:job_id>"
    assert dict(span.attributes or {}) == {
        "http.request.method": "GET",
        "http.route": "/api/v1/jobs/<uuid:job_id>",
        "http.response.status_code": answer.status_code,
        "request_id": answer.headers["X-Request-ID"],
    }
    assert f"{span.context.trace_id:032x}" == TRACE
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == PARENT
    assert str(job) not in span.to_json()
    assert "s3cret" not in span.to_json()


def test_a_failure_is_marked_without_its_message(
    spans: InMemorySpanExporter, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ValueError("s3cret")

    monkeypatch.setattr("pipeline.api.v1.jobs.views.read_job", fail)
    client.raise_request_exception = False

    assert client.get(f"/api/v1/jobs/{factories.job()}").status_code == 500

    [span] = spans.get_finished_spans()
    assert not span.status.is_ok
    assert "s3cret" not in span.to_json()


def test_a_task_is_in_the_trace_of_the_request_that_started_it(spans: InMemorySpanExporter) -> None:
    assert some_work().plainly().status_code == 201

    [span] = spans.get_finished_spans()
    _, trace, parent, _ = Task.objects.get().trace.split("-")
    assert (trace, parent) == (f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}")


def test_log_lines_name_the_trace(
    spans: InMemorySpanExporter, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, object]] = []

    class Notes(logging.Handler):
        def emit(self, _record: logging.LogRecord) -> None:
            seen.append(dict(log_context.current_fields()))

    logger = logging.getLogger("django.request")
    monkeypatch.setattr(logger, "handlers", [Notes()])

    client.get("/api/v1/nowhere", headers=CLIENTS)

    assert [fields["trace_id"] for fields in seen] == [TRACE]
    assert seen[0]["request_id"]


def test_an_invalid_trace_of_a_client_begins_a_new_one(
    spans: InMemorySpanExporter, client: Any
) -> None:
    client.get("/api/v1/jobs", headers={"traceparent": "00-nonsense"})

    [span] = spans.get_finished_spans()
    assert span.parent is None
