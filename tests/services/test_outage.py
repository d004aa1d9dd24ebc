"""An outage of the site costs nobody the time to confirm."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
from django.db.models import F
from django.db.models.functions import Now

from pipeline.domain.states import EventType
from pipeline.management.decay_worker import DecayWorker
from pipeline.models import Application, Heartbeat
from pipeline.services.outage import (
    extend_after_outage,
    give_sign_of_life,
    give_sign_of_life_as_chore,
)
from tasks import registry
from tasks.models import TaskWorker
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.offers import job_with_a_seat_on_offer

pytestmark = pytest.mark.django_db(transaction=True)

HOUR, DAY = 3_600, 86_400


def site_ran_until_now() -> None:
    """Some worker has just given a sign of life."""
    assert give_sign_of_life() is None


def stand_still(application: Application, seconds: int) -> None:
    """Let time pass while nothing of the site runs."""
    let_time_pass(application.job_id, seconds)
    past = timedelta(seconds=seconds)
    Heartbeat.objects.update(completed_at=F("completed_at") - past)


def time_left(application: Application) -> float:
    deadline = Application.objects.filter(id=application.id).annotate(
        left=F("acknowledge_by") - Now()
    )
    return deadline.get().left.total_seconds()  # type: ignore[attr-defined]


def restart() -> None:
    """The first step of a decay worker that starts."""
    worker = DecayWorker()
    worker.step()
    worker.close()


def test_a_site_that_stood_still_for_half_a_window_gives_the_time_back() -> None:
    job_id, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    stand_still(offered, DAY // 2)
    assert time_left(offered) < DAY / 2 + 5

    restart()

    assert abs(time_left(offered) - DAY) < 10
    assert factories.event_names(job_id)[-1] == EventType.DEADLINE_EXTENDED
    assert_line_is_sound(job_id)


def test_it_is_given_back_once() -> None:
    job_id, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    stand_still(offered, HOUR)
    restart()
    stand_still(offered, HOUR)
    restart()

    assert factories.event_names(job_id).count(EventType.DEADLINE_EXTENDED) == 1


def test_only_the_time_since_the_offer_is_given_back() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    stand_still(offered, HOUR)
    Heartbeat.objects.update(completed_at=Now() - timedelta(seconds=3 * DAY))

    assert extend_after_outage() == 1

    assert abs(time_left(offered) - DAY) < 10


def test_what_was_missed_meanwhile_stays_missed() -> None:
    job_id, offered = job_with_a_seat_on_offer()
    site_ran_until_now()
    stand_still(offered, factories.WINDOW + 60)

    restart()

    assert factories.fresh(offered).decay_count == 1
    assert EventType.DEADLINE_EXTENDED not in factories.event_names(job_id)


def test_a_decay_worker_that_was_away_alone_is_no_outage() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    stand_still(offered, DAY // 2)
    Heartbeat.objects.update(completed_at=Now() - timedelta(seconds=20))
    give_sign_of_life_as_chore()  # of a task worker, which ends and leaves no row of its own

    assert extend_after_outage() == 0


def test_a_task_worker_that_starts_first_does_not_hide_the_outage() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    stand_still(offered, DAY // 2)
    give_sign_of_life_as_chore()
    give_sign_of_life_as_chore()

    assert extend_after_outage() == 1


def test_a_task_worker_that_starts_after_the_last_decay_and_dies_hides_no_outage() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    TaskWorker.objects.create(name="short-lived", slots=1)
    give_sign_of_life_as_chore()
    stand_still(offered, DAY // 2)

    assert extend_after_outage() == 1


def test_a_worker_that_survives_the_outage_gives_the_time_back_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job_id, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    worker = DecayWorker()
    worker.step()
    stand_still(offered, DAY // 2)  # the machine sleeps
    awake = time.time() + DAY // 2
    monkeypatch.setattr("pipeline.management.decay_worker.time.time", lambda: awake)

    worker.step()
    worker.close()

    assert abs(time_left(offered) - DAY) < 10
    assert factories.event_names(job_id)[-1] == EventType.DEADLINE_EXTENDED


def test_a_shorter_silence_does_not_replace_one_that_waits() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    stand_still(offered, HOUR)
    give_sign_of_life()
    Heartbeat.objects.update(completed_at=F("completed_at") - timedelta(minutes=2))

    silence = give_sign_of_life()

    assert silence is not None
    assert abs((silence[1] - silence[0]).total_seconds() - HOUR) < 10


def test_every_task_worker_gives_signs_of_life() -> None:
    assert give_sign_of_life_as_chore in registry.chores


def test_a_short_break_and_a_first_start_are_no_outage() -> None:
    assert give_sign_of_life() is None
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=HOUR)
    stand_still(offered, 50)

    assert give_sign_of_life() is None


def test_a_small_part_of_a_long_window_moves_no_deadline() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=10 * DAY)
    site_ran_until_now()
    stand_still(offered, HOUR)

    assert extend_after_outage() == 0
