"""Logging: one format for every process, with the request's or run's fields on each line."""

from __future__ import annotations

import json
import logging.config
import re
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import psycopg

from tasks import log_context

_SECRET = re.compile(r"(/(?:confirm|confirm-email|password/reset/key)/)[^/\s\"']+")
# Attributes of every record. Any others were passed by the code that logged it.
_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def hide_secrets(text: str) -> str:
    """Remove secrets in URLs from a text, such as those of links in emails."""
    return _SECRET.sub(r"\1…", text)


def is_expected_log_record(record: logging.LogRecord) -> bool:
    """Return whether a traceback is useless: after a refusal, or for a lock that was not free."""
    status, error = getattr(record, "status_code", None), (record.exc_info or (None, None))[1]
    is_refusal = isinstance(status, int) and status < HTTPStatus.INTERNAL_SERVER_ERROR
    cause = getattr(error, "__cause__", None)
    return is_refusal or isinstance(cause, psycopg.errors.LockNotAvailable)


class JSONFormatter(logging.Formatter):
    """Formatter of records as one JSON object per line, with the traceback as a field."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line."""
        return json.dumps(_record_fields(record), default=repr)


class TextFormatter(logging.Formatter):
    """Formatter of records as text, with the fields at the end and the traceback below."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as text.

        Local variables are left out because they hold keys and addresses.
        """
        fields = _record_fields(record)
        names = ("timestamp", "level", "event", "logger")
        at, level, event, logger = (fields.pop(name) for name in names)
        below = [fields.pop(name) for name in ("exception", "stack") if name in fields]
        rest = "".join(f" {name}={value}" for name, value in fields.items())
        return "\n".join([f"{at} [{level:<8}] {event} [{logger}]{rest}", *below])


def configure_logging(*, level: str, as_json: bool) -> None:
    """Send every record to standard error, as JSON lines or as text."""
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": {"()": JSONFormatter if as_json else TextFormatter}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"handlers": ["stderr"], "level": level},
        }
    )


def _record_fields(record: logging.LogRecord) -> dict[str, Any]:
    given = {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
    given.pop("request", None)  # Django adds it to its lines; as text it would repeat the URL
    fields = {
        "event": hide_secrets(record.getMessage()),
        **log_context.current_fields(),
        "logger": record.name,
        "level": record.levelname.lower(),
        **given,
        "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat()[:-6] + "Z",
    }
    if record.exc_info and record.exc_info[0] and not is_expected_log_record(record):
        fields["exception"] = logging.Formatter().formatException(record.exc_info)
    if record.stack_info:
        fields["stack"] = record.stack_info
    return fields
