"""Poolers in transaction mode: faults of one for requests, and work that must bypass one."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import psycopg
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, connections

from tasks.listen import TransactionPooler, refuse_pooled_address

# Settings that each connection of the site asks for at its start. A pooler loses them.
SESSION = {
    "lock_timeout": "3s",
    "idle_in_transaction_session_timeout": "30s",
    "plan_cache_mode": "force_generic_plan",
}


def find_faults() -> Iterator[str]:
    """Yield what the pooler in DATABASE_URL lacks, if there is one. Raises DatabaseError."""
    if not settings.POOLED_DATABASE:
        return
    wrapper = connections["default"].copy()
    wrapper.settings_dict = wrapper.settings_dict | settings.POOLED_DATABASE
    options = wrapper.settings_dict["OPTIONS"]
    wrapper.settings_dict["OPTIONS"] = {k: v for k, v in options.items() if k != "options"}
    wanted = [*SESSION, "statement_timeout"]
    own_name = f"doctor_{uuid4().hex}"
    try:
        with wrapper.cursor() as cursor:
            cursor.execute(
                "SELECT name FROM unnest(%s::text[]) name WHERE current_setting(name) = ANY(%s)",
                [wanted, ["0", "auto"]],
            )
            if lost := [name for (name,) in cursor.fetchall()]:
                yield f"connections through the pooler lack {', '.join(lost)}"
            if settings.PREPARED_STATEMENTS:
                # A pooler that keeps prepared statements gives them names of its own.
                wire = wrapper.connection.pgconn
                wire.prepare(own_name.encode(), f"SELECT '{own_name}'".encode())
                cursor.execute(
                    "SELECT count(*) FROM pg_prepared_statements WHERE name = %s", [own_name]
                )
                if cursor.fetchone()[0]:
                    yield (
                        "the pooler does not keep prepared statements: set PREPARED_STATEMENTS=off,"
                        " or max_prepared_statements in PgBouncer 1.21 or newer"
                    )
    finally:
        wrapper.close()


def refuse_unfit_addresses() -> None:
    """Refuse to start a web server whose addresses cannot work.

    Raises ImproperlyConfigured, but not if the database is away.
    """
    try:
        refuse_pooled_address()
        faults = list(find_faults())
    except TransactionPooler as error:
        raise ImproperlyConfigured(str(error)) from error
    except (psycopg.Error, DatabaseError):
        return
    if faults:
        raise ImproperlyConfigured(f"{'; '.join(faults)}. docs/scaling.md says what to set.")
