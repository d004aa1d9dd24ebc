"""Passing a turn: no miss, the place stays, and the next in line is offered the seat."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest

from pipeline.domain.errors import AcknowledgmentExpired, IllegalMove, NotPassable
from pipeline.domain.states import Outcome, ReinstatementReason
from pipeline.models import Application
from pipeline.services.jobs import close_job, open_job, pause_job
from pipeline.services.leaving import reinstate, remove
from pipeline.services.turns import acknowledge, pass_next, pass_offer
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


def passes(application: Application) -> Application:
    return pass_offer(application_id=application.id, actor=factories.owner_of(application))


def passes_next(application: Application, *, wanted: bool = True) -> Application:
    actor = factories.owner_of(application)
    return pass_next(application_id=application.id, wanted=wanted, actor=actor)


def offered_first(**policy: object) -> tuple[UUID, list[Application]]:
    """A job in which the first of three in line has just been offered the only seat."""
    job_id = factories.job(**policy)
    seated, *waiting = factories.applications(job_id, 4)
    leave(seated)
    return job_id, [factories.fresh(each) for each in waiting]


def test_an_open_offer_goes_to_the_next_and_the_place_stays() -> None:
    job_id = factories.job()
    seated, first, second = factories.applications(job_id, 3)
    place = (first.ticket, first.tie)
    leave(seated)

    passed = passes(first)

    assert (passed.ticket, passed.tie) == place
    assert (passed.decay_count, passed.passes_used, passed.acknowledge_by) == (0, 1, None)
    assert passed.eligible_at == passed.passed_at + timedelta(seconds=factories.COOLDOWN)
    assert factories.statuses(first, second) == ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
    told, promoted = factories.events(job_id)[-2:]
    assert (told.event, told.from_status, told.to_status) == (
        *("PASSED", "PENDING_ACKNOWLEDGMENT"),
        "WAITLIST",
    )
    assert (promoted.event, promoted.cause_seq) == ("PROMOTED", told.seq)
    assert_line_is_sound(job_id)


def test_after_the_cool_down_the_person_is_first_again() -> None:
    job_id, (first, second, third) = offered_first()
    passes(first)
    let_time_pass(job_id, factories.COOLDOWN)

    leave(second)

    assert factories.statuses(first, third) == ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert factories.fresh(first).passed_at is None
    assert_line_is_sound(job_id)


def test_with_nobody_else_the_seat_stays_free_until_the_cool_down_ends() -> None:
    job_id = factories.job()
    seated, only = factories.applications(job_id, 2)
    leave(seated)

    passes(only)

    assert factories.row_of(job_id).next_due_at == factories.fresh(only).eligible_at
    let_time_pass(job_id, factories.COOLDOWN)
    factories.settle_all()
    asked_again = factories.events(job_id)[-1]
    assert (asked_again.event, asked_again.cause_seq) == ("PROMOTED", None)  # time opened the turn
    assert_line_is_sound(job_id)


def test_somebody_who_comes_meanwhile_gets_the_seat() -> None:
    job_id = factories.job()
    seated, only = factories.applications(job_id, 2)
    leave(seated)
    passes(only)

    assert factories.application(job_id).status == "ACTIVE"
    assert_line_is_sound(job_id)


def test_passing_again_before_the_next_offer_changes_nothing() -> None:
    job_id, (first, *_) = offered_first()
    passes(first)
    before = factories.row_of(job_id).seq

    assert passes(first).passes_used == 1
    assert factories.row_of(job_id).seq == before


def test_nobody_passes_more_often_than_the_policy_says() -> None:
    job_id, (first, second, _) = offered_first()
    passes(first)
    let_time_pass(job_id, factories.COOLDOWN)
    leave(second)

    with pytest.raises(
        NotPassable, match="You have passed 1 turn, and this job lets people pass 1"
    ):
        passes(first)
    factories.alter(job_id, policy={"max_passes": 0})
    with pytest.raises(NotPassable, match="does not let people pass"):
        passes(first)
    factories.alter(job_id, policy={"max_passes": 2})
    assert passes(first).passes_used == 2
    assert_line_is_sound(job_id)


def test_after_the_deadline_it_is_a_miss() -> None:
    job_id, (first, *_) = offered_first()
    let_time_pass(job_id, factories.WINDOW)

    with pytest.raises(AcknowledgmentExpired):
        passes(first)

    row = factories.fresh(first)
    assert (row.decay_count, row.passes_used) == (1, 0)
    assert_line_is_sound(job_id)


def test_who_has_passed_has_not_missed() -> None:
    _, (first, *_) = offered_first()
    passes(first)

    with pytest.raises(IllegalMove):
        acknowledge(application_id=first.id, actor=factories.owner_of(first))


def test_only_an_open_offer_is_passed() -> None:
    job_id = factories.job()
    seated, waiting = factories.applications(job_id, 2)

    for each in (seated, waiting):
        with pytest.raises(IllegalMove):
            passes(each)


def test_a_first_seat_is_passed_to_the_place_at_which_the_person_would_have_joined() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    first, second, third = factories.applications(job_id, 3)

    passed = passes(first)

    places = [(each.ticket, each.tie) for each in (passed, second, third)]
    assert places == sorted(places)
    assert len(set(places)) == 3
    assert factories.status_of(second) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_passes_follow_a_person_who_applies_again() -> None:
    job_id, (first, second, _) = offered_first()
    passes(first)
    leave(first)

    again = factories.application(job_id, first.applicant)

    assert (again.passes_used, again.decay_count) == (1, 0)
    assert again.eligible_at == factories.fresh(first).eligible_at
    assert again.passed_at == factories.fresh(first).passed_at
    let_time_pass(job_id, factories.COOLDOWN)
    leave(second)
    assert_line_is_sound(job_id)


def test_a_paused_job_keeps_the_seat_and_a_closed_one_passes_nothing() -> None:
    job_id, (first, second, _) = offered_first()
    pause_job(job_id=job_id, actor=factories.RECRUITER)

    passes(first)

    assert factories.statuses(first, second) == ["WAITLIST", "WAITLIST"]
    open_job(job_id=job_id, actor=factories.RECRUITER)
    assert factories.status_of(second) == "PENDING_ACKNOWLEDGMENT"
    close_job(job_id=job_id, actor=factories.RECRUITER)
    with pytest.raises(IllegalMove):
        passes(second)
    with pytest.raises(IllegalMove):
        passes_next(first)


def test_a_seat_that_closes_is_offered_to_nobody() -> None:
    job_id = factories.job(capacity=2)
    seated, other, first, second = factories.applications(job_id, 4)
    leave(seated)
    factories.alter(job_id, capacity=1)

    passes(first)

    assert factories.statuses(other, first, second) == ["ACTIVE", "WAITLIST", "WAITLIST"]
    assert_line_is_sound(job_id)


def test_a_miss_before_a_pass_can_still_be_given_back() -> None:
    job_id, (first, second, third) = offered_first()
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    let_time_pass(job_id, factories.COOLDOWN)
    for each in (second, third):
        leave(each)
    passed = passes(first)

    back = reinstate(
        application_id=first.id,
        reason=ReinstatementReason.OUR_ERROR,
        actor=factories.RECRUITER,
    )

    assert (back.ticket or 0) < (passed.ticket or 0)
    assert (back.decay_count, back.passes_used) == (0, 1)
    assert back.eligible_at == passed.eligible_at  # they asked for that time themselves
    assert_line_is_sound(job_id)


def test_a_removed_person_who_had_passed_is_told_from_one_who_missed() -> None:
    job_id, (first, *_) = offered_first()
    passes(first)
    remove(application_id=first.id, outcome=Outcome.REMOVED, actor=factories.RECRUITER)

    again = factories.application(job_id, first.applicant)

    assert again.passed_at is not None
    assert_line_is_sound(job_id)


def test_who_has_used_more_passes_than_are_allowed_now_passes_no_more() -> None:
    job_id, (first, *others) = offered_first(max_passes=2, cooldown_seconds=1)
    passes(first)
    let_time_pass(job_id, 2)
    leave(others[0])
    passes(first)
    let_time_pass(job_id, 2)
    leave(others[1])
    assert factories.fresh(first).passes_used == 2
    assert factories.status_of(first) == "PENDING_ACKNOWLEDGMENT"
    factories.alter(job_id, policy={"max_passes": 1})

    with pytest.raises(NotPassable, match="You have passed 2 turns, and this job lets people"):
        passes(first)
