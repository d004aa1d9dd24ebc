"""A job with a history, and the addresses of the pages about it."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import pytest

from jobs.models import Company
from pipeline.models import Application, Event
from pipeline.services.leaving import withdraw
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.clock import let_time_pass


@dataclass(frozen=True)
class History:
    """A job with one seat: Ana left after an hour, Bo missed his window, Cy confirmed."""

    job: UUID
    ana: Application
    bo: Application
    cy: Application


@pytest.fixture
def past(company: Company) -> History:
    """Seq 1 created, 2 opened, 3 Ana seated, 4 Bo and 5 Cy wait; an hour later 6 Ana leaves, 7 Bo
    is promoted; 10 minutes later 8 Bo misses, 9 Cy is promoted; a minute later 10 Cy confirms;
    then half an hour nothing."""
    job = factories.job(company_id=company.id, capacity=1)
    people = [factories.applicant(name=name) for name in ("Ana Li", "Bo <Berg>", "Cy Okafor")]
    ana, bo, cy = (factories.application(job, person) for person in people)
    let_time_pass(job, 3_600)
    withdraw(application_id=ana.id, actor=factories.owner_of(ana))
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()
    let_time_pass(job, 60)
    acknowledge(application_id=cy.id, actor=factories.owner_of(cy))
    let_time_pass(job, 1_800)
    return History(job, ana, bo, cy)


def page(job_id: UUID, name: str) -> str:
    """The address of a page about a job's past."""
    return f"/company/jobs/{job_id}/{name}"


def log_lengths() -> int:
    """Count the events of all logs together."""
    return Event.objects.count()
