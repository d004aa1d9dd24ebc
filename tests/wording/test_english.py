"""Numbers, plurals, lists, durations and times in English."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from jobs.policies import DAY
from pipeline.wording.english import (
    capitalized,
    count,
    format_count,
    format_time,
    joined,
    long_duration,
    people,
    short_duration,
    single_unit_duration,
    time_here_and_utc,
)

MINUTE, HOUR = 60, 3_600


def test_nouns_agree_with_their_number() -> None:
    assert [count(n, "seat") for n in (0, 1, 2_000)] == ["0 seats", "1 seat", "2,000 seats"]
    assert [people(n) for n in (1, 2)] == ["1 person", "2 people"]
    assert [format_count(n, "place") for n in (0, 1, 10, 11)] == [
        "no places",
        "one place",
        "ten places",
        "11 places",
    ]


def test_lists_end_with_and() -> None:
    assert [joined(names) for names in ([], ["Ana"], ["Ana", "Bo"], ["Ana", "Bo", "Cy"])] == [
        "",
        "Ana",
        "Ana and Bo",
        "Ana, Bo and Cy",
    ]
    assert capitalized("the iPad") == "The iPad"


def test_long_durations_have_two_units_at_most() -> None:
    assert [long_duration(n) for n in (1, MINUTE, HOUR + 61, 2 * DAY, 0)] == [
        "1 second",
        "1 minute",
        "1 hour and 1 minute",
        "2 days",
        "no time",
    ]


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (None, "-"),
        (0, "0 s"),
        (200, "3 min 20 s"),
        (2 * HOUR + 5, "2 h"),
        (DAY + 4 * HOUR, "1 d 4 h"),
        (timedelta(seconds=-3), "0 s"),
    ],
)
def test_short_durations_have_two_neighbouring_units(span: float | None, text: str) -> None:
    assert short_duration(span) == text


def test_durations_on_an_axis_have_one_unit() -> None:
    assert [single_unit_duration(n) for n in (0, 30, 90 * MINUTE, 2 * HOUR, 3 * DAY)] == [
        "0",
        "30 s",
        "90 min",
        "2 h",
        "3 d",
    ]


def test_times_are_rounded_down_to_the_minute_and_name_their_zone() -> None:
    late = datetime(2026, 3, 1, 12, 0, 59, tzinfo=UTC)

    assert format_time(late) == "12:00 UTC on 1 March 2026"
    assert format_time(late.isoformat(), ZoneInfo("America/New_York")) == (
        "07:00 on 1 March 2026 (New York)"
    )
    assert format_time(None) == "an unknown time"


def test_a_time_stands_in_the_readers_zone_and_in_utc_once_if_that_is_the_same() -> None:
    noon, night = datetime(2026, 7, 1, 12, 0, tzinfo=UTC), datetime(2026, 7, 1, 23, 30, tzinfo=UTC)

    assert time_here_and_utc(noon) == "12:00 UTC on 1 July 2026"
    assert time_here_and_utc(noon, ZoneInfo("Europe/Berlin")) == (
        "14:00 on 1 July 2026 (Berlin), 12:00 UTC"
    )
    assert time_here_and_utc(night.isoformat(), ZoneInfo("Europe/Berlin")) == (
        "01:30 on 2 July 2026 (Berlin), 23:30 UTC on 1 July 2026"
    )
