"""Spans of OpenTelemetry: a run is linked to the trace in which its task was enqueued."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tasks import tracing
from tests.tasks.seen import add, task


@pytest.mark.django_db
def test_a_task_remembers_the_trace_in_which_it_was_enqueued(spans: Any) -> None:
    with trace.get_tracer("t").start_as_current_span("request") as request:
        inside = add("test.noop")
    outside = add("test.noop")

    trace_id = f"{request.get_span_context().trace_id:032x}"
    assert task(inside).trace.split("-")[1] == trace_id
    assert task(outside).trace == ""


def test_a_run_is_a_span_that_is_linked_to_it(spans: InMemorySpanExporter) -> None:
    with trace.get_tracer("t").start_as_current_span("request") as request:
        enqueued_in = tracing.current_trace()
    spans.clear()

    with tracing.run_span("test.noop@1", enqueued_in, id="7", attempt=2):
        pass

    [span] = spans.get_finished_spans()
    assert span.name == "run test.noop@1"
    assert dict(span.attributes or {}) == {"task.id": "7", "task.attempt": 2}
    assert [link.context.span_id for link in span.links] == [request.get_span_context().span_id]
    assert span.context.trace_id != request.get_span_context().trace_id


def test_a_failed_run_tells_its_class_but_no_message(spans: InMemorySpanExporter) -> None:
    with pytest.raises(ValueError, match="hunter2"), tracing.run_span("test.noop@1", ""):
        raise ValueError("hunter2")

    [span] = spans.get_finished_spans()
    assert (span.status.is_ok, span.status.description) == (False, "ValueError")
    assert "hunter2" not in span.to_json()


def test_without_the_package_nothing_is_traced(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "otel", None)

    with tracing.run_span("test.noop@1", ""):
        assert tracing.current_trace() == ""

    assert spans.get_finished_spans() == ()


def test_until_there_is_a_provider_no_run_pays_for_an_empty_span(
    spans: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tracing.run_span("test.noop@1", ""):
        assert trace.get_current_span().get_span_context().is_valid  # the control
    monkeypatch.setattr(trace, "get_tracer_provider", trace.ProxyTracerProvider)

    with tracing.run_span("test.noop@1", ""):
        assert trace.get_current_span() is trace.INVALID_SPAN
