"""The clock of a review: plain time, or the company's working time, forwards and backwards."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jobs.review_clock import BadWorkingHours, ReviewClock, WorkingHours

DAY, HOUR = 86_400, 3_600
WEEK = frozenset(range(5))
NINE_TO_FIVE = WorkingHours.checked(WEEK, "09:00", "17:00", "UTC")
FRIDAY_NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)


def test_without_working_hours_every_hour_counts() -> None:
    clock = ReviewClock(3 * DAY)

    assert clock.due_at(FRIDAY_NOON) == FRIDAY_NOON + timedelta(days=3)
    assert clock.age_seconds(FRIDAY_NOON, FRIDAY_NOON + timedelta(days=2)) == 2 * DAY


def test_a_day_of_the_target_is_a_working_day_and_an_hour_a_working_hour() -> None:
    days, hours = ReviewClock(3 * DAY, NINE_TO_FIVE), ReviewClock(6 * HOUR, NINE_TO_FIVE)
    wednesday, monday = FRIDAY_NOON + timedelta(days=5), FRIDAY_NOON + timedelta(days=3)

    assert days.due_at(FRIDAY_NOON) == wednesday
    assert hours.due_at(FRIDAY_NOON) == monday.replace(hour=10)
    assert days.due_at(FRIDAY_NOON, times=2) == wednesday + timedelta(days=5)


def test_a_weekend_ages_nobody() -> None:
    clock = ReviewClock(3 * DAY, NINE_TO_FIVE)
    saturday, sunday = (FRIDAY_NOON + timedelta(days=n) for n in (1, 2))

    assert clock.age_seconds(FRIDAY_NOON, saturday) == 5 * HOUR
    assert clock.age_seconds(FRIDAY_NOON, sunday) == 5 * HOUR
    assert clock.age_seconds(FRIDAY_NOON, sunday + timedelta(days=1)) == DAY


def test_the_share_of_the_target_counts_hours_of_a_working_day_against_its_length() -> None:
    clock = ReviewClock(2 * DAY, NINE_TO_FIVE)

    assert clock.used_share(FRIDAY_NOON, FRIDAY_NOON + timedelta(hours=4)) == 4 / 16
    assert clock.used_share(FRIDAY_NOON, FRIDAY_NOON + timedelta(days=4)) == 1
    assert ReviewClock(DAY).used_share(FRIDAY_NOON, FRIDAY_NOON + timedelta(hours=6)) == 0.25


def test_an_hour_that_the_clocks_skip_or_repeat_counts_with_its_real_length() -> None:
    night = WorkingHours.checked(frozenset(range(7)), "00:00", "08:00", "Europe/Berlin")
    before = datetime(2026, 3, 28, 23, tzinfo=UTC)  # midnight in Berlin; the clocks go forward at 2

    assert ReviewClock(8 * HOUR, night).due_at(before) == before + timedelta(hours=24, minutes=0)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(HOUR, 20 * DAY),
    st.sampled_from(
        [None, NINE_TO_FIVE, WorkingHours.checked(WEEK, "07:30", "11:00", "Asia/Tokyo")]
    ),
    st.integers(0, 60 * DAY),
    st.integers(1, 2),
)
def test_the_cutoff_is_the_last_moment_that_is_due(
    target: int, hours: WorkingHours | None, later: int, times: int
) -> None:
    clock, now = ReviewClock(target, hours), FRIDAY_NOON + timedelta(seconds=later)

    cutoff = clock.cutoff(now, times=times)

    assert clock.due_at(cutoff, times=times) <= now
    assert clock.due_at(cutoff + timedelta(seconds=1), times=times) > now


@pytest.mark.parametrize(
    ("days", "begins", "ends", "zone"),
    [
        (frozenset(), "09:00", "17:00", "UTC"),
        (frozenset({7}), "09:00", "17:00", "UTC"),
        (WEEK, "17:00", "09:00", "UTC"),
        (WEEK, "09:00", "09:59", "UTC"),
        (WEEK, "9", "17:00", "UTC"),
        (WEEK, "09:00", "17:00", "Nowhere"),
    ],
)
def test_hours_that_cannot_be_used_are_refused(
    days: frozenset[int], begins: str, ends: str, zone: str
) -> None:
    with pytest.raises(BadWorkingHours):
        WorkingHours.checked(days, begins, ends, zone)


def test_hours_are_read_as_they_were_stored() -> None:
    assert WorkingHours.read(NINE_TO_FIVE.stored()) == NINE_TO_FIVE
    assert WorkingHours.read(None) is None
