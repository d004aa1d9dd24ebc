"""Giving back time that we used up: once per promotion, by at most one window, never too late."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pipeline.domain.errors import AcknowledgmentExpired, IllegalMove
from pipeline.models import Application
from pipeline.services.jobs import close_job
from pipeline.services.turns import acknowledge, extend_deadline
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


def offered(**policy: object) -> Application:
    """Someone who was offered the only seat."""
    return factories.application(factories.job(acknowledge_first_seat=True, **policy))


def test_an_extended_deadline_is_later_by_that_much_and_counts() -> None:
    person = offered()
    extend_deadline(application_id=person.id, seconds=120)
    let_time_pass(person.job_id, factories.WINDOW + 60)

    factories.settle_all()

    assert factories.fresh(person).acknowledge_by == factories.fresh(
        person
    ).promoted_at + timedelta(seconds=factories.WINDOW + 120)
    assert_line_is_sound(person.job_id)
    taken = acknowledge(application_id=person.id, actor=factories.owner_of(person))
    assert taken.status == "ACTIVE"


def test_a_deadline_is_extended_once_per_promotion() -> None:
    person = offered()
    extend_deadline(application_id=person.id, seconds=1)

    with pytest.raises(IllegalMove):
        extend_deadline(application_id=person.id, seconds=1)

    let_time_pass(person.job_id, factories.WINDOW + 1)
    factories.settle_all()
    let_time_pass(person.job_id, factories.COOLDOWN)
    factories.settle_all()
    assert extend_deadline(application_id=person.id, seconds=1).deadline_extended


@pytest.mark.parametrize("seconds", [0, -1, factories.WINDOW + 1])
def test_a_deadline_is_extended_by_at_most_one_window(seconds: int) -> None:
    person = offered()

    with pytest.raises(ValueError, match="one window"):
        extend_deadline(application_id=person.id, seconds=seconds)

    assert factories.fresh(person).acknowledge_by == person.acknowledge_by


@pytest.mark.parametrize("misses_kept", [0, 3])
def test_a_deadline_that_has_passed_cannot_be_extended(misses_kept: int) -> None:
    person = offered(max_decays=misses_kept)
    let_time_pass(person.job_id, factories.WINDOW)

    with pytest.raises(AcknowledgmentExpired):
        extend_deadline(application_id=person.id, seconds=60)


def test_no_deadline_is_extended_in_a_closed_job() -> None:
    person = offered()
    close_job(job_id=person.job_id, actor=factories.RECRUITER)
    let_time_pass(person.job_id, factories.WINDOW)

    with pytest.raises(IllegalMove):
        extend_deadline(application_id=person.id, seconds=60)
