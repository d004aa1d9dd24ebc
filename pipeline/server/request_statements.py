"""Time limit of a web server's statements."""

from __future__ import annotations

from django.conf import settings


def limit_request_statements() -> None:
    """Limit every statement of this process. Call this before its first connection.

    The limit is a start-up option, so it costs no round trip. Work that may take longer lifts it in
    its own transaction (see `pipeline.database.statement_time`).
    """
    options = settings.DATABASES["default"]["OPTIONS"]
    milliseconds = settings.STATEMENT_SECONDS * 1_000
    options["options"] = f"-c statement_timeout={milliseconds} {options['options']}"
