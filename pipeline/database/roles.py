"""Database roles: one owns the tables and migrates, the other is the application's.

The application's role owns nothing. It may read the log and append to it, but not change or remove
its rows or switch off its triggers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psycopg
from django.conf import settings
from django.db import DatabaseError, connection
from psycopg import sql

from pipeline.database.fatal_errors import MIGRATING

OWNER, APPLICATION = "nextinline_owner", "nextinline_app"
LOG, REMOVED_LOGS = "pipeline_event", "pipeline_removedlog"

_CREATE_ROLE = """
DO $$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = {name}) THEN
        CREATE ROLE {role} LOGIN PASSWORD {password};
    END IF;
END $$
"""
# Everything in the schema that another role owns. Column sequences follow their tables.
_HAND_OVER = """
DO $$
DECLARE each record;
BEGIN
    FOR each IN SELECT c.oid::regclass AS name, CASE c.relkind WHEN 'S' THEN 'SEQUENCE'
            WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' ELSE 'TABLE' END AS kind
        FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
          AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND c.relowner <> {name}::regrole
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid
              AND d.classid = 'pg_class'::regclass AND d.deptype IN ('a', 'i', 'e'))
    LOOP EXECUTE format('ALTER %s %s OWNER TO {role}', each.kind, each.name); END LOOP;
    FOR each IN SELECT p.oid::regprocedure AS name FROM pg_proc p
        WHERE p.pronamespace = 'public'::regnamespace AND p.proowner <> {name}::regrole
          AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid
              AND d.classid = 'pg_proc'::regclass AND d.deptype = 'e')
    LOOP EXECUTE format('ALTER ROUTINE %s OWNER TO {role}', each.name); END LOOP;
END $$
"""
_RIGHTS = """
GRANT USAGE ON SCHEMA public TO {role};
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role};
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {role};
REVOKE ALL ON {table}, django_migrations FROM {role};
GRANT SELECT, INSERT ON {table} TO {role};
GRANT SELECT ON django_migrations TO {role}
"""
_RIGHTS_ON_REMOVED_LOGS = """
REVOKE ALL ON {table} FROM {role};
GRANT SELECT ON {table} TO {role}
"""

# Given once these tables are there.
_RIGHTS_BY_TABLE = {
    LOG: _RIGHTS,
    REMOVED_LOGS: _RIGHTS_ON_REMOVED_LOGS,
    "pipeline_webserver": "GRANT EXECUTE ON FUNCTION pipeline_transactions() TO {role}",
}


def prepare_cluster(socket_dir: Path, *, superuser: str, port: int) -> None:
    """Create both roles in an embedded cluster, and give them its database.

    Objects that an earlier release created as superuser become the owner's.
    """
    host = str(socket_dir)
    with psycopg.connect(host=host, port=port, user=superuser, dbname="postgres") as server:
        for role in (OWNER, APPLICATION):
            _create(server, role, None)
        named = {"name": sql.Literal(OWNER), "role": sql.Identifier(OWNER)}
        server.execute(sql.SQL("GRANT CREATE, USAGE ON SCHEMA public TO {role}").format(**named))
        server.execute(sql.SQL(_HAND_OVER).format(**named))
        _grant_rights(server, APPLICATION)


@contextmanager
def migrating() -> Iterator[None]:
    """Use the migrating role for Django's connection in the block, if the site has a separate one.

    Afterwards, the application's role exists and has its rights on every table.
    """
    given = settings.MIGRATION_DATABASE
    if not given:
        yield
        return
    application = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict.update(given)
    try:
        yield
        connection.ensure_connection()
        server = connection.connection
        with server.transaction():
            if application["USER"] != given["USER"]:
                _create(server, application["USER"], application["PASSWORD"] or None)
                _grant_rights(server, application["USER"])
    except (DatabaseError, psycopg.Error) as error:
        error.add_note(MIGRATING)
        raise
    finally:
        connection.close()
        connection.settings_dict.update(application)


def may_rewrite_log() -> bool:
    """Tell whether the role of this connection could change the log."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT rolsuper OR has_table_privilege(%s, 'UPDATE') OR has_table_privilege(%s,"
            " 'DELETE') OR pg_has_role((SELECT relowner FROM pg_class WHERE oid = %s::regclass),"
            " 'MEMBER') FROM pg_roles WHERE rolname = current_user",
            [LOG, LOG, LOG],
        )
        return bool(cursor.fetchone()[0])


def find_forbidden_tables() -> list[str]:
    """Return the tables on which the role of this connection lacks what `migrate` grants."""
    return _read_names(
        "SELECT c.relname FROM pg_class c"
        " CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) wanted"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')"
        "   AND NOT has_table_privilege(c.oid, wanted)"
        "   AND NOT (c.relname = %s AND wanted IN ('UPDATE', 'DELETE'))"
        "   AND NOT (c.relname IN ('django_migrations', %s) AND wanted <> 'SELECT')"
        " GROUP BY 1 ORDER BY 1",
        [LOG, REMOVED_LOGS],
    )


def table_owners() -> list[str]:
    """Return the roles that own tables, the one with the most first."""
    return _read_names(
        "SELECT tableowner FROM pg_tables WHERE schemaname = 'public'"
        " GROUP BY 1 ORDER BY count(*) DESC, 1"
    )


def _read_names(statement: str, parameters: Sequence[str] = ()) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [name for name, *_ in cursor.fetchall()]


def _create(server: psycopg.Connection, role: str, password: str | None) -> None:
    server.execute(
        sql.SQL(_CREATE_ROLE).format(
            name=sql.Literal(role), role=sql.Identifier(role), password=sql.Literal(password)
        )
    )


def _grant_rights(server: psycopg.Connection, role: str) -> None:
    """Give a role its rights, as far as the tables are there: migrations may not have run yet."""
    for table, statements in _RIGHTS_BY_TABLE.items():
        found = server.execute("SELECT to_regclass(%s)", [table]).fetchone()
        if found and next(iter(found.values() if isinstance(found, dict) else found)):
            for statement in statements.split(";"):
                named = {"role": sql.Identifier(role), "table": sql.Identifier(table)}
                server.execute(sql.SQL(statement).format(**named))
