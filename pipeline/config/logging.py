"""Logging in one format for every process, and reports of errors."""

from __future__ import annotations

import json
import logging.config
import re
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Any

import psycopg
from django.core.exceptions import ImproperlyConfigured

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


# Reports of errors to Sentry, or to a server that speaks its protocol. No personal data leaves the
# site. A report says which code failed, but not the values: messages of exceptions can quote a row,
# and requests hold names. Its ids lead to the log lines, which have the rest.


# What a report may hold. Everything else that the library collects is left out.
KEPT_OF_REPORT = (
    "event_id",
    "timestamp",
    "level",
    "platform",
    "release",
    "environment",
    "logger",
    "sdk",
)
KEPT_OF_FRAME = ("filename", "function", "module", "lineno", "context_line", "in_app")
# `caller` and `address` are on log lines too, but are personal data.
KEPT_IDS = ("request_id", "job_id", "application_id", "task_id", "task_type")


def start_error_reports(dsn: str, *, environment: str) -> None:
    """Report what is logged as an error, and uncaught exceptions; nothing without a DSN.

    Raises ImproperlyConfigured if the library is missing or the DSN is malformed.
    """
    if not dsn:
        return
    try:
        import sentry_sdk
        from sentry_sdk.integrations.atexit import AtexitIntegration
        from sentry_sdk.integrations.excepthook import ExcepthookIntegration
        from sentry_sdk.integrations.logging import LoggingIntegration
        from sentry_sdk.utils import BadDsn
    except ImportError:
        raise ImproperlyConfigured(
            "SENTRY_DSN needs the library sentry-sdk: install the extra `sentry`, or unset it."
        ) from None
    from pipeline.config.release import COMMIT, VERSION  # asks git for the commit

    try:
        sentry_sdk.init(
            dsn=dsn,
            environment=environment,
            release=f"next-in-line@{VERSION}" + (f"+{COMMIT}" if COMMIT else ""),
            default_integrations=False,
            integrations=[
                LoggingIntegration(level=None),
                ExcepthookIntegration(always_run=True),
                AtexitIntegration(callback=lambda *_: None),
            ],
            before_send=describe_error_report,
            max_breadcrumbs=0,
            include_local_variables=False,
            send_client_reports=False,
            auto_session_tracking=False,
        )
    except BadDsn:  # not quoted: it holds a key
        raise ImproperlyConfigured("SENTRY_DSN must be like https://key@host/1.") from None


def describe_error_report(event: Any, _hint: Any) -> Any:
    """Return a report with nothing but the place of an error and ids."""
    report = {name: event[name] for name in KEPT_OF_REPORT if name in event}
    fields = log_context.current_fields()
    report["tags"] = {name: str(fields[name]) for name in KEPT_IDS if fields.get(name)}
    # The text as in the code, without the values put into it.
    report["logentry"] = {"message": (event.get("logentry") or {}).get("message", "")}
    failures = (event.get("exception") or {}).get("values") or []
    report["exception"] = {"values": [strip_values(each) for each in failures]}
    return report


def strip_values(failure: dict[str, Any]) -> dict[str, Any]:
    """Return an exception's type and places, without its message and variables."""
    frames = (failure.get("stacktrace") or {}).get("frames") or []
    kept = [{name: each[name] for name in KEPT_OF_FRAME if name in each} for each in frames]
    return {
        "type": failure.get("type"),
        "module": failure.get("module"),
        "stacktrace": {"frames": kept},
    }
