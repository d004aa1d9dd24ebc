"""Reports of errors to Sentry, or to a server that speaks its protocol.

No personal data leaves the site. A report says which code failed, but not the values: messages of
exceptions can quote a row, and requests hold names. Its ids lead to the log lines, which have the
rest.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ImproperlyConfigured

from tasks import log_context

# What a report may hold. Everything else that the library collects is left out.
KEPT = ("event_id", "timestamp", "level", "platform", "release", "environment", "logger", "sdk")
KEPT_OF_FRAME = ("filename", "function", "module", "lineno", "context_line", "in_app")
# `caller` and `address` are on log lines too, but are personal data.
KEPT_IDS = ("request_id", "job_id", "application_id", "task_id", "task_type")


def start(dsn: str, *, environment: str) -> None:
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
            before_send=describe,
            max_breadcrumbs=0,
            include_local_variables=False,
            send_client_reports=False,
            auto_session_tracking=False,
        )
    except BadDsn:  # not quoted: it holds a key
        raise ImproperlyConfigured("SENTRY_DSN must be like https://key@host/1.") from None


def describe(event: Any, _hint: Any) -> Any:
    """Return a report with nothing but the place of an error and ids."""
    report = {name: event[name] for name in KEPT if name in event}
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
