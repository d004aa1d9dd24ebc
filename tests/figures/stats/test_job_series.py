"""The numbers behind the charts, by hand-made histories and by adding up the log slowly."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from pipeline.figures import series as module
from pipeline.figures.series import Point, Series, read_series
from pipeline.models import Event
from pipeline.services.jobs import close_job, open_job, pause_job
from pipeline.services.leaving import withdraw
from pipeline.services.turns import acknowledge, extend_deadline
from tests.figures.stats.slow_totals import slow_answers, slow_idle, slow_promotions
from tests.support import factories
from tests.support.busy_line import busy_job
from tests.support.clock import let_time_pass
from tests.support.history import History

pytestmark = pytest.mark.django_db(transaction=True)


def all_of(job: UUID, back: timedelta | None = None, zone: str = "UTC") -> Series:
    return read_series(factories.row_of(job), back=back, zone=zone)


def test_a_hand_made_history_gives_its_numbers(past: History) -> None:
    series = all_of(past.job)

    assert [round(seconds, -1) for seconds in series.seat_time] == [5_400, 660, 0, 0, 0]
    assert [round(seconds) for seconds in series.answers] == [60] * 51
    assert (series.answered, series.missed, series.events) == (1, 1, 10)
    assert series.waits == [0, 0, 0, 0, 2, 0, 0, 0, 0, 0]
    held = [(point.held, point.waiting, point.capacity) for point in series.points]
    assert held == [(1, 2, 1), (1, 1, 1), (1, 1, 1), (1, 1, 1)]


def test_hours_are_those_of_the_reader(past: History) -> None:
    deadline = Event.objects.get(job_id=past.job, event="DECAYED").effective_at

    for zone in ("UTC", "Asia/Kolkata"):
        hour = deadline.astimezone(ZoneInfo(zone)).hour
        assert all_of(past.job, zone=zone).misses_by_hour == {hour: 1}


def test_idle_seats_are_told_apart_by_their_cause() -> None:
    job = factories.job(capacity=2, acknowledge_first_seat=True, cooldown_seconds=400)
    let_time_pass(job, 100)  # two seats: nobody waits
    person = factories.application(job)
    let_time_pass(job, factories.WINDOW)  # one seat on offer, one for which nobody waits
    factories.settle_all()
    let_time_pass(job, 200)  # two seats: who waits is in a cool-down
    pause_job(job_id=job, actor=factories.RECRUITER)
    let_time_pass(job, 50)  # two seats of a paused job
    withdraw(application_id=person.id, actor=factories.owner_of(person))
    open_job(job_id=job, actor=factories.RECRUITER)

    found = all_of(job).seat_time

    assert found == pytest.approx((0, 600, 200 + 600, 400, 100), abs=4)


def test_seats_that_drain_and_seats_that_come_and_go_are_counted_as_they_were() -> None:
    job = factories.job(capacity=2)
    leaving, *_ = factories.applications(job, 2)
    let_time_pass(job, 100)  # two in review
    factories.alter(job, capacity=1)
    let_time_pass(job, 50)  # two in review, though there is one seat: the job drains
    withdraw(application_id=leaving.id, actor=factories.owner_of(leaving))
    let_time_pass(job, 30)  # one in review, on the one seat
    factories.alter(job, capacity=3)
    let_time_pass(job, 20)  # one in review, two seats for which nobody waits
    close_job(job_id=job, actor=factories.RECRUITER)
    let_time_pass(job, 500)  # of a closed job nothing counts any more

    found = all_of(job)

    assert found.seat_time == pytest.approx((200 + 100 + 30 + 20, 0, 40, 0, 0), abs=6)
    assert [point.capacity for point in found.points][-1] == 3


def test_who_got_more_time_answered_since_the_offer_and_not_since_the_extension() -> None:
    job = factories.job(capacity=1, acknowledge_first_seat=True)
    person = factories.application(job)
    let_time_pass(job, 300)
    extend_deadline(application_id=person.id, seconds=200)
    let_time_pass(job, 100)
    acknowledge(application_id=person.id, actor=factories.owner_of(person))

    found = all_of(job)

    assert found.answers == pytest.approx([400] * 51, abs=4)
    assert found.seat_time == pytest.approx((0, 400, 0, 0, 0), abs=4)


def test_a_seat_that_was_offered_on_applying_is_the_first_offer() -> None:
    job = factories.job(capacity=1, acknowledge_first_seat=True, cooldown_seconds=60)
    factories.application(job)
    let_time_pass(job, factories.WINDOW + 1)
    factories.settle_all()
    let_time_pass(job, 61)
    factories.settle_all()  # the same person is offered a seat for the second time

    found = all_of(job)

    assert [event.event for event in factories.events(job)].count("PROMOTED") == 1
    assert found.waits == [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]


def test_a_span_begins_with_how_things_stood_then(past: History) -> None:
    series = all_of(past.job, back=timedelta(hours=1))

    assert series.points[0][1:] == (1, 2, 1)
    assert series.points[0].at == series.start
    assert series.events == 5
    assert sum(series.seat_time) == pytest.approx(3_600, abs=4)
    assert all_of(past.job, back=timedelta(seconds=900)).events == 0


@pytest.mark.parametrize("seed", range(5))
def test_random_histories_give_what_adding_up_slowly_gives(seed: int) -> None:
    job = busy_job(seed, steps=80)
    log = factories.events(job)

    series = all_of(job)

    answers, idle = slow_answers(log), slow_idle(log, series.end)
    assert series.answered == len(answers)
    if answers:
        assert series.answers[0] == pytest.approx(min(answers))
        assert series.answers[-1] == pytest.approx(max(answers))
    assert sum(series.waits) == len(slow_promotions(log))
    time = series.seat_time
    assert (time.nobody + time.cooldown, time.cooldown) == pytest.approx(idle, abs=0.01)
    last, row = series.points[-1], factories.row_of(job)
    held = row.active_count + row.pending_count
    assert last[1:] == (held, row.waitlist_count, row.capacity)
    assert series.missed == sum(series.misses_by_hour.values())


def test_of_a_long_log_only_the_last_events_are_read(
    past: History, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_EVENTS", 4)

    series = all_of(past.job)

    assert series.is_cut
    assert series.start == Event.objects.get(job_id=past.job, seq=7).at
    assert series.points[0] == Point(series.start, 1, 1, 1)


@pytest.mark.slow
def test_the_lines_have_at_most_so_many_points_and_the_queries_do_not_grow() -> None:
    job = factories.job(capacity=1)
    for _ in range(60):
        factories.applications(job, 5)
        let_time_pass(job, 60)

    with CaptureQueriesContext(connection) as queries:
        series = read_series(factories.row_of(job), back=timedelta(days=1), zone="UTC")

    assert 50 <= len(series.points) <= module.BUCKETS
    assert series.points[-1].waiting == 299
    assert len(queries) <= 4


def test_a_job_on_its_first_day_and_a_closed_one() -> None:
    job = factories.job(open_now=False)

    series = all_of(job, back=timedelta(days=7))

    assert series.points[0][1:] == (0, 0, 1)
    assert not any(series.seat_time)
