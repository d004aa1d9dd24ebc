"""Yes in advance: a promotion before its end is a seat at once, and after it an offer as always."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from pipeline.domain.errors import IllegalMove, NotPreacceptable
from pipeline.domain.states import Outcome
from pipeline.line.event_log import logged_time
from pipeline.models import Application
from pipeline.services.jobs import close_job, open_job, pause_job
from pipeline.services.leaving import remove, withdraw
from pipeline.services.turns import MOST_PREACCEPTANCES, defer, preaccept
from tests.support import factories
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)

DAY = 86_400


def say_yes(application: Application, *, days: float | None = 7) -> Application:
    until = None if days is None else database_now() + timedelta(days=days)
    actor = factories.owner_of(application)
    return preaccept(application_id=application.id, accept_until=until, actor=actor)


def a_seat_opens(seated: Application) -> None:
    withdraw(application_id=seated.id, actor=factories.owner_of(seated))


def line_of(count: int, **job: Any) -> tuple[UUID, list[Application]]:
    """So many people, of whom the first has the only seat."""
    job_id = factories.job(**job)
    return job_id, factories.applications(job_id, count)


def test_a_seat_is_theirs_at_once_and_both_events_have_its_cause() -> None:
    job_id, (seated, first, second) = line_of(3)
    until = say_yes(first).accept_until
    assert until

    a_seat_opens(seated)

    row = factories.fresh(first)
    assert factories.statuses(first, second) == ["ACTIVE", "WAITLIST"]
    assert row.accept_until is None
    assert row.acknowledge_by is None
    assert row.promoted_at == row.acknowledged_at == row.status_since
    left, promoted, confirmed = factories.events(job_id)[-3:]
    assert [promoted.event, confirmed.event] == ["PROMOTED", "ACKNOWLEDGED"]
    assert promoted.cause_seq == confirmed.cause_seq == left.seq
    assert promoted.data["accepted_until"] == logged_time(until)
    assert confirmed.data["accepted_until"] == logged_time(until)
    assert (confirmed.actor_kind, confirmed.actor_id) == ("SYSTEM", None)
    assert_line_is_sound(job_id)


def test_without_another_cause_the_promotion_causes_the_confirmation() -> None:
    job_id, (seated, only) = line_of(2)
    say_yes(only)
    until = database_now() + timedelta(days=1)
    defer(application_id=only.id, not_before=until, actor=factories.owner_of(only))
    a_seat_opens(seated)

    let_time_pass(job_id, 2 * DAY)
    factories.settle_all()

    promoted, confirmed = factories.events(job_id)[-2:]
    assert promoted.cause_seq is None
    assert confirmed.cause_seq == promoted.seq
    assert factories.status_of(only) == "ACTIVE"
    assert_line_is_sound(job_id)


def test_the_place_and_everything_else_stay() -> None:
    job_id, (_seated, first, second) = line_of(3)

    say_yes(second)

    row = factories.fresh(second)
    assert (row.ticket, row.tie, row.status_since) == (
        second.ticket,
        second.tie,
        second.status_since,
    )
    assert factories.line(job_id) == [first.id, second.id]
    event = factories.events(job_id)[-1]
    assert (event.event, event.actor_kind) == ("PREACCEPTED", "APPLICANT")
    assert_line_is_sound(job_id)


def test_after_its_end_a_seat_is_offered_as_always() -> None:
    job_id, (seated, first) = line_of(2)
    say_yes(first, days=1)

    let_time_pass(job_id, DAY)
    a_seat_opens(seated)

    row = factories.fresh(first)
    assert (row.status, row.accept_until) == ("PENDING_ACKNOWLEDGMENT", None)
    assert "accepted_until" not in factories.events(job_id)[-1].data
    assert_line_is_sound(job_id)


def test_taken_back_it_is_an_offer_again() -> None:
    job_id, (seated, first) = line_of(2)
    say_yes(first)

    assert say_yes(first, days=None).accept_until is None
    a_seat_opens(seated)

    assert factories.status_of(first) == "PENDING_ACKNOWLEDGMENT"
    assert factories.event_names(job_id).count("PREACCEPTED") == 2
    assert_line_is_sound(job_id)


def test_it_can_be_renewed_and_repeating_it_is_one_event() -> None:
    job_id, (_seated, first) = line_of(2)
    say_yes(first, days=13)
    until = database_now() + timedelta(days=14)
    for _ in range(2):
        preaccept(application_id=first.id, accept_until=until, actor=factories.owner_of(first))

    assert factories.fresh(first).accept_until == until
    assert factories.event_names(job_id).count("PREACCEPTED") == 2


def test_an_ended_yes_is_refused_again_and_taking_it_back_is_no_event() -> None:
    job_id, (_seated, first) = line_of(2)
    say_yes(first, days=1)
    let_time_pass(job_id, 2 * DAY)
    ended, owner = factories.fresh(first).accept_until, factories.owner_of(first)

    with pytest.raises(NotPreacceptable):
        preaccept(application_id=first.id, accept_until=ended, actor=owner)
    say_yes(first, days=None)

    assert factories.event_names(job_id).count("PREACCEPTED") == 1
    assert say_yes(first, days=1).accept_until is not None
    assert_line_is_sound(job_id)


def test_a_turn_put_off_is_passed_over_with_or_without_a_yes() -> None:
    job_id, (seated, first, second) = line_of(3)
    say_yes(first)
    until = database_now() + timedelta(days=1)
    defer(application_id=first.id, not_before=until, actor=factories.owner_of(first))

    a_seat_opens(seated)

    assert factories.statuses(first, second) == ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
    assert factories.fresh(first).accept_until is not None
    assert_line_is_sound(job_id)


def test_several_seats_are_confirmed_and_offered_in_order() -> None:
    job_id, (_seated, first, second, third) = line_of(4)
    say_yes(first)
    say_yes(third)

    factories.alter(job_id, capacity=4)

    assert factories.statuses(first, second, third) == [
        "ACTIVE",
        "PENDING_ACKNOWLEDGMENT",
        "ACTIVE",
    ]
    names = factories.event_names(job_id)[-5:]
    assert names == ["PROMOTED", "ACKNOWLEDGED", "PROMOTED", "PROMOTED", "ACKNOWLEDGED"]
    assert_line_is_sound(job_id)


def test_a_paused_job_confirms_nobody_until_it_resumes() -> None:
    job_id, (seated, first) = line_of(2)
    say_yes(first)
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    a_seat_opens(seated)
    assert factories.status_of(first) == "WAITLIST"

    open_job(job_id=job_id, actor=factories.RECRUITER)

    assert factories.status_of(first) == "ACTIVE"
    assert_line_is_sound(job_id)


def test_leaving_and_a_decision_end_it() -> None:
    job_id, (_seated, first, second) = line_of(3)
    say_yes(first)
    say_yes(second)

    withdraw(application_id=first.id, actor=factories.owner_of(first))
    remove(application_id=second.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)

    assert [factories.fresh(each).accept_until for each in (first, second)] == [None, None]
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("days", [-1, 0, 14.01])
def test_a_time_that_is_not_ahead_or_too_far_is_refused(days: float) -> None:
    _, (_seated, first) = line_of(2)

    with pytest.raises(NotPreacceptable):
        say_yes(first, days=days)

    assert "PREACCEPTED" not in factories.event_names(first.job_id)


def test_a_time_can_be_set_so_many_times_and_always_be_taken_back() -> None:
    _, (_seated, first) = line_of(2)
    for number in range(MOST_PREACCEPTANCES):
        say_yes(first, days=1 + number / 10)

    with pytest.raises(NotPreacceptable):
        say_yes(first, days=13)

    assert say_yes(first, days=None).accept_until is None


def test_nobody_with_an_offer_a_seat_or_an_end_says_yes_in_advance() -> None:
    job_id, (seated, first, second) = line_of(3)
    a_seat_opens(seated)

    for each in (first, seated):
        with pytest.raises(IllegalMove):
            say_yes(each)
    close_job(job_id=job_id, actor=factories.RECRUITER)
    with pytest.raises(IllegalMove):
        say_yes(second)


def test_an_unverified_application_says_nothing() -> None:
    job_id, _people = line_of(1)

    with pytest.raises(IllegalMove):
        say_yes(factories.application(job_id, verified=False))


def test_the_database_refuses_a_time_to_anybody_who_does_not_wait() -> None:
    _, (seated,) = line_of(1)

    with pytest.raises(Exception, match="accepts_while_waiting"), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE pipeline_application SET accept_until = now() WHERE id = %s", [seated.id]
        )
