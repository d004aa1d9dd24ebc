"""Plans of statements in a large database: which tables would be read as a whole.

A prepared statement is planned twice: as the product runs it (a generic plan, made once), and for
the given values. PLAN_ROWS=1000000 in the environment adds that size.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext
from psycopg import sql as compose

from tasks.sql.prepared import PreparedStatement

SIZES = [100, 20_000, *map(int, os.environ.get("PLAN_ROWS", "").split())]
MODES = ("force_generic_plan", "force_custom_plan")
# Up to this size of a table, reading the whole of it can be the better plan.
SMALL = 1_000


def plan_of(
    statement: PreparedStatement[Any], given: dict[str, Any], mode: str
) -> list[dict[str, Any]]:
    """Every node of a statement's plan."""
    arguments = compose.SQL(", ").join(compose.Literal(given[name]) for name in statement.names)
    with connection.cursor() as cursor:
        cursor.execute(f"SET plan_cache_mode = {mode}")
        cursor.execute(f"PREPARE planned AS {statement.text.decode()}")
        called = compose.SQL("({})").format(arguments) if statement.names else compose.SQL("")
        cursor.execute(compose.SQL("EXPLAIN (FORMAT JSON) EXECUTE planned{}").format(called))
        ((plan,),) = cursor.fetchall()
        cursor.execute("DEALLOCATE planned")
        cursor.execute("RESET plan_cache_mode")
    return _nodes(plan)


def whole_tables(nodes: list[dict[str, Any]], large: Collection[str]) -> set[str]:
    """The large tables that a plan reads from beginning to end."""
    return {n["Relation Name"] for n in nodes if n["Node Type"] == "Seq Scan"} & set(large)


def whole_tables_of_queries(act: Callable[[], object], large: Collection[str]) -> dict[str, Any]:
    """The same of each query that an act makes through the ORM, as it is planned afterwards."""
    with CaptureQueriesContext(connection) as queries:
        act()
    found = {}
    for query in queries.captured_queries:
        text = query["sql"]
        if text.startswith(("SELECT", "UPDATE", "DELETE", "INSERT")) and "$1" not in text:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (FORMAT JSON) {text}")
                ((plan,),) = cursor.fetchall()
            found[text] = whole_tables(_nodes(plan), large)
    return found


_TASKS = """
INSERT INTO tasks_task SELECT (jsonb_populate_record(t, jsonb_build_object(
    'id', gen_random_uuid(), 'status', 'SUCCEEDED', 'finished_at', now() - interval '1 day'))).*
FROM tasks_task t, generate_series(1, %s) WHERE t.id = (SELECT id FROM tasks_task LIMIT 1)
"""


def finish_many_tasks(count: int) -> None:
    """Add tasks like one that waits, which have succeeded a day ago."""
    with connection.cursor() as cursor:
        cursor.execute(_TASKS, [count])


def _nodes(plan: list[dict[str, Any]]) -> list[dict[str, Any]]:
    nodes, found = [plan[0]["Plan"]], []
    while nodes:
        node = nodes.pop()
        found.append(node)
        nodes += node.get("Plans", [])
    return found
