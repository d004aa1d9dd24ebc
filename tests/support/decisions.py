"""Decisions on the people of a job, by name, and their outcomes."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from pipeline.domain.states import Outcome
from pipeline.models import Event, PendingDecision
from pipeline.review import decisions
from tests.support import factories
from tests.support.applicants import named


def made(
    job: UUID, *names: str, outcome: Outcome = Outcome.REJECTED, **how: Any
) -> PendingDecision:
    """Make a decision on these people."""
    people = [named(job, name).id for name in names]
    given: dict[str, Any] = {"decision_id": uuid4(), "actor": factories.RECRUITER} | how
    return decisions.make(job_id=job, application_ids=people, outcome=outcome, **given)


def states(decision: PendingDecision) -> list[str]:
    """Return the states of its people, in its order."""
    return list(decision.items.order_by("number").values_list("state", flat=True))


def removals(job: UUID) -> int:
    """Return how many people the log says were decided on."""
    return Event.objects.filter(job_id=job, event="REMOVED").count()
