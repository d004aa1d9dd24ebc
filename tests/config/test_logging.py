"""Log lines: their fields, as JSON and as text."""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

import pytest

from pipeline.config.logging import JSONFormatter, TextFormatter
from tasks import log_context


def record(text: str, *values: Any, **extra: Any) -> logging.LogRecord:
    logger = logging.getLogger("pipeline.example")
    made = logger.makeRecord(
        logger.name, logging.WARNING, __file__, 1, text, values, None, extra=extra
    )
    made.created = 1_767_225_600.25
    return made


def test_a_line_of_json_has_the_fields_of_the_request_and_of_the_record() -> None:
    with log_context.bound_fields(request_id="abc"):
        line = JSONFormatter().format(record("%s of %s", 1, 2, status_code=404, request=object()))

    assert json.loads(line) == {
        "event": "1 of 2",
        "request_id": "abc",
        "logger": "pipeline.example",
        "level": "warning",
        "status_code": 404,
        "timestamp": "2026-01-01T00:00:00.250000Z",
    }


def test_a_line_of_text_has_the_same_fields() -> None:
    with log_context.bound_fields(request_id="abc"):
        line = TextFormatter().format(record("it is late", seconds=5))

    start = "2026-01-01T00:00:00.250000Z [warning ] it is late [pipeline.example]"
    assert line == f"{start} request_id=abc seconds=5"


@pytest.mark.parametrize("formatter", [JSONFormatter(), TextFormatter()])
def test_a_traceback_is_whole_and_shows_no_values(formatter: logging.Formatter) -> None:
    made = record("it failed")
    try:
        secret = "".join(["s3", "cret"])
        raise ValueError(len(secret))
    except ValueError:
        made.exc_info = sys.exc_info()

    line = formatter.format(made)

    assert "Traceback (most recent call last)" in line
    assert "ValueError: 6" in line
    assert "s3cret" not in line


@pytest.mark.parametrize("formatter", [JSONFormatter(), TextFormatter()])
def test_secrets_in_addresses_are_left_out(formatter: logging.Formatter) -> None:
    line = formatter.format(record("Not Found: %s", "/confirm/s3cret/"))

    assert "s3cret" not in line


def test_a_value_that_is_no_json_is_written_all_the_same() -> None:
    line = JSONFormatter().format(record("x", what={1}))

    assert json.loads(line)["what"] == "{1}"


def test_fields_end_with_what_they_were_bound_around() -> None:
    with log_context.bound_fields(a="1"), log_context.bound_fields(b="2"):
        inside = dict(log_context.current_fields())

    assert inside == {"a": "1", "b": "2"}
    assert dict(log_context.current_fields()) == {}
