"""Plans of the hot statements: each goes by an index, however many people are in the line."""

from __future__ import annotations

import json
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest

from applicants.tokens import FIND_TOKEN
from jobs.keys import FIND_KEY
from pipeline.line import lock, sources, write
from pipeline.line.misses import READ_MISS
from pipeline.line.sql import APPLICATION, HOT
from pipeline.models import Application
from pipeline.selectors import applications as reads
from pipeline.selectors.applications import APPLICATION_FACTS
from pipeline.selectors.board import SEATS
from pipeline.selectors.job_applications import (
    ORDERS,
    ListOrder,
    WantedJobApplications,
    _listed_place_values,
    list_statements,
)
from pipeline.selectors.jobs import JOB_FACTS, WHOLE_JOB
from tasks.enqueue import NewTask, enqueue_parameter
from tasks.sql.prepared import PreparedStatement
from tests.support import factories
from tests.support.crowd import crowd
from tests.support.plans import MODES, SIZES, SMALL, plan_of, whole_tables

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

LARGE = {"pipeline_application", "pipeline_event", "applicants_applicant", "tasks_task"}


def changing(statement: str) -> PreparedStatement[Any]:
    return write.build_statement(("changed", statement), ("entries", write.APPEND))


STATEMENTS: dict[str, PreparedStatement[Any]] = {
    "look up a key": FIND_KEY,
    "look up a token": FIND_TOKEN,
    "look up a job": JOB_FACTS,
    "look up an application": APPLICATION_FACTS,
    "read a job": WHOLE_JOB,
    "read a page of the queue": reads.prepare_page(reads.QUEUE, 51),
    "read a page of the seats": reads.prepare_page(SEATS, 51),
    **{
        f"list applications by {name}, {searches}": PreparedStatement(page)
        for name, order in ORDERS.items()
        for searches in (False, True)
        for page in list_statements(order, 51, searches)
        if page
    },
    "read a person's applications": reads.prepare_page(reads.OF_PERSON, 51),
    "lock a job": lock.LOCK_JOB,
    "lock an application's job": lock.LOCK_JOB_OF,
    "lock the next due job": lock.LOCK_DUE_JOB,
    "read the types of webhooks": lock.READ_WEBHOOK_TYPES,
    "read those of an application's job": lock.READ_WEBHOOK_TYPES_OF,
    "read an application": lock.READ_APPLICATION,
    "read an application to a job": sources.READ_APPLICATION_TO,
    "make people": lock.MAKE_PEOPLE,
    "hold people": lock.HOLD_PEOPLE,
    "read people": lock.READ_PEOPLE,
    "hold a person": lock.HOLD_PERSON_OF,
    "read a miss": READ_MISS,
    "read who is due": sources.READ_DUE,
    "read the next deadline": sources.READ_NEXT_DEADLINE,
    "read the next in line": sources.READ_NEXT_IN_LINE,
    "read the next end of a cool-down or deferral": sources.READ_NEXT_HELD,
    "read the waitlist": sources.READ_WAITING,
    "read positions": write.READ_POSITIONS,
    "read one application": reads.ONE,
    "find an application by its own id": reads.ATTACHED,
    "read who is active": reads.ACTIVE,
    "read who must acknowledge": reads.PENDING,
    "admit one": write.build_statement(("created", write.CREATE), ("entries", write.APPEND)),
    "move a few": changing(write.CHANGE_FEW),
    "move a few, with tasks": write.build_statement(
        ("changed", write.CHANGE_FEW), ("entries", write.APPEND), with_tasks=True
    ),
}


def parameters(job: UUID) -> dict[str, Any]:
    """Values for every parameter of the statements: of people in the middle of the line."""
    rows = list(Application.objects.filter(job_id=job, status="WAITLIST").order_by("ticket"))
    middle = rows[len(rows) // 2]
    row = {name: getattr(middle, name) for name in APPLICATION}
    as_json = partial(json.dumps, default=str)
    hot = factories.row_of(job)
    locked = {name: getattr(hot, name) for name in HOT if hasattr(hot, name)}
    locked |= {"status": hot.status} | hot.policy.values()
    listed = WantedJobApplications().parameters() | _listed_place_values(
        job, ListOrder("id", True), None
    )
    return (
        locked
        | listed
        | {
            "digest": b"x" * 32,
            "job": job,
            "application": middle.id,
            "applications": [middle.id],
            "applicant": middle.applicant_id,
            "applicants": [middle.applicant_id],
            "emails": ["new@example.org"],
            "new_ids": [uuid4()],
            "except": [],
            "erased": "erased",
            "now": hot.last_event_at,
            "head": hot.head_ticket,
            "seats": 2,
            "passes": 1_001,
            "most": 50,
            "company": hot.company_id,
            "after": None,
            "pending_at": "-infinity",
            "pending_id": UUID(int=0),
            "active_at": "-infinity",
            "active_id": UUID(int=0),
            "ticket": middle.ticket,
            "tie": middle.tie,
            "joined": [middle.id],
            "tickets": [middle.ticket],
            "ties": [middle.tie],
            "created": as_json([row | {"id": uuid4()}]),
            "changed": as_json([row]),
            "changed_ids": [middle.id],
            "entries": "[]",
            "tasks": enqueue_parameter([NewTask("demo.sleep")])[0],
        }
    )


def line_of(size: int) -> UUID:
    """A line of that many people, two of them seated, with statistics."""
    job = factories.job(capacity=2)
    factories.applications(job, 4)
    crowd(job, size)
    return job


# 201 look-ups of people cost about as much as a scan of 20,000: either plan is right there.
LONG_PAGE = reads.prepare_page(reads.QUEUE, 201)


@pytest.mark.parametrize("size", SIZES)
def test_no_hot_statement_reads_a_whole_table(size: int) -> None:
    given = parameters(line_of(size))

    plans: dict[Any, set[str]] = {
        (name, mode): whole_tables(plan_of(statement, given, mode), LARGE)
        for name, statement in STATEMENTS.items()
        for mode in MODES
    }
    if size > 100_000:
        plans |= {
            ("long page", mode): whole_tables(plan_of(LONG_PAGE, given, mode), LARGE)
            for mode in MODES
        }
    assert {what for what, tables in plans.items() if tables and size > SMALL} == set()


def test_without_the_ids_beside_it_a_small_change_would_read_the_whole_table() -> None:
    given = parameters(line_of(5_000))
    plain, few = changing(write.CHANGE), changing(write.CHANGE_FEW)

    assert whole_tables(plan_of(plain, given, MODES[0]), LARGE) == {"pipeline_application"}
    assert whole_tables(plan_of(few, given, MODES[0]), LARGE) == set()
