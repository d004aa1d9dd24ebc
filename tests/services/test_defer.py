"""Asking for no seat until a time: the place stays, the next in line is offered, no miss."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from pipeline.domain.errors import IllegalMove, NotDeferrable
from pipeline.domain.states import Outcome, ReinstatementReason
from pipeline.line.event_log import logged_time
from pipeline.models import Application
from pipeline.services.jobs import close_job, open_job, pause_job
from pipeline.services.leaving import reinstate, remove, withdraw
from pipeline.services.settling import seconds_until_settlement
from pipeline.services.turns import MOST_DEFERRALS, acknowledge, defer
from tests.support import factories
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)

DAY = 86_400


def put_off(application: Application, *, days: float | None = 1) -> Application:
    not_before = None if days is None else database_now() + timedelta(days=days)
    actor = factories.owner_of(application)
    return defer(application_id=application.id, not_before=not_before, actor=actor)


def a_seat_opens(seated: Application) -> None:
    withdraw(application_id=seated.id, actor=factories.owner_of(seated))


def line_of(count: int, **job: Any) -> tuple[UUID, list[Application]]:
    """So many people, of whom the first has the only seat."""
    job_id = factories.job(**job)
    return job_id, factories.applications(job_id, count)


def test_a_seat_goes_to_the_next_and_the_place_stays() -> None:
    job_id, (seated, first, second, third) = line_of(4)

    put_off(first)
    a_seat_opens(seated)

    row = factories.fresh(first)
    assert factories.statuses(first, second, third) == [
        "WAITLIST",
        "PENDING_ACKNOWLEDGMENT",
        "WAITLIST",
    ]
    assert (row.ticket, row.tie, row.decay_count) == (first.ticket, first.tie, 0)
    assert row.status_since == first.status_since
    assert factories.line(job_id) == [first.id, third.id]
    assert_line_is_sound(job_id)


def test_the_log_holds_the_time_and_who_asked() -> None:
    _, (_seated, first) = line_of(2)

    answer = put_off(first)

    assert answer.not_before
    event = factories.events(first.job_id)[-1]
    assert (event.event, event.from_status, event.to_status) == ("DEFERRED", "WAITLIST", "WAITLIST")
    assert (event.actor_kind, event.actor_id) == ("APPLICANT", first.applicant_id)
    assert event.data["not_before"] == logged_time(answer.not_before)


def test_a_free_seat_is_offered_once_the_time_has_come_whoever_was_away() -> None:
    job_id, (seated, only) = line_of(2)
    put_off(only)
    a_seat_opens(seated)
    assert factories.status_of(only) == "WAITLIST"
    wait = seconds_until_settlement()
    assert wait is not None
    assert DAY - 60 < wait <= DAY

    let_time_pass(job_id, 3 * DAY)
    factories.settle_all()

    row = factories.fresh(only)
    assert (row.status, row.not_before) == ("PENDING_ACKNOWLEDGMENT", None)
    assert_line_is_sound(job_id)


def test_the_time_that_was_put_off_last_counts() -> None:
    job_id, (seated, only) = line_of(2)
    put_off(only, days=1)
    put_off(only, days=2)
    a_seat_opens(seated)

    let_time_pass(job_id, 1.5 * DAY)
    factories.settle_all()
    assert factories.status_of(only) == "WAITLIST"
    assert_line_is_sound(job_id)
    let_time_pass(job_id, DAY)
    factories.settle_all()

    assert factories.status_of(only) == "PENDING_ACKNOWLEDGMENT"


def test_taking_it_back_gives_a_free_seat_at_once() -> None:
    job_id, (seated, only) = line_of(2)
    put_off(only)
    a_seat_opens(seated)

    answer = put_off(only, days=None)

    assert (answer.status, answer.not_before) == ("PENDING_ACKNOWLEDGMENT", None)
    deferred, promoted = factories.events(job_id)[-2:]
    assert (deferred.event, "not_before" in deferred.data) == ("DEFERRED", False)
    assert (promoted.event, promoted.cause_seq) == ("PROMOTED", deferred.seq)
    assert_line_is_sound(job_id)


def test_repeating_it_is_one_event() -> None:
    _, (_seated, first) = line_of(2)
    moment, actor = database_now() + timedelta(days=1), factories.owner_of(first)

    for _ in range(2):
        defer(application_id=first.id, not_before=moment, actor=actor)

    assert factories.event_names(first.job_id).count("DEFERRED") == 1


def test_a_newcomer_gets_the_seat_that_nobody_who_waits_wants() -> None:
    job_id, (seated, only) = line_of(2)
    put_off(only)
    a_seat_opens(seated)

    newcomer = factories.application(job_id)

    assert newcomer.status == "ACTIVE"
    assert factories.line(job_id) == [only.id]
    assert_line_is_sound(job_id)


def test_a_cool_down_and_a_deferral_both_have_to_end() -> None:
    job_id, (missed,) = line_of(1, acknowledge_first_seat=True)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    put_off(missed, days=2)

    let_time_pass(job_id, max(factories.COOLDOWN, DAY))
    factories.settle_all()
    assert factories.status_of(missed) == "WAITLIST"
    assert_line_is_sound(job_id)
    let_time_pass(job_id, 2 * DAY)
    factories.settle_all()

    assert factories.status_of(missed) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_a_miss_before_it_can_still_be_given_back() -> None:
    job_id, (missed,) = line_of(1, acknowledge_first_seat=True)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    put_off(missed)

    reason = ReinstatementReason.OUR_ERROR
    reinstate(application_id=missed.id, reason=reason, actor=factories.RECRUITER)

    row = factories.fresh(missed)
    assert (row.status, row.decay_count) == ("WAITLIST", 0)
    assert row.not_before is not None
    assert_line_is_sound(job_id)


def test_a_resumed_job_passes_over_who_deferred() -> None:
    job_id, (seated, first, second) = line_of(3)
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    put_off(first)
    a_seat_opens(seated)

    open_job(job_id=job_id, actor=factories.RECRUITER)

    assert factories.statuses(first, second) == ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
    assert_line_is_sound(job_id)


def test_who_deferred_may_still_be_decided_on_and_leave() -> None:
    job_id, (_seated, first, second) = line_of(3)
    put_off(first)
    put_off(second)

    withdraw(application_id=first.id, actor=factories.owner_of(first))
    remove(application_id=second.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)

    assert [factories.fresh(each).not_before for each in (first, second)] == [None, None]
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("days", [-1, 0, 60.01])
def test_a_time_that_is_not_ahead_or_too_far_is_refused(days: float) -> None:
    _, (_seated, first) = line_of(2)

    with pytest.raises(NotDeferrable):
        put_off(first, days=days)

    assert "DEFERRED" not in factories.event_names(first.job_id)


def test_a_time_can_be_set_so_many_times_and_always_be_taken_back() -> None:
    _, (_seated, first) = line_of(2)
    for number in range(MOST_DEFERRALS):
        put_off(first, days=1 + number / 10)

    with pytest.raises(NotDeferrable):
        put_off(first, days=30)

    assert put_off(first, days=None).not_before is None


def test_nobody_with_an_offer_a_seat_or_an_end_defers() -> None:
    job_id, (seated, first, second) = line_of(3)
    a_seat_opens(seated)

    with pytest.raises(IllegalMove):
        put_off(first)
    acknowledge(application_id=first.id, actor=factories.owner_of(first))
    for each in (first, seated):
        with pytest.raises(IllegalMove):
            put_off(each)
    close_job(job_id=job_id, actor=factories.RECRUITER)
    with pytest.raises(IllegalMove):
        put_off(second)


def test_an_unverified_application_is_not_deferred() -> None:
    job_id, _people = line_of(1)
    unverified = factories.application(job_id, verified=False)

    with pytest.raises(IllegalMove):
        put_off(unverified)


def test_the_database_refuses_a_time_to_anybody_who_does_not_wait() -> None:
    _, (seated,) = line_of(1)

    with pytest.raises(Exception, match="deferred_while_waiting"), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE pipeline_application SET not_before = now() WHERE id = %s", [seated.id]
        )


def test_a_promotion_searches_from_who_deferred() -> None:
    """The hint where the line begins does not pass the person over for good."""
    job_id, people = line_of(5, capacity=2)
    put_off(people[2])
    a_seat_opens(people[0])
    assert factories.status_of(people[3]) == "PENDING_ACKNOWLEDGMENT"

    let_time_pass(job_id, 2 * DAY)
    a_seat_opens(people[1])

    assert factories.status_of(people[2]) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)
