"""The head ticket, from which promotions look, passes over nobody who waits."""

from __future__ import annotations

import pytest

from pipeline.services.leaving import withdraw
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.offers import job_with_a_seat_on_offer, let_the_offer_run_out

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_line_keeps_moving_after_many_misses() -> None:
    job_id, _ = job_with_a_seat_on_offer(max_decays=None, penalty_places=1)
    factories.applications(job_id, 2)

    for _ in range(25):
        let_the_offer_run_out(job_id)
        assert factories.row_of(job_id).pending_count == 1

    assert_line_is_sound(job_id)


def test_who_was_passed_over_in_a_cooldown_is_found_again_when_it_ends() -> None:
    job_id, missed = job_with_a_seat_on_offer(penalty_places=0)
    let_the_offer_run_out(job_id)
    holder, *later = factories.applications(job_id, 4)
    for leaving in (holder, later[0]):
        withdraw(application_id=leaving.id, actor=factories.owner_of(leaving))
    assert factories.statuses(missed, *later[1:]) == [
        "WAITLIST",
        "PENDING_ACKNOWLEDGMENT",
        "WAITLIST",
    ]
    assert_line_is_sound(job_id)

    let_time_pass(job_id, factories.COOLDOWN)
    withdraw(application_id=later[1].id, actor=factories.owner_of(later[1]))

    assert factories.statuses(missed, later[2]) == ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert_line_is_sound(job_id)


def test_a_penalty_beyond_the_next_newcomer_does_not_hide_newcomers_from_promotion() -> None:
    job_id, missed = job_with_a_seat_on_offer(penalty_places=5)
    let_the_offer_run_out(job_id)
    let_time_pass(job_id, factories.COOLDOWN)
    factories.settle_all()
    assert factories.status_of(missed) == "PENDING_ACKNOWLEDGMENT"
    newcomer = factories.application(job_id)

    acknowledge(application_id=missed.id, actor=factories.owner_of(missed))
    withdraw(application_id=missed.id, actor=factories.owner_of(missed))

    assert factories.status_of(newcomer) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_the_head_moves_on_with_the_line() -> None:
    job_id = factories.job()
    seated, *waiting = factories.applications(job_id, 4)

    for leaving, promoted in zip([seated, *waiting], waiting, strict=False):
        withdraw(application_id=leaving.id, actor=factories.owner_of(leaving))
        assert factories.row_of(job_id).head_ticket == promoted.ticket
