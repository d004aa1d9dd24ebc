"""An outage of the site costs nobody the time to confirm."""

from __future__ import annotations

import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now

from pipeline.domain.states import EventType
from pipeline.management.commands.run_decay import DecayWorker
from pipeline.models import Application, Heartbeat
from pipeline.services import outage
from pipeline.services.outage import MOST_WAITS
from pipeline.services.turns import extend_deadline
from tasks import registry
from tasks.models import TaskWorker
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.offers import job_with_a_seat_on_offer, overdue_job
from tests.support.together import held_lock

pytestmark = pytest.mark.django_db(transaction=True)

HOUR, DAY = 3_600, 86_400


def site_ran_until_now() -> None:
    """Some worker has just given a sign of life."""
    assert outage.watch() is None


def stand_still(application: Application, seconds: int) -> None:
    """Let time pass while no part of the site runs."""
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

    assert outage.extend_offers() == 1

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
    outage.watch_task_workers()  # of a task worker, which ends and leaves no row of its own

    assert outage.extend_offers() == 0


def test_a_task_worker_that_starts_first_does_not_hide_the_outage() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    stand_still(offered, DAY // 2)
    outage.watch_task_workers()
    outage.watch_task_workers()

    assert outage.extend_offers() == 1


def test_a_task_worker_that_starts_after_the_last_decay_and_dies_hides_no_outage() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    TaskWorker.objects.create(name="short-lived", slots=1)
    outage.watch_task_workers()
    stand_still(offered, DAY // 2)

    assert outage.extend_offers() == 1


def test_a_worker_that_survives_the_outage_gives_the_time_back_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job_id, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    worker = DecayWorker()
    worker.step()
    stand_still(offered, DAY // 2)  # the machine sleeps
    awake = time.time() + DAY // 2
    monkeypatch.setattr("pipeline.management.commands.run_decay.time.time", lambda: awake)

    worker.step()
    worker.close()

    assert abs(time_left(offered) - DAY) < 10
    assert factories.event_names(job_id)[-1] == EventType.DEADLINE_EXTENDED


def test_a_shorter_silence_does_not_replace_one_that_waits() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    stand_still(offered, HOUR)
    outage.watch()
    Heartbeat.objects.update(completed_at=F("completed_at") - timedelta(minutes=2))

    silence = outage.watch()

    assert silence is not None
    assert abs((silence[1] - silence[0]).total_seconds() - HOUR) < 10


def test_every_task_worker_gives_signs_of_life() -> None:
    assert outage.watch_task_workers in registry.chores


def test_a_short_break_and_a_first_start_are_no_outage() -> None:
    assert outage.watch() is None
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=HOUR)
    stand_still(offered, 50)

    assert outage.watch() is None


def test_a_small_part_of_a_long_window_moves_no_deadline() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=10 * DAY)
    site_ran_until_now()
    stand_still(offered, HOUR)

    assert outage.extend_offers() == 0


def test_a_locked_job_holds_up_neither_the_others_nor_settlement() -> None:
    locked_id, locked = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    _, free = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    let_time_pass(free.job_id, HOUR)
    stand_still(locked, 2 * HOUR)  # its deadline is the first
    overdue_id = overdue_job()
    worker = DecayWorker()

    with held_lock(locked_id):
        begun = time.monotonic()
        worker.step()
        assert time.monotonic() - begun < 3  # less than the session's lock_timeout

        assert EventType.DEADLINE_EXTENDED in factories.event_names(free.job_id)
        assert EventType.DECAYED in factories.event_names(overdue_id)
        assert EventType.DEADLINE_EXTENDED not in factories.event_names(locked_id)
        assert outage.watch() is not None  # the silence waits
    worker.close()
    restart()

    assert abs(time_left(locked) - DAY) < 10
    assert factories.event_names(free.job_id).count(EventType.DEADLINE_EXTENDED) == 1
    assert outage.watch() is None


def test_only_the_first_locked_jobs_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    offers = [
        job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)[1] for _ in range(MOST_WAITS)
    ]
    _, last = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    for offer in offers:
        let_time_pass(offer.job_id, HOUR)
    stand_still(last, HOUR // 2)
    monkeypatch.setattr("pipeline.services.outage.LOCK_MS", 20)
    waits = []

    def extend(*, lock_ms: int, **about: Any) -> Application:
        waits.append(lock_ms)
        return extend_deadline(lock_ms=lock_ms, **about)

    monkeypatch.setattr("pipeline.services.outage.extend_deadline", extend)

    with ExitStack() as locks:
        for offer in offers:
            locks.enter_context(held_lock(offer.job_id))
        assert outage.extend_offers() == 1  # one that is free is extended all the same

    assert waits == [20] * MOST_WAITS + [1]
    assert outage.extend_offers() == MOST_WAITS


def test_the_short_wait_for_locks_ends_with_the_extension() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    stand_still(offered, HOUR)
    with connection.cursor() as cursor:
        cursor.execute("SHOW lock_timeout")
        before = cursor.fetchone()
        outage.extend_offers()
        cursor.execute("SHOW lock_timeout")
        assert cursor.fetchone() == before


def test_a_sign_of_life_from_the_future_hides_no_outage() -> None:
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY)
    site_ran_until_now()
    Heartbeat.objects.update(completed_at=Now() + timedelta(days=3))  # the clock is set back
    site_ran_until_now()
    stand_still(offered, HOUR)

    assert outage.extend_offers() == 1


def test_a_sign_of_life_that_is_a_little_later_stays() -> None:
    site_ran_until_now()
    Heartbeat.objects.update(completed_at=Now() + timedelta(seconds=5))
    before = Heartbeat.objects.get().completed_at

    site_ran_until_now()

    assert Heartbeat.objects.get().completed_at == before


@pytest.mark.parametrize(("hours", "extended"), [((-8, 4), 0), ((6, 12), 1)])
def test_time_that_did_not_run_is_not_given_back(hours: tuple[int, int], extended: int) -> None:
    begins, ends = (datetime.now(UTC) + timedelta(hours=each) for each in hours)
    quiet = {"quiet_from": begins.strftime("%H:00"), "quiet_to": ends.strftime("%H:00")}
    _, offered = job_with_a_seat_on_offer(acknowledgment_window_seconds=DAY, **quiet)
    site_ran_until_now()
    stand_still(offered, 3 * HOUR)

    assert outage.extend_offers() == extended
