"""Deadlines: in time or too late; only an extension moves a running deadline."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import transaction

from pipeline.domain.errors import AcknowledgmentExpired, ApplicationNotFound, IllegalMove
from pipeline.line.lock import lock_job_of
from pipeline.line.settle import settle_due
from pipeline.models import Application
from pipeline.services.jobs import close_job, pause_job
from pipeline.services.leaving import withdraw
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


def offered(**policy: object) -> Application:
    """Someone who was offered the only seat."""
    return factories.application(factories.job(acknowledge_first_seat=True, **policy))


def take(person: Application) -> Application:
    return acknowledge(application_id=person.id, actor=factories.owner_of(person))


def test_who_acknowledges_before_the_deadline_has_the_seat() -> None:
    person = offered()
    let_time_pass(person.job_id, factories.WINDOW - 30)

    taken = take(person)

    assert (taken.status, taken.acknowledge_by) == ("ACTIVE", None)
    assert factories.fresh(person).acknowledged_at == factories.events(person.job_id)[-1].at
    assert_line_is_sound(person.job_id)


@pytest.mark.parametrize("late_seconds", [0, 1, 76 * 3_600])
def test_who_is_late_is_refused_and_the_miss_is_settled_on_the_spot(late_seconds: int) -> None:
    person = offered()
    waiting = factories.application(person.job_id)
    let_time_pass(person.job_id, factories.WINDOW + late_seconds)

    with pytest.raises(AcknowledgmentExpired):
        take(person)

    assert factories.statuses(person, waiting) == ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
    assert factories.event_names(person.job_id)[-2:] == ["DECAYED", "PROMOTED"]
    assert_line_is_sound(person.job_id)


@pytest.mark.parametrize(
    ("microseconds", "status"), [(-1, "PENDING_ACKNOWLEDGMENT"), (0, "WAITLIST")]
)
def test_an_offer_is_dead_from_the_very_moment_of_its_deadline(
    microseconds: int, status: str
) -> None:
    person = offered()

    with transaction.atomic():
        job = lock_job_of(person.id)
        job.now = person.acknowledge_by + timedelta(microseconds=microseconds)
        settle_due(job)

    assert factories.status_of(person) == status


def test_a_miss_is_true_from_its_deadline_on_and_the_cooldown_runs_from_when_it_was_noticed() -> (
    None
):
    person = offered()
    let_time_pass(person.job_id, factories.WINDOW + 25)
    deadline = factories.fresh(person).acknowledge_by

    factories.settle_all()

    miss = factories.events(person.job_id)[-1]
    assert (miss.event, miss.effective_at) == ("DECAYED", deadline)
    assert factories.fresh(person).eligible_at == miss.at + timedelta(seconds=factories.COOLDOWN)


def test_acknowledging_once_more_changes_nothing() -> None:
    person = offered()
    take(person)
    seq = factories.row_of(person.job_id).seq

    assert take(person).status == "ACTIVE"
    assert factories.row_of(person.job_id).seq == seq


def test_who_took_a_seat_in_time_keeps_it_after_the_old_deadline() -> None:
    person = offered()
    take(person)
    let_time_pass(person.job_id, factories.WINDOW + 1)

    factories.settle_all()

    assert take(person).status == "ACTIVE"
    assert factories.row_of(person.job_id).next_due_at is None
    assert_line_is_sound(person.job_id)


def test_a_late_acknowledgement_stays_refused_however_often_it_is_tried() -> None:
    person = offered()
    let_time_pass(person.job_id, factories.WINDOW)

    for _ in range(3):
        with pytest.raises(AcknowledgmentExpired):
            take(person)

    assert factories.event_names(person.job_id).count("DECAYED") == 1


def test_who_lapsed_is_told_that_the_time_ran_out() -> None:
    person = offered(max_decays=0)
    let_time_pass(person.job_id, factories.WINDOW)

    with pytest.raises(AcknowledgmentExpired):
        take(person)

    assert factories.status_of(person) == "LAPSED"


def test_who_was_never_offered_a_seat_cannot_acknowledge_one() -> None:
    person = factories.application(offered().job_id)

    with pytest.raises(IllegalMove):
        take(person)


def test_a_miss_of_an_earlier_application_does_not_make_a_new_one_expired() -> None:
    person = offered()
    let_time_pass(person.job_id, factories.WINDOW)
    withdraw(application_id=person.id, actor=factories.owner_of(person))
    again = factories.application(person.job_id, person.applicant)

    with pytest.raises(IllegalMove):
        take(again)


def test_an_unknown_application_is_named_as_such() -> None:
    with pytest.raises(ApplicationNotFound):
        acknowledge(application_id=factories.applicant().id, actor=factories.RECRUITER)


def test_a_new_policy_does_not_touch_a_running_deadline_ticket_or_cooldown() -> None:
    cooling = offered()
    job_id = cooling.job_id
    let_time_pass(job_id, factories.WINDOW)
    pending = factories.application(job_id)
    before = [factories.fresh(person) for person in (cooling, pending)]

    changed = {"acknowledgment_window_seconds": 60, "cooldown_seconds": 1, "penalty_places": 9}
    factories.alter(job_id, policy=changed)

    for row in before:
        now = factories.fresh(row)
        assert (now.acknowledge_by, now.ticket, now.tie) == (
            row.acknowledge_by,
            row.ticket,
            row.tie,
        )
        assert (now.eligible_at, now.decay_count) == (row.eligible_at, row.decay_count)
    assert_line_is_sound(job_id)


def test_deadlines_run_out_in_a_paused_job_and_nobody_is_promoted() -> None:
    person = offered()
    waiting = factories.application(person.job_id)
    pause_job(job_id=person.job_id, actor=factories.RECRUITER)
    let_time_pass(person.job_id, factories.WINDOW)

    factories.settle_all()

    assert factories.statuses(person, waiting) == ["WAITLIST", "WAITLIST"]
    assert_line_is_sound(person.job_id)


def test_people_may_acknowledge_in_a_paused_job() -> None:
    person = offered()
    pause_job(job_id=person.job_id, actor=factories.RECRUITER)

    assert take(person).status == "ACTIVE"


def test_nobody_becomes_active_in_a_closed_job() -> None:
    person = offered()
    close_job(job_id=person.job_id, actor=factories.RECRUITER)

    with pytest.raises(IllegalMove):
        take(person)

    assert factories.status_of(person) == "PENDING_ACKNOWLEDGMENT"
