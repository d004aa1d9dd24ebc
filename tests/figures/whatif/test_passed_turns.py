"""A simulation gives a missed place back after a turn was passed, too, as the line does."""

from __future__ import annotations

from uuid import UUID

import pytest

from pipeline.domain.states import ReinstatementReason
from pipeline.models import Application
from pipeline.services.leaving import reinstate
from tests.figures.whatif.test_simulate import logged, simulated
from tests.services.test_pass import offered_first, passes, passes_next
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)


def missed_first() -> tuple[UUID, list[Application]]:
    """A job in which the first of three has missed an offer, and is alone in line again."""
    job, people = offered_first(max_passes=2)
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()
    let_time_pass(job, factories.COOLDOWN)
    return job, people


def give_back(application: Application) -> None:
    reinstate(
        application_id=application.id,
        reason=ReinstatementReason.OUR_ERROR,
        actor=factories.RECRUITER,
    )


def test_a_miss_before_an_offer_that_was_passed_is_given_back() -> None:
    job, (first, second, third) = missed_first()
    for each in (second, third):
        leave(each)
    passes(first)
    factories.applications(job, 2)

    give_back(first)

    assert simulated(job) == logged(job)


def test_a_miss_is_given_back_in_the_cool_down_of_a_pass_that_was_asked_for() -> None:
    job, (first, second, third) = missed_first()
    passes_next(first)
    for each in (second, third):
        leave(each)
    assert factories.fresh(first).passes_used == 1

    give_back(first)
    leave(factories.application(job))

    assert simulated(job) == logged(job)
