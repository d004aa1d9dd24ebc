"""A job with a history that lies in two weeks."""

from __future__ import annotations

from uuid import UUID

from jobs.models import Company
from pipeline.domain.states import Outcome
from pipeline.figures.series import Week
from pipeline.services.leaving import remove, withdraw
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.clock import database_now, let_time_pass

HOUR = 3_600
DAY = 24 * HOUR


def last_week(zone: str = "UTC") -> Week:
    """Return the last week that has ended."""
    return Week.last_whole(database_now(), zone)


def put(job: UUID, week: Week, *, seq: int, hours: float) -> None:
    """Move a job's whole history so that an event is this many hours into a week."""
    event = factories.events(job)[seq - 1]
    let_time_pass(job, (event.at - week.start).total_seconds() - hours * HOUR)


def two_weeks(company: Company, zone: str = "UTC") -> UUID:
    """Make a job with one seat and a history of two weeks.

    In the week before the last: made on Monday at noon, Ana seated, Bo and Cy wait. In the last
    week, on Tuesday: Ana is hired and Bo offered her seat; a window later he misses, Cy is offered
    it; an hour later Cy confirms, and Bo withdraws.
    """
    job = factories.job(
        company_id=company.id, acknowledgment_window_seconds=DAY, cooldown_seconds=HOUR
    )
    people = [factories.applicant(name=name) for name in ("Ana Li", "Bo Berg", "Cy Okafor")]
    ana, bo, cy = (factories.application(job, person) for person in people)
    let_time_pass(job, 8 * DAY)
    remove(application_id=ana.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)
    let_time_pass(job, DAY)
    factories.settle_all()
    let_time_pass(job, HOUR)
    acknowledge(application_id=cy.id, actor=factories.owner_of(cy))
    withdraw(application_id=bo.id, actor=factories.owner_of(bo))
    put(job, last_week(zone).before, seq=1, hours=12)
    return job
