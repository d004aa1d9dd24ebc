"""Logging: one shape for every process, with the request's or the run's fields on each line."""

from __future__ import annotations

import json
import logging.config
import re
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import psycopg

from tasks.log_context import log_fields

_SECRET = re.compile(r"(/(?:confirm|confirm-email|password/reset/key)/)[^/\s\"']+")
# What every record has; all else on it was given by whoever logged it.
_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def log_without_secrets(text: str) -> str:
    """Remove the secrets in addresses from a text: those of the links in emails."""
    return _SECRET.sub(r"\1…", text)


def is_expected_log_record(record: logging.LogRecord) -> bool:
    """Return whether a traceback says nothing: of a refusal, or of a lock that was not free."""
    status, error = getattr(record, "status_code", None), (record.exc_info or (None, None))[1]
    is_refusal = isinstance(status, int) and status < HTTPStatus.INTERNAL_SERVER_ERROR
    cause = getattr(error, "__cause__", None)
    return is_refusal or isinstance(cause, psycopg.errors.LockNotAvailable)


class JSONFormatter(logging.Formatter):
    """One JSON object per line; an exception's traceback is one of its fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as a line."""
        return json.dumps(_fields_of_log_record(record), default=repr)


class TextFormatter(logging.Formatter):
    """A line for a person, with its fields behind it; a traceback follows below."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a record as text. Local variables are not shown: they hold keys and addresses."""
        fields = _fields_of_log_record(record)
        names = ("timestamp", "level", "event", "logger")
        at, level, event, logger = (fields.pop(name) for name in names)
        below = [fields.pop(name) for name in ("exception", "stack") if name in fields]
        rest = "".join(f" {name}={value}" for name, value in fields.items())
        return "\n".join([f"{at} [{level:<8}] {event} [{logger}]{rest}", *below])


def configure_logging(*, level: str, as_json: bool) -> None:
    """Send every record to standard error, as JSON lines or as text for a person."""
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"line": {"()": JSONFormatter if as_json else TextFormatter}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
            "root": {"handlers": ["stderr"], "level": level},
        }
    )


def _fields_of_log_record(record: logging.LogRecord) -> dict[str, Any]:
    given = {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
    given.pop("request", None)  # Django adds it to its lines; as text it is the address again
    fields = {
        "event": log_without_secrets(record.getMessage()),
        **log_fields(),
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
