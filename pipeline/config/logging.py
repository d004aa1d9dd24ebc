"""Logging: one shape for every process, structured, with the request's id on each line."""

from __future__ import annotations

import logging.config
import re
from typing import Any

import structlog

_SECRET = re.compile(r"(/(?:confirm|confirm-email|password/reset/key)/)[^/\s\"']+")


def without_secrets(_logger: object, _method: str, event: dict[str, Any]) -> dict[str, Any]:
    """Remove secrets in addresses from a log line: the links in emails."""
    words = event.get("event")
    if isinstance(words, str):
        event["event"] = _SECRET.sub(r"\1…", words)
    event.pop("request", None)  # Django adds it to its lines; as text it is the address again
    return event


_SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.stdlib.ExtraAdder(),
    without_secrets,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def configure_logging(*, level: str, as_json: bool) -> None:
    """Send every record to standard error, as JSON lines or as text for a person."""
    last: list[Any]
    if as_json:  # JSON does not render exceptions by itself
        last = [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    else:
        plain = structlog.dev.plain_traceback  # the others show local variables: keys, addresses
        last = [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=plain)]
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *last],
        "foreign_pre_chain": _SHARED,
    }
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": formatter},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"handlers": ["stderr"], "level": level},
        }
    )
