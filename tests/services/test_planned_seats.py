"""Planned seats: they open and close at their times, once, however late someone looks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest

from pipeline.audit.verify import verify_job
from pipeline.domain.errors import (
    IllegalJobMove,
    JobNotFound,
    PlannedSeatsNotFound,
)
from pipeline.models import PlannedSeats
from pipeline.services.jobs import cancel_seats, close_job, delete_draft, open_job, pause_job
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.logs import Log
from tests.support.planned_seats import WEEK, planned
from tests.support.sandboxes import DAY, advance, line_with_offers, sandbox

pytestmark = pytest.mark.django_db(transaction=True)


def test_planned_seats_open_at_their_time_and_go_to_the_next_in_line() -> None:
    job_id = factories.job(capacity=1)
    people = factories.applications(job_id, 4)
    plan = planned(job_id, 2)
    factories.settle_all()
    assert factories.statuses(*people) == ["ACTIVE", "WAITLIST", "WAITLIST", "WAITLIST"]

    let_time_pass(job_id, 601)
    due = PlannedSeats.objects.get(id=plan.id).first_at
    factories.settle_all()

    offered = "PENDING_ACKNOWLEDGMENT"
    assert factories.statuses(*people) == ["ACTIVE", offered, offered, "WAITLIST"]
    changed, *promoted = factories.events(job_id)[-3:]
    assert (changed.event, changed.actor_kind, changed.data["capacity"]) == (
        "CAPACITY_CHANGED",
        "SYSTEM",
        3,
    )
    assert (changed.data["planned_seats_id"], changed.effective_at) == (str(plan.id), due)
    assert [each.cause_seq for each in promoted] == [changed.seq, changed.seq]
    assert not PlannedSeats.objects.filter(id=plan.id).exists()
    assert_line_is_sound(job_id)
    assert verify_job(job_id).is_sound


def test_whoever_touches_the_job_first_finds_the_seats_open() -> None:
    job_id = factories.job(capacity=1)
    first, second = factories.applications(job_id, 2)
    planned(job_id, 2)
    let_time_pass(job_id, 601)

    newcomer = factories.application(job_id)  # no worker has come by

    assert factories.statuses(first, second, newcomer) == [
        "ACTIVE",
        "PENDING_ACKNOWLEDGMENT",
        "ACTIVE",
    ]
    assert_line_is_sound(job_id)


def test_weeks_that_were_missed_are_made_up_for_each_as_an_event_of_its_own_time() -> None:
    job_id = factories.job(capacity=1)
    planned(job_id, 1, times=5)

    let_time_pass(job_id, 2 * WEEK + 700)
    factories.settle_all()

    changes = [e for e in factories.events(job_id) if e.event == "CAPACITY_CHANGED"]
    assert [each.data["capacity"] for each in changes] == [2, 3, 4]
    gaps = {b.effective_at - a.effective_at for a, b in pairwise(changes)}
    assert gaps == {timedelta(weeks=1)}
    assert PlannedSeats.objects.get(job_id=job_id).times_left == 2
    assert_line_is_sound(job_id)
    factories.settle_all()
    assert factories.row_of(job_id).capacity == 4


def test_plans_take_turns_in_the_order_of_their_times() -> None:
    job_id = factories.job(capacity=3)
    planned(job_id, -1, seconds=900, times=2)
    planned(job_id, 3, seconds=600, times=2)

    let_time_pass(job_id, WEEK + 1_000)
    factories.settle_all()

    changes = [e for e in factories.events(job_id) if e.event == "CAPACITY_CHANGED"]
    assert [each.data["capacity"] for each in changes] == [6, 5, 8, 7]
    assert not PlannedSeats.objects.filter(job_id=job_id).exists()
    assert_line_is_sound(job_id)


def test_a_week_that_was_missed_comes_before_a_later_plan() -> None:
    job_id = factories.job(capacity=3)
    planned(job_id, 3, times=2)
    planned(job_id, -1, seconds=WEEK + 900)

    let_time_pass(job_id, WEEK + 1_000)
    factories.settle_all()

    changes = [e for e in factories.events(job_id) if e.event == "CAPACITY_CHANGED"]
    assert [each.data["capacity"] for each in changes] == [6, 9, 8]
    assert_line_is_sound(job_id)


def test_seats_that_close_evict_nobody_and_one_seat_stays() -> None:
    job_id = factories.job(capacity=3)
    people = factories.applications(job_id, 3)
    planned(job_id, -2)
    factories.alter(job_id, capacity=2)

    let_time_pass(job_id, 601)
    factories.settle_all()

    assert factories.statuses(*people) == ["ACTIVE"] * 3
    assert factories.row_of(job_id).capacity == 1  # not 0: a job has a seat
    assert_line_is_sound(job_id, most_seats=3)


def test_a_change_that_would_alter_nothing_leaves_no_event() -> None:
    job_id = factories.job(capacity=2)
    planned(job_id, -1)
    factories.alter(job_id, capacity=1)
    before = factories.row_of(job_id).seq

    let_time_pass(job_id, 601)
    factories.settle_all()

    assert factories.row_of(job_id).seq == before
    assert factories.row_of(job_id).next_due_at is None
    assert not PlannedSeats.objects.exists()


def test_a_cancelled_plan_changes_nothing() -> None:
    job_id = factories.job(capacity=1)
    plan = planned(job_id)

    cancel_seats(job_id=job_id, planned_id=plan.id, actor=factories.RECRUITER)
    let_time_pass(job_id, 601)
    factories.settle_all()

    assert factories.row_of(job_id).capacity == 1
    with pytest.raises(PlannedSeatsNotFound):
        cancel_seats(job_id=job_id, planned_id=plan.id, actor=factories.RECRUITER)


def test_cancelling_too_late_keeps_what_was_due_and_ends_the_rest() -> None:
    job_id = factories.job(capacity=1)
    once, weekly = planned(job_id), planned(job_id, times=3)
    let_time_pass(job_id, 601)

    with pytest.raises(PlannedSeatsNotFound):
        cancel_seats(job_id=job_id, planned_id=once.id, actor=factories.RECRUITER)
    cancel_seats(job_id=job_id, planned_id=weekly.id, actor=factories.RECRUITER)

    assert factories.row_of(job_id).capacity == 3
    let_time_pass(job_id, WEEK)
    factories.settle_all()
    assert factories.row_of(job_id).capacity == 3
    assert_line_is_sound(job_id)


def test_a_plan_of_another_job_is_not_found() -> None:
    plan = planned(factories.job())

    with pytest.raises(PlannedSeatsNotFound):
        cancel_seats(job_id=factories.job(), planned_id=plan.id, actor=factories.RECRUITER)
    with pytest.raises(JobNotFound):
        cancel_seats(job_id=uuid4(), planned_id=plan.id, actor=factories.RECRUITER)

    assert PlannedSeats.objects.count() == 1


def test_a_paused_job_gets_the_seats_and_offers_them_when_it_resumes() -> None:
    job_id = factories.job(capacity=1)
    people = factories.applications(job_id, 2)
    planned(job_id)
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    let_time_pass(job_id, 601)

    factories.settle_all()
    assert factories.row_of(job_id).capacity == 2
    assert factories.statuses(*people) == ["ACTIVE", "WAITLIST"]
    open_job(job_id=job_id, actor=factories.RECRUITER)

    assert factories.statuses(*people) == ["ACTIVE", "PENDING_ACKNOWLEDGMENT"]


def test_closing_a_job_ends_its_plans() -> None:
    job_id = factories.job()
    planned(job_id)

    close_job(job_id=job_id, actor=factories.RECRUITER)

    assert not PlannedSeats.objects.exists()
    with pytest.raises(IllegalJobMove):
        planned(job_id)


def test_deleting_a_draft_ends_its_plans_and_refuses_new_ones() -> None:
    draft = factories.job(open_now=False)
    planned(draft)

    delete_draft(job_id=draft, actor=factories.RECRUITER)

    with pytest.raises(JobNotFound):
        planned(draft)
    assert not PlannedSeats.objects.exists()


def test_a_promotion_names_the_event_whose_seat_it_took() -> None:
    job_id = factories.job(capacity=1)
    factories.applications(job_id, 3)
    planned(job_id, 1, seconds=600)
    planned(job_id, -1, seconds=700)  # the seat closes again, unseen
    last = planned(job_id, 1, seconds=800)

    let_time_pass(job_id, 801)
    factories.settle_all()

    *_, opened, promoted = factories.events(job_id)
    assert (opened.data["planned_seats_id"], promoted.event) == (str(last.id), "PROMOTED")
    assert (promoted.cause_seq, promoted.data["planned_seats_id"]) == (opened.seq, str(last.id))
    assert verify_job(job_id).is_sound


def test_the_security_log_names_who_planned_and_who_cancelled(log: Log) -> None:
    job_id = factories.job()

    plan = planned(job_id, 2)
    cancel_seats(job_id=job_id, planned_id=plan.id, actor=factories.RECRUITER)

    lines = log.security()
    assert [line["event"] for line in lines] == ["seats.planned", "seats.cancelled"]
    assert {line["actor"] for line in lines} == {str(factories.RECRUITER.id)}
    assert {line["planned_seats"] for line in lines} == {str(plan.id)}


def test_every_week_has_the_same_local_time_also_when_the_clocks_change() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    first = datetime(2027, 3, 22, 9, 0, tzinfo=berlin)
    row = PlannedSeats(first_at=first.astimezone(UTC), zone="Europe/Berlin", times=3, seats=1)

    moments = [row.time_of(number) for number in range(3)]

    assert [each.astimezone(berlin).strftime("%a %H:%M") for each in moments] == ["Mon 09:00"] * 3
    assert [each.hour for each in moments] == [8, 7, 7]
    assert row.last_at == moments[-1]


@pytest.mark.parametrize("steps", [[30 * DAY], [DAY] * 30, [WEEK, 23 * DAY]], ids=str)
def test_a_sandbox_opens_them_by_its_own_clock_each_at_its_instant(steps: list[int]) -> None:
    company = sandbox()
    job_id, _ = line_with_offers(company, people=6, acknowledgment_window_seconds=29 * DAY)
    planned(job_id, 1, seconds=3 * DAY, times=3)

    for seconds in steps:
        advance(company, seconds)

    log = factories.events(job_id)
    changes = [e for e in log if e.event == "CAPACITY_CHANGED" and e.actor_kind == "SYSTEM"]
    assert [(each.at, each.data["capacity"]) for each in changes] == [
        (each.effective_at, capacity) for each, capacity in zip(changes, (3, 4, 5), strict=True)
    ]
    assert {b.at - a.at for a, b in pairwise(changes)} == {timedelta(days=7)}
    assert_line_is_sound(job_id)
    assert verify_job(job_id).is_sound
