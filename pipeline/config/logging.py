"""Logging: one shape for every process, structured, with the request's id on each line."""

from __future__ import annotations

import logging.config
import re
from http import HTTPStatus
from typing import Any

import psycopg
import structlog

_SECRET = re.compile(r"(/(?:confirm|confirm-email|password/reset/key)/)[^/\s\"']+")


def without_secrets(_logger: object, _method: str, event: dict[str, Any]) -> dict[str, Any]:
    """Remove secrets in addresses from a log line: the links in emails."""
    words = event.get("event")
    if isinstance(words, str):
        event["event"] = _SECRET.sub(r"\1…", words)
    event.pop("request", None)  # Django adds it to its lines; as text it is the address again
    return event


def without_expected_tracebacks(
    _logger: object, _method: str, event: dict[str, Any]
) -> dict[str, Any]:
    """Remove the tracebacks of refusals (a status below 500) and of locks that were not free."""
    status, info = event.get("status_code"), event.get("exc_info")
    error = info[1] if isinstance(info, tuple) else info
    is_refusal = isinstance(status, int) and status < HTTPStatus.INTERNAL_SERVER_ERROR
    if is_refusal or isinstance(getattr(error, "__cause__", None), psycopg.errors.LockNotAvailable):
        event.pop("exc_info", None)
    return event


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.ExtraAdder(),
    without_secrets,
    without_expected_tracebacks,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def configure_logging(*, level: str, as_json: bool) -> None:
    """Send every record to standard error, as JSON lines or as text for a person."""
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": line_format(as_json=as_json)},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"handlers": ["stderr"], "level": level},
        }
    )


def line_format(*, as_json: bool) -> dict[str, Any]:
    """Return the configuration of the formatter, as JSON lines or as text."""
    last: list[Any]
    if as_json:  # JSON does not render exceptions by itself
        last = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        plain = structlog.dev.plain_traceback  # the others show local variables: keys, addresses
        last = [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=plain)]
    return {
        "()": structlog.stdlib.ProcessorFormatter,
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        "foreign_pre_chain": _SHARED,
    }
