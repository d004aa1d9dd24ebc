"""Sandboxes in tests, and their logs in a form that can be compared."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from jobs.models import Company
from jobs.sandboxes import find_or_create_sandbox
from pipeline.models import Application, ClockAdvance
from pipeline.services.sandboxes import advance_clock
from tests.support import factories

HOUR, DAY = 3_600, 86_400


def sandbox(live: Company | None = None) -> Company:
    """A company's sandbox, or that of a new company."""
    return find_or_create_sandbox((live or factories.company()).id)


def advance(company: Company, seconds: int, **how: Any) -> ClockAdvance:
    """Move a sandbox's clock, as a recruiter."""
    return advance_clock(company_id=company.id, seconds=seconds, actor=factories.RECRUITER, **how)


def line_with_offers(
    company: Company, *, people: int, seats: int = 1, **policy: Any
) -> tuple[UUID, list[Application]]:
    """A job with this many people, of whom the first ones were offered a seat at one instant."""
    job_id = factories.job(company_id=company.id, capacity=1, **policy)
    found = factories.applications(job_id, people + 1, actor=factories.RECRUITER)
    factories.alter(job_id, capacity=seats + 1)  # the first of all has confirmed
    return job_id, found[1:]


def story_of(job_id: UUID, *, after: int = 0) -> list[Any]:
    """Return a log's events after a seq, without advances: who, what, and when since the first."""
    people: dict[UUID | None, int] = {}
    log = factories.events(job_id)
    for event in log:
        people.setdefault(event.application_id, len(people))
    told = [event for event in log if event.seq > after and event.event != "CLOCK_ADVANCED"]
    begun = told[0].at
    return [
        (
            people[event.application_id],
            event.event,
            event.from_status,
            event.to_status,
            event.outcome,
            event.at - begun,
            event.effective_at - begun,
            {name: event.data.get(name) for name in ("ticket", "decay_count", "places")},
        )
        for event in told
    ]
