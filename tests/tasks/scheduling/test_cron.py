"""Cron expressions: times by a zone's clocks, and refusals."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from tasks import time_zones
from tasks.errors import BadSchedule
from tasks.scheduling.cron import CronTimes


def times(cron: str, zone: str, start: str, count: int) -> list[str]:
    """The next times of a schedule, as the clocks of UTC show them."""
    found, at = [], datetime.fromisoformat(start)
    for _ in range(count):
        at = CronTimes(cron, zone).after(at)
        found.append(at.strftime("%d %H:%M"))
    return found


def test_a_daily_time_follows_the_zones_clocks() -> None:
    spring = times("0 9 * * *", "Europe/Berlin", "2026-03-28T00:00+00:00", 2)

    assert spring == ["28 08:00", "29 07:00"]


def test_a_time_that_the_change_to_summer_leaves_out_runs_right_after_it() -> None:
    spring = times("30 2 * * *", "Europe/Berlin", "2026-03-28T03:00+00:00", 2)

    assert spring == ["29 01:00", "30 00:30"]


def test_a_time_that_comes_twice_runs_once() -> None:
    autumn = times("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00+00:00", 2)

    assert autumn == ["25 00:30", "26 01:30"]


def test_in_the_hour_that_comes_twice_no_time_in_the_past_is_next() -> None:
    second = times("30 2 * * *", "Europe/Berlin", "2026-10-25T01:15+00:00", 1)

    assert second == ["26 01:30"]


@pytest.mark.parametrize(
    ("hours", "expected"),
    [("9-11", [9, 10, 11, 9]), ("9-9", [9, 9]), ("23-1", [1, 23, 0, 1])],
)
def test_a_range_of_hours_is_what_it_says(hours: str, expected: list[int]) -> None:
    found = times(f"0 {hours} * * *", "UTC", "2026-03-02T00:00+00:00", len(expected))

    assert [int(each[3:5]) for each in found] == expected


@pytest.mark.parametrize(
    ("cron", "part", "expected"),
    [
        ("58-1 * * * *", "minute", [58, 59, 0, 1, 58]),
        ("0 0 30-2 * *", "day", [30, 31, 1, 2, 1]),
        ("0 0 1 nov-feb *", "month", [11, 12, 1, 2, 11]),
        ("0 0 1 11-2 *", "month", [11, 12, 1, 2, 11]),
    ],
)
def test_a_range_wraps_at_the_ends_of_its_own_field(
    cron: str, part: str, expected: list[int]
) -> None:
    schedule, at, found = CronTimes(cron, "UTC"), datetime.fromisoformat("2026-01-15T00:30Z"), []
    if part == "month":
        at = at.replace(month=9)
    for _ in expected:
        at = schedule.after(at)
        found.append(getattr(at, part))

    assert found == expected


def test_a_step_of_weekdays_restricts_them_like_any_other_value() -> None:
    found = times("0 0 13 * */2", "UTC", "2026-03-12T12:00+00:00", 4)

    assert found == ["13 00:00", "14 00:00", "15 00:00", "17 00:00"]  # Friday, Saturday, …


def test_every_half_hour_stays_every_half_hour_when_the_clocks_change() -> None:
    autumn = times("*/30 * * * *", "Europe/Berlin", "2026-10-24T23:30+00:00", 5)
    spring = times("*/30 * * * *", "Europe/Berlin", "2026-03-29T00:00+00:00", 4)

    assert autumn == ["25 00:00", "25 00:30", "25 01:00", "25 01:30", "25 02:00"]
    assert spring == ["29 00:30", "29 01:00", "29 01:30", "29 02:00"]


def test_an_hour_that_is_named_counts_once_however_its_minutes_are_written() -> None:
    spring = times("*/30 2 * * *", "Europe/Berlin", "2026-03-28T12:00+00:00", 2)
    autumn = times("*/30 2 * * *", "Europe/Berlin", "2026-10-24T12:00+00:00", 3)

    assert spring == ["29 01:00", "30 00:00"]
    assert autumn == ["25 00:00", "25 00:30", "26 01:00"]


def test_a_range_may_go_past_the_end_of_its_field() -> None:
    night = times("0 22-2 * * *", "UTC", "2026-03-02T21:00+00:00", 6)
    weekend = times("0 9 * * fri-mon", "UTC", "2026-03-04T00:00+00:00", 5)

    assert night == ["02 22:00", "02 23:00", "03 00:00", "03 01:00", "03 02:00", "03 22:00"]
    assert weekend == ["06 09:00", "07 09:00", "08 09:00", "09 09:00", "13 09:00"]


def test_a_day_of_the_month_and_a_weekday_mean_either() -> None:
    either = times("0 0 */14 * mon", "UTC", "2026-03-01T12:00+00:00", 4)

    assert either == ["02 00:00", "09 00:00", "15 00:00", "16 00:00"]


@pytest.mark.parametrize(
    ("cron", "zone"),
    [("* * * *", "UTC"), ("* * * * * *", "UTC"), ("61 * * * *", "UTC"), ("", "UTC"),
     ("R R * * *", "UTC"), ("1,r(1-5) * * * *", "UTC"), ("H * * * *", "UTC"),
     ("0 0 31 2 *", "UTC"), ("99-1 * * * *", "UTC"), ("5-3/0 * * * *", "UTC"),
     ("0 0 * * *", "Mars/Olympus"), ("0 0 * * *", "../etc/passwd")],
)  # fmt: skip
def test_what_cannot_be_read_is_refused_in_a_sentence_that_quotes_it(cron: str, zone: str) -> None:
    quoted = repr(cron if zone == "UTC" else zone)

    with pytest.raises(BadSchedule, match=f"^{re.escape(quoted)} is not a "):
        CronTimes(cron, zone)


@pytest.mark.parametrize("hours", ["0-23", "0-23/1", ",".join(map(str, range(24)))])
def test_all_hours_written_out_are_a_star(hours: str) -> None:
    autumn = datetime(2026, 10, 25, 0, 0, tzinfo=UTC)
    here, star = (
        CronTimes(f"0 {hours} * * *", "Europe/Berlin"),
        CronTimes("0 * * * *", "Europe/Berlin"),
    )

    for _ in range(4):
        assert here.after(autumn) == star.after(autumn) == autumn + timedelta(hours=1)
        autumn += timedelta(hours=1)


@pytest.mark.parametrize("zone", ["localtime", "posixrules", "posix/Europe/Berlin", "Factory", ""])
def test_a_zone_of_this_machine_alone_is_none(zone: str) -> None:
    assert not time_zones.is_known(zone)
    with pytest.raises(BadSchedule):
        CronTimes("0 8 * * *", zone)
