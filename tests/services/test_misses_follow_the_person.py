"""Misses and cool-downs follow the person to a new application to the same job."""

from __future__ import annotations

from uuid import UUID

import pytest

from applicants.models import Applicant
from pipeline.audit.verify import verify_job
from pipeline.domain.states import ReinstatementReason
from pipeline.services.leaving import reinstate, withdraw
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


def miss_then_take_and_give_up(job_id: UUID, person: Applicant) -> None:
    """Have a person miss an offer, take the seat at the next one, and withdraw."""
    first = factories.application(job_id, person)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    let_time_pass(job_id, factories.COOLDOWN)
    factories.settle_all()
    acknowledge(application_id=first.id, actor=factories.owner_of(first))
    withdraw(application_id=first.id, actor=factories.owner_of(first))


def test_a_miss_follows_who_withdraws_and_applies_again() -> None:
    job_id = factories.job(acknowledge_first_seat=True, penalty_places=2)
    person = factories.applicant()
    missed = factories.application(job_id, person)
    let_time_pass(job_id, factories.WINDOW)
    withdraw(application_id=missed.id, actor=factories.owner_of(missed))

    again = factories.application(job_id, person)

    assert (again.status, again.decay_count) == ("WAITLIST", 1)
    assert again.eligible_at == factories.fresh(missed).eligible_at
    assert again.ticket == factories.row_of(job_id).next_ticket + 2
    assert_line_is_sound(job_id)


def test_who_applies_again_in_a_cooldown_is_seated_when_it_ends() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person = factories.applicant()
    missed = factories.application(job_id, person)
    let_time_pass(job_id, factories.WINDOW)
    withdraw(application_id=missed.id, actor=factories.owner_of(missed))
    again = factories.application(job_id, person)
    let_time_pass(job_id, factories.COOLDOWN)

    factories.settle_all()

    assert factories.status_of(again) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_who_lapsed_applies_again_with_all_their_misses_and_lapses_at_the_next() -> None:
    job_id = factories.job(acknowledge_first_seat=True, max_decays=0)
    person = factories.applicant()
    lapsed = factories.application(job_id, person)
    let_time_pass(job_id, factories.WINDOW + factories.COOLDOWN)
    factories.settle_all()
    let_time_pass(job_id, factories.COOLDOWN)

    again = factories.application(job_id, person)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()

    assert factories.statuses(lapsed, again) == ["LAPSED", "LAPSED"]
    assert factories.fresh(again).decay_count == 2


def test_who_applies_again_after_the_deadline_lapses_first_and_then_joins_with_that_miss() -> None:
    job_id = factories.job(acknowledge_first_seat=True, max_decays=0)
    person = factories.applicant()
    overdue = factories.application(job_id, person)
    let_time_pass(job_id, factories.WINDOW)

    again = factories.application(job_id, person)

    assert factories.statuses(overdue, again) == ["LAPSED", "WAITLIST"]
    assert (again.decay_count, again.eligible_at) == (1, factories.fresh(overdue).eligible_at)
    assert_line_is_sound(job_id)


def test_a_miss_still_counts_after_the_seat_was_taken_and_given_up() -> None:
    job_id = factories.job(acknowledge_first_seat=True, penalty_places=3)
    person = factories.applicant()
    miss_then_take_and_give_up(job_id, person)
    factories.application(job_id)

    again = factories.application(job_id, person)

    assert (again.decay_count, again.eligible_at) == (1, None)
    assert again.ticket == factories.row_of(job_id).next_ticket + 3


def test_a_place_that_is_given_back_is_the_one_with_the_earlier_misses() -> None:
    job_id = factories.job(capacity=2, acknowledge_first_seat=True, penalty_places=3)
    person = factories.applicant()
    miss_then_take_and_give_up(job_id, person)
    again = factories.application(job_id, person)
    assert (again.status, again.decay_count) == ("PENDING_ACKNOWLEDGMENT", 1)
    joined = factories.row_of(job_id).next_ticket
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    assert factories.fresh(again).decay_count == 2

    reinstate(
        application_id=again.id, reason=ReinstatementReason.OUR_ERROR, actor=factories.RECRUITER
    )

    [given] = [each for each in factories.events(job_id) if each.event == "REINSTATED"]
    assert (given.data["ticket"], given.data["decay_count"]) == (joined + 3, 1)
    assert verify_job(job_id).is_sound
