"""Order by ticket and tie: a miss costs exactly its places, and nothing is renumbered."""

from __future__ import annotations

import pytest

from pipeline.services.leaving import withdraw
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.offers import job_with_a_seat_on_offer, let_the_offer_run_out

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("places", [0, 1, 2, 5])
def test_exactly_so_many_later_newcomers_pass_who_missed(places: int) -> None:
    job_id, missed = job_with_a_seat_on_offer(penalty_places=places)
    before = factories.applications(job_id, 2)
    let_the_offer_run_out(job_id)

    newcomers = factories.applications(job_id, places + 2)

    expected = [before[1], *newcomers[:places], missed, *newcomers[places:]]
    assert factories.line(job_id) == [person.id for person in expected]
    assert_line_is_sound(job_id)


def test_the_second_miss_costs_twice_as_many_places() -> None:
    job_id, missed = job_with_a_seat_on_offer(penalty_places=2)
    let_the_offer_run_out(job_id)
    let_time_pass(job_id, factories.COOLDOWN)
    factories.settle_all()
    let_the_offer_run_out(job_id)
    factories.application(job_id)

    newcomers = factories.applications(job_id, 5)

    assert factories.fresh(missed).decay_count == 2
    expected = [*newcomers[:4], missed, *newcomers[4:]]
    assert factories.line(job_id) == [person.id for person in expected]


def test_a_later_miss_with_a_smaller_ticket_goes_ahead_of_an_earlier_one() -> None:
    job_id, first = job_with_a_seat_on_offer(penalty_places=5, cooldown_seconds=30 * 86_400)
    second = factories.application(job_id)
    let_the_offer_run_out(job_id)
    factories.alter(job_id, policy={"penalty_places": 1})

    let_the_offer_run_out(job_id)

    assert factories.line(job_id) == [second.id, first.id]
    assert_line_is_sound(job_id)


def test_who_waits_without_a_miss_is_never_passed() -> None:
    job_id, _ = job_with_a_seat_on_offer(penalty_places=0)
    waiting = factories.applications(job_id, 6)
    clean = [person.id for person in waiting]

    for left in range(5, 1, -1):
        let_the_offer_run_out(job_id)
        factories.application(job_id)
        ahead = factories.line(job_id)[:left]

        assert ahead == clean[-left:]
        assert_line_is_sound(job_id)


def test_nothing_is_renumbered_however_many_miss() -> None:
    job_id, _ = job_with_a_seat_on_offer(max_decays=None)
    factories.applications(job_id, 3)
    last = factories.application(job_id)
    factories.alter(job_id, capacity=1, policy={"cooldown_seconds": 30 * 86_400})
    ticket, tie = last.ticket, last.tie

    for _ in range(3):
        let_the_offer_run_out(job_id)

    row = factories.fresh(last)
    assert (row.status, row.ticket, row.tie) == ("WAITLIST", ticket, tie)
    let_the_offer_run_out(job_id)
    assert factories.status_of(last) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_of_two_with_the_same_ticket_the_one_who_queued_first_is_next() -> None:
    job_id, missed = job_with_a_seat_on_offer(penalty_places=0)
    holder = factories.application(job_id)
    let_the_offer_run_out(job_id)
    newcomer = factories.application(job_id)
    assert factories.fresh(missed).ticket == factories.fresh(newcomer).ticket
    let_time_pass(job_id, factories.COOLDOWN)

    withdraw(application_id=holder.id, actor=factories.owner_of(holder))

    assert factories.statuses(missed, newcomer) == ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert_line_is_sound(job_id)
