"""The figures of a week, compared with a count by hand and with a slow computation."""

from __future__ import annotations

from datetime import UTC, date, datetime
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Company
from pipeline.domain.errors import FutureMoment
from pipeline.figures.job import read_public_facts, read_totals
from pipeline.figures.series import Week, read_series
from pipeline.figures.series import read_week as week_of_job
from pipeline.services.jobs import close_job
from tests.figures.stats.slow_week import (
    slow_counts,
    slow_ends,
    slow_points,
    slow_seats,
    slow_times,
)
from tests.support import factories
from tests.support.busy_line import busy_job
from tests.support.clock import database_now, let_time_pass
from tests.support.weeks import DAY, HOUR, last_week, put

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_hand_made_week_gives_its_numbers(job: UUID) -> None:
    found = week_of_job(job, last_week())

    assert found
    told = ("applied", "offered", "promoted", "confirmed", "missed", "lapsed", "withdrawn")
    assert [found[name] for name in told] == [0, 2, 2, 1, 1, 0, 1]
    assert found["decided"] == {"HIRED": 1}
    assert found["days"] == [[0] * 4, [0, 1, 0, 0], [0, 1, 1, 1], *[[0] * 4] * 4]
    assert (found["waiting_at_start"], found["waiting_at_end"]) == (2, 0)
    assert (found["held_at_start"], found["held_at_end"]) == (1, 1)
    assert found["confirm_seconds"]["median"] == pytest.approx(HOUR, abs=5)
    assert found["wait_seconds"]["median"] == pytest.approx(8.5 * DAY, abs=10)
    spent = found["seat_seconds"]
    assert spent["offered"] == pytest.approx(DAY + HOUR, abs=10)
    assert spent["review"] == pytest.approx(6 * DAY - HOUR, abs=10)
    assert (spent["nobody"], spent["cooldown"], spent["paused"]) == (0, 0, 0)


def test_the_week_before_began_when_the_job_was_made(job: UUID) -> None:
    before = week_of_job(job, last_week().before)

    assert before
    assert (before["applied"], before["seated"], before["waiting_at_start"]) == (3, 1, 0)
    assert before["days"][0] == [3, 0, 0, 0]
    assert before["seat_seconds"]["review"] == pytest.approx(6.5 * DAY, abs=5)
    assert week_of_job(job, last_week().before.before) is None


@pytest.mark.parametrize("seed", range(6))
def test_random_histories_give_what_adding_up_slowly_gives(seed: int) -> None:
    job = busy_job(seed, steps=70)
    middle = len(factories.events(job)) * (seed + 2) // 9
    zone = ("UTC", "Asia/Kolkata", "America/Los_Angeles")[seed % 3]
    put(job, last_week(zone), seq=middle, hours=0)  # so that the week begins in the middle of it
    log = factories.events(job)

    for week in (last_week(zone), last_week(zone).before):
        found = week_of_job(job, week)
        assert found
        slow = slow_counts(log, week) | slow_ends(log, week)
        assert {name: found[name] for name in slow} == slow
        for name, times in slow_times(log, week).items():
            assert found[name] == pytest.approx(times)
        assert found["seat_seconds"] == pytest.approx(slow_seats(log, week), abs=0.01)
        held = [(point[1], point[2]) for point in found["points"]]
        assert held == slow_points(log, week)


def test_who_never_proved_an_address_missed_no_offer(company: Company) -> None:
    job = factories.job(company_id=company.id)
    factories.application(job, verified=False)
    let_time_pass(job, 2 * DAY)
    factories.settle_all()
    assert factories.event_names(job)[-1] == "LAPSED"
    put(job, last_week(), seq=1, hours=12)

    row = factories.row_of(job)
    week, series = week_of_job(job, last_week()), read_series(row, back=None, zone="UTC")

    assert week
    assert (week["applied"], week["missed"], week["lapsed"]) == (1, 0, 0)
    assert (series.missed, series.misses_by_hour) == (0, {})
    assert read_totals(job).lapse_events == 0
    assert read_public_facts(row).missed == 0


def test_what_happens_at_midnight_belongs_to_the_week_that_begins(job: UUID) -> None:
    put(job, last_week(), seq=3, hours=0)

    week, before = (week_of_job(job, each) for each in (last_week(), last_week().before))

    assert week
    assert before
    assert (before["applied"], week["applied"]) == (0, 3)
    assert (before["events"], before["status_at_end"]) == (2, "OPEN")


def test_seats_of_a_closed_job_count_no_more(job: UUID) -> None:
    close_job(job_id=job, actor=factories.RECRUITER)
    let_time_pass(job, 14 * DAY)

    found = week_of_job(job, last_week())

    assert found
    assert found["status_at_end"] == "CLOSED"
    assert not any(found["seat_seconds"].values())


def test_a_week_is_read_in_three_queries_and_leaves_little(job: UUID) -> None:
    week = last_week()

    with CaptureQueriesContext(connection) as queries:
        week_of_job(job, week)

    assert len(queries) <= 3


def test_a_week_that_is_not_over_is_no_week_yet(job: UUID) -> None:
    last = last_week()
    this = Week(date.fromordinal(last.monday.toordinal() + 7), "UTC")

    with pytest.raises(FutureMoment):
        week_of_job(job, this)


def test_weeks_are_of_the_clock_on_the_wall() -> None:
    week = Week(date(2026, 10, 19), "Europe/Berlin")  # the clocks go back on its Sunday

    assert week.start == datetime(2026, 10, 18, 22, tzinfo=UTC)
    assert week.end == datetime(2026, 10, 25, 23, tzinfo=UTC)
    assert len(week.days) == 8


@pytest.mark.parametrize(
    ("now", "zone", "monday"),
    [
        (datetime(2026, 11, 16, 0, 0, tzinfo=UTC), "UTC", date(2026, 11, 9)),
        (datetime(2026, 11, 15, 23, 59, tzinfo=UTC), "UTC", date(2026, 11, 2)),
        (datetime(2026, 11, 15, 23, 59, tzinfo=UTC), "Europe/Berlin", date(2026, 11, 9)),
        (datetime(2026, 11, 16, 3, 0, tzinfo=UTC), "America/New_York", date(2026, 11, 2)),
    ],
)
def test_the_last_whole_week_is_that_of_the_zone(now: datetime, zone: str, monday: date) -> None:
    assert Week.last_whole(now, zone).monday == monday
    assert Week.last_whole(database_now(), zone).end <= database_now()
