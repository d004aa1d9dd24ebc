"""Time limit for what one statement of a web server may take."""

from __future__ import annotations

from django.conf import settings


def bound_statements() -> None:
    """Bound every statement of this process; to be called before its first connection.

    It is a start-up option, so it costs no round trip. Work that may take longer lifts it within
    its own transaction, see `pipeline.database.statement_time`.
    """
    options = settings.DATABASES["default"]["OPTIONS"]
    milliseconds = settings.STATEMENT_SECONDS * 1_000
    options["options"] = f"-c statement_timeout={milliseconds} {options['options']}"
