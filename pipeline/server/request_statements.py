"""Database connections of a web server's requests: their time limit, and their pooler if any."""

from __future__ import annotations

from copy import deepcopy

from django.conf import settings


def set_up_request_connections() -> None:
    """Limit every statement of this process. Call this before its first connection.

    The limit is a start-up option, so it costs no round trip. Work that may take longer lifts it in
    its own transaction (see `pipeline.database.statement_time`). A pooler in transaction mode
    accepts no start-up options: there the limits stand on its own connections or on the role.
    """
    database = settings.DATABASES["default"]
    if settings.POOLED_DATABASE:
        settings.DIRECT_DATABASE = deepcopy(database)
        database.update(settings.POOLED_DATABASE)
        database["OPTIONS"].pop("options")
        return
    options = database["OPTIONS"]
    milliseconds = settings.STATEMENT_SECONDS * 1_000
    options["options"] = f"-c statement_timeout={milliseconds} {options['options']}"
