"""Database connections of a web server's requests: their time limit, and their pooler if any."""

from __future__ import annotations

from copy import deepcopy

from django.conf import settings

NO_LIMIT = "-c statement_timeout=0"


def limit_request_statements() -> None:
    """Limit every statement of this process. Call this before its first connection.

    The limit is a start-up option, so it costs no round trip. Work that may take longer lifts it in
    its own transaction (see `pipeline.database.statement_time`). A pooler in transaction mode
    accepts no start-up options: there the limits are set on its own connections or on the role.
    """
    limit = f"-c statement_timeout={settings.STATEMENT_SECONDS * 1_000}"
    for database in settings.DATABASES.values():
        options = database["OPTIONS"]
        options["options"] = f"{limit} {options['options'].replace(NO_LIMIT, '')}"
    if settings.POOLED_DATABASE:
        usual = settings.DATABASES["default"]
        settings.DIRECT_DATABASE = deepcopy(usual)
        usual.update(settings.POOLED_DATABASE)
        usual["OPTIONS"].pop("options")
