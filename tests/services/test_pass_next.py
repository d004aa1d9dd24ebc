"""Passing the next turn: asked while waiting, done when the turn comes, cancelled until then."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pipeline.domain.errors import IllegalMove, NotPassable
from pipeline.services.turns import MOST_ASKED, acknowledge, defer, preaccept
from tests.services.test_pass import offered_first, passes, passes_next
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.planned_seats import planned

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_next_turn_is_passed_when_it_comes() -> None:
    job_id = factories.job()
    seated, first, second = factories.applications(job_id, 3)
    passes_next(first)

    leave(seated)

    row = factories.fresh(first)
    assert (row.status, row.ticket, row.passes_used, row.pass_next) == (
        *("WAITLIST", first.ticket, 1),
        False,
    )
    assert factories.status_of(second) == "PENDING_ACKNOWLEDGMENT"
    left, passed, promoted = factories.events(job_id)[-3:]
    assert (passed.event, passed.actor_kind, passed.cause_seq) == ("PASSED", "SYSTEM", left.seq)
    assert (promoted.event, promoted.cause_seq) == ("PROMOTED", passed.seq)
    assert_line_is_sound(job_id)


def test_a_turn_that_has_not_come_is_not_passed() -> None:
    job_id = factories.job()
    seated, first, second = factories.applications(job_id, 3)
    passes_next(second)

    leave(seated)

    assert factories.status_of(first) == "PENDING_ACKNOWLEDGMENT"
    assert factories.fresh(second).pass_next
    assert_line_is_sound(job_id)


def test_several_seats_at_once_pass_over_who_asked() -> None:
    job_id = factories.job()
    _, *waiting = factories.applications(job_id, 5)
    passes_next(waiting[0])
    passes_next(waiting[2])

    factories.alter(job_id, capacity=3)

    pending = "PENDING_ACKNOWLEDGMENT"
    assert factories.statuses(*waiting) == ["WAITLIST", pending, "WAITLIST", pending]
    assert [factories.fresh(each).passes_used for each in waiting] == [1, 0, 1, 0]
    assert_line_is_sound(job_id)


def test_a_planned_seat_is_passed_too() -> None:
    job_id = factories.job()
    _, first, second = factories.applications(job_id, 3)
    passes_next(first)
    planned(job_id, seats=1, seconds=60)

    let_time_pass(job_id, 61)
    factories.settle_all()

    assert factories.statuses(first, second) == ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
    assert_line_is_sound(job_id)


def test_the_wish_is_taken_back_until_the_turn_comes() -> None:
    job_id = factories.job()
    seated, first = factories.applications(job_id, 2)
    passes_next(first)
    assert passes_next(first).pass_next
    passes_next(first, wanted=False)

    leave(seated)

    assert factories.status_of(first) == "PENDING_ACKNOWLEDGMENT"
    assert factories.event_names(job_id).count("PASS_ASKED") == 2
    assert_line_is_sound(job_id)


def test_a_yes_in_advance_and_a_pass_take_each_other_back() -> None:
    job_id = factories.job()
    _seated, first = factories.applications(job_id, 2)
    actor, until = factories.owner_of(first), database_now() + timedelta(days=1)

    preaccept(application_id=first.id, accept_until=until, actor=actor)
    assert passes_next(first).accept_until is None
    said = preaccept(application_id=first.id, accept_until=until, actor=actor)

    assert (said.pass_next, said.accept_until) == (False, until)
    assert_line_is_sound(job_id)


def test_the_first_turn_after_a_deferral_is_passed() -> None:
    job_id = factories.job()
    seated, first, second = factories.applications(job_id, 3)
    until = database_now() + timedelta(days=1)
    defer(application_id=first.id, not_before=until, actor=factories.owner_of(first))
    passes_next(first)
    leave(seated)
    assert factories.fresh(first).passes_used == 0

    let_time_pass(job_id, 86_401)  # the offer to the second runs out, too

    factories.settle_all()
    assert factories.fresh(first).passes_used == 1
    assert factories.fresh(second).decay_count == 1
    assert_line_is_sound(job_id)


def test_a_wish_holds_though_the_rules_change() -> None:
    job_id = factories.job()
    seated, first, second = factories.applications(job_id, 3)
    passes_next(first)
    factories.alter(job_id, policy={"max_passes": 0})

    leave(seated)

    assert factories.statuses(first, second) == ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
    assert_line_is_sound(job_id)


def test_who_has_no_turn_left_cannot_ask_and_nobody_asks_without_end() -> None:
    _, (first, second, _) = offered_first()
    passes(first)

    with pytest.raises(NotPassable, match=r"passed 1 turn, .* pass 1"):
        passes_next(first)
    with pytest.raises(IllegalMove):
        passes_next(second)  # it has an offer


def test_it_is_asked_at_most_so_often() -> None:
    _seated, first = factories.applications(factories.job(), 2)
    for _ in range(MOST_ASKED):
        passes_next(first)
        passes_next(first, wanted=False)

    with pytest.raises(NotPassable, match="20 times"):
        passes_next(first)


def test_nobody_unverified_asks_to_pass() -> None:
    job_id = factories.job()
    factories.application(job_id)
    unverified = factories.application(job_id, verified=False)

    with pytest.raises(IllegalMove):
        passes_next(unverified)


def test_who_asked_to_pass_behind_a_person_with_the_same_number_is_not_asked() -> None:
    job_id = factories.job(penalty_places=1, cooldown_seconds=60)
    seated, missing = factories.applications(job_id, 2)
    leave(seated)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    holder, newcomer, same = factories.applications(job_id, 3)
    missed = factories.fresh(missing)
    assert factories.fresh(same).ticket == missed.ticket
    passes_next(same)
    leave(newcomer)
    let_time_pass(job_id, 60)

    leave(holder)

    assert factories.statuses(missed, same) == ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert factories.fresh(same).passes_used == 0
    assert_line_is_sound(job_id)


def test_the_only_person_in_line_passes_when_a_date_is_taken_back_and_is_asked_again() -> None:
    job_id = factories.job()
    seated, only = factories.applications(job_id, 2)
    actor = factories.owner_of(only)
    passes_next(only)
    tomorrow = database_now() + timedelta(days=1)
    defer(application_id=only.id, not_before=tomorrow, actor=actor)
    leave(seated)

    defer(application_id=only.id, not_before=None, actor=actor)

    row = factories.fresh(only)
    assert (row.status, row.passes_used) == ("WAITLIST", 1)
    assert factories.row_of(job_id).next_due_at == row.eligible_at
    assert_line_is_sound(job_id)
    let_time_pass(job_id, factories.COOLDOWN)
    factories.settle_all()
    asked_again = factories.events(job_id)[-1]
    assert (asked_again.event, asked_again.cause_seq) == ("PROMOTED", None)  # time opened the turn


def test_a_seat_that_a_miss_frees_has_that_miss_as_its_cause_and_no_earlier_pass() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    seated, passing = factories.applications(job_id, 2)
    acknowledge(application_id=seated.id, actor=factories.owner_of(seated))
    passes_next(passing)
    leave(seated)  # the only one in line passes, so the seat stays free
    factories.applications(job_id, 2)
    let_time_pass(job_id, factories.WINDOW)

    factories.settle_all()

    last = {each.event: each for each in factories.events(job_id)}
    assert last["PROMOTED"].cause_seq == last["DECAYED"].seq
    assert_line_is_sound(job_id)
