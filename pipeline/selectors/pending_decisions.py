"""Reads of companies' decisions that have not taken effect, or not on everyone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from pipeline.domain.states import Status
from pipeline.models import Application, ApplicationRow, DecisionItem, PendingDecision

# Decisions of a job that its pages show.
MOST_SHOWN = 10
# Those that are open, and for ten minutes those that were refused for a person.
_SHOWN = """
    job_id = %(job)s AND (finished_at IS NULL OR refused > 0 AND undone_by IS NULL
        AND finished_at > statement_timestamp() - interval '10 minutes')
"""

# A text that changes whenever other decisions are to be shown; empty if none are.
DECISIONS_STAMP = f"""
coalesce((SELECT string_agg(id::text || (finished_at IS NULL)::text, ' ' ORDER BY id)
          FROM pipeline_pendingdecision WHERE {_SHOWN}), '')
"""  # noqa: S608  a constant of this module

_OPEN = "FILTER (WHERE item.state IN ('WAITING', 'DECIDING'))"
_REFUSED = "FILTER (WHERE item.state = 'REFUSED')"
_DECISIONS = f"""
SELECT decision.id, decision.outcome, decision.due_at, decision.finished_at,
       coalesce(decider.email, ''),
       coalesce((array_agg(person.name ORDER BY item.number) {_OPEN})[:3], '{{}}'),
       coalesce((array_agg(person.name ORDER BY item.number) {_REFUSED})[:3], '{{}}'),
       count(*) {_OPEN}, count(*) {_REFUSED}, count(*), statement_timestamp()
FROM (SELECT * FROM pipeline_pendingdecision
      WHERE {_SHOWN} AND (%(only)s::uuid IS NULL OR id = %(only)s)
      ORDER BY (finished_at IS NULL) DESC, created_at DESC, id LIMIT {MOST_SHOWN}) decision
JOIN pipeline_decisionitem item ON item.decision_id = decision.id
JOIN pipeline_application person ON person.id = item.application_id
LEFT JOIN jobs_user decider ON decider.id = decision.decided_by
GROUP BY decision.id, decision.outcome, decision.due_at, decision.finished_at, decider.email
ORDER BY decision.due_at, decision.id
"""  # noqa: S608  constants of this module


@dataclass(frozen=True, slots=True)
class ShownPendingDecision:
    """Decision for a job's pages: people for whom it waits, and people for whom it was refused."""

    id: UUID
    outcome: str
    due_at: datetime
    finished_at: datetime | None
    decided_by: str
    waiting_names: list[str]  # the first three
    refused_names: list[str]  # the first three
    waiting: int
    refused: int
    total: int
    now: datetime

    @property
    def is_open(self) -> bool:
        """Tell whether it has not taken effect on everyone."""
        return self.finished_at is None


def shown_pending_decisions(
    job_id: UUID, *, only: UUID | None = None
) -> list[ShownPendingDecision]:
    """Return the decisions that a job's pages show, latest due last, in one query.

    If there are many, the open ones come first, then the latest. `only` is the one decision to
    return.
    """
    with connection.cursor() as cursor:
        cursor.execute(_DECISIONS, {"job": job_id, "only": only})
        return [ShownPendingDecision(*row) for row in cursor.fetchall()]


def people_with_pending_decisions(job_id: UUID) -> set[UUID]:
    """Return the applications to a job on which a decision is pending, in one query."""
    items = DecisionItem.objects.filter(decision__job_id=job_id, decision__finished_at=None)
    waiting = items.filter(state__in=["WAITING", "DECIDING"])
    return set(waiting.values_list("application_id", flat=True))


def read_pending_decision(decision_id: UUID) -> PendingDecision | None:
    """Return a decision with its job's company, or None."""
    return PendingDecision.objects.select_related("job").filter(id=decision_id).first()


def items_of_pending_decision(decision_id: UUID) -> list[DecisionItem]:
    """Return the people whom a decision is about, with their applications, in its order."""
    items = DecisionItem.objects.filter(decision_id=decision_id).select_related("application")
    return list(items.order_by("number"))


def pending_decision_on(application_id: UUID) -> PendingDecision | None:
    """Return the decision on an application that has not taken effect yet, in one query."""
    waiting = DecisionItem.objects.filter(
        application_id=application_id, state__in=["WAITING", "DECIDING"]
    )
    item = waiting.select_related("decision").first()
    return item.decision if item else None


class Neighbours(NamedTuple):
    """People before and after a person in the same list of a job's pipeline, if any."""

    before: UUID | None
    after: UUID | None


# The columns of each list's order, from an index.
_LISTS = {
    Status.ACTIVE: ("status_since", "id"),
    Status.PENDING_ACKNOWLEDGMENT: ("acknowledge_by", "id"),
    Status.WAITLIST: ("ticket", "tie"),
}
_NEIGHBOUR = """(
    SELECT id FROM pipeline_application other
    WHERE other.job_id = %(job)s AND other.status = '{status}'
      AND ({first}, {second}) {beyond} (%(first)s, %(second)s) AND NOT EXISTS (
          SELECT FROM pipeline_decisionitem item
          WHERE item.application_id = other.id AND item.state IN ('WAITING', 'DECIDING'))
    ORDER BY {first} {direction}, {second} {direction} LIMIT 1)"""


def neighbours_of_pending_decision(application: Application | ApplicationRow) -> Neighbours:
    """Return the people before and after one, without those on whom a decision is pending.

    In one query. A person whose application has ended has no neighbours.
    """
    columns = _LISTS.get(Status(application.status))
    if columns is None:
        return Neighbours(None, None)
    names = {"status": application.status, "first": columns[0], "second": columns[1]}
    before, after = (
        _NEIGHBOUR.format(**names, beyond=beyond, direction=direction)
        for beyond, direction in (("<", "DESC"), (">", "ASC"))
    )
    first, second = (getattr(application, column) for column in columns)
    with connection.cursor() as cursor:
        values = {"job": application.job_id, "first": first, "second": second}
        cursor.execute(f"SELECT {before}, {after}", values)
        return Neighbours(*cursor.fetchone())
