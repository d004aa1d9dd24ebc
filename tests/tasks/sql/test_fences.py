"""Fenced statements look up the tasks they are given, however few the statistics say are owned."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection

from tasks.enqueue import NewTask, enqueue_many
from tasks.json import as_json
from tasks.sql.prepared import PreparedStatement
from tasks.worker.connection import ACKNOWLEDGE, SESSION
from tasks.worker.task_store import GIVE_BACK, MARK_BEGUN, RENEW_LEASES, WRITE_MESSAGES
from tests.support.plans import plan_of
from tests.tasks.claims import Claimer, claimer  # noqa: F401 -- a fixture

pytestmark = pytest.mark.django_db(transaction=True)

FENCED = {
    "acknowledge": ACKNOWLEDGE,
    "renew": RENEW_LEASES,
    "begin": MARK_BEGUN,
    "give back": GIVE_BACK,
    "messages": WRITE_MESSAGES,
}


@pytest.mark.parametrize("name", FENCED)
def test_a_fenced_statement_reads_only_the_tasks_it_is_given(
    name: str,
    claimer: Any,  # noqa: F811
) -> None:
    worker: Claimer = claimer()
    enqueue_many([NewTask("test.noop") for _ in range(3_000)])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE tasks_task")  # when no task is owned
    held = worker.claim(50)
    given = worker.fence(held) | {
        "ends": as_json([each.succeeded(0.1, None, "w1") for each in held]),
        "messages": as_json([{"n": 0, "id": each.task_id, "attempt": 1} for each in held]),
        "lease": 30,
        "slots": 1,
        "queues": None,
        "types": None,
        "running": 0,
    }

    assert _way_to_tasks(FENCED[name], given) == "(id = "
    if name == "acknowledge":  # the control: with the bare check it reads the whole index
        bare = ACKNOWLEDGE.replace(
            "coalesce(t.lease_until IS NOT NULL, false)", "t.lease_until IS NOT NULL"
        )
        assert _way_to_tasks(bare, given) == ""


def _way_to_tasks(statement: str, given: dict[str, Any]) -> str:
    """How a plan of a worker's session begins to look for a task."""
    with connection.cursor() as cursor:
        cursor.execute(SESSION)
    plan = plan_of(PreparedStatement(statement), given, "force_generic_plan")
    connection.close()  # with the settings of the session
    [scan] = [node for node in plan if node.get("Alias") == "t" and "Scan" in node["Node Type"]]
    assert scan["Node Type"] == "Index Scan"
    return str(scan.get("Index Cond", ""))[: len("(id = ")]
