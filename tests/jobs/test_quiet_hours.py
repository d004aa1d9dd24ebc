"""Quiet hours: the deadline is when the time to confirm has run, counted minute by minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jobs.policies import Policy
from jobs.quiet_hours import (
    QuietHours,
    compute_deadline,
    counted_time,
    counted_utc_time,
    minutes_since_midnight,
    quiet_hours_refusal,
)
from pipeline.notifications.offers import OfferTimes, list_checkpoints

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe")
# The Thursdays before the clocks change in these zones, in both directions.
CHANGES = [datetime(2026, month, day, tzinfo=UTC) for month, day in ((3, 5), (3, 26), (4, 2))]
CHANGES += [datetime(2026, month, day, tzinfo=UTC) for month, day in ((10, 1), (10, 22), (10, 29))]
NIGHTS = QuietHours(22 * 60, 8 * 60, False, "Europe/Berlin")


def counted_deadline(start: datetime, window: timedelta, quiet: QuietHours) -> datetime:
    """The deadline, by looking at the clock on the wall in each single minute."""
    zone, at, left = ZoneInfo(quiet.zone), start, window
    while True:
        wall = at.astimezone(zone)
        now = wall.hour * 60 + wall.minute
        night = quiet.begins is not None and quiet.ends is not None
        if night and quiet.begins < quiet.ends:
            night = quiet.begins <= now < quiet.ends
        elif night:
            night = not quiet.ends <= now < quiet.begins
        if not night and not (quiet.weekends and wall.strftime("%a") in ("Sat", "Sun")):
            if not left:
                return at
            left -= MINUTE
            if not left:
                return at + MINUTE
        at += MINUTE


@st.composite
def quiet_hours(draw: st.DrawFn) -> QuietHours:
    """Any quiet hours that a policy takes, with a fondness for the hours of changing clocks."""
    begins = draw(st.none() | st.integers(0, 1_439) | st.sampled_from((120, 150, 180, 1_320)))
    zone = draw(st.sampled_from(ZONES))
    if begins is None:
        return QuietHours(None, None, True, zone)
    lasts = draw(st.integers(1, 1_200))
    return QuietHours(begins, (begins + lasts) % 1_440, draw(st.booleans()), zone)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    start=st.builds(
        lambda week, minutes: week + minutes * MINUTE,
        st.sampled_from(CHANGES),
        st.integers(0, 4 * 1_440),
    ),
    window=st.builds(lambda minutes: minutes * MINUTE, st.integers(1, 2 * 1_440)),
    quiet=quiet_hours(),
)
@example(datetime(2026, 3, 28, 12, tzinfo=UTC), 12 * HOUR, NIGHTS)
def test_a_deadline_is_the_one_that_counting_minutes_finds(
    start: datetime, window: timedelta, quiet: QuietHours
) -> None:
    deadline = compute_deadline(start, window, quiet)

    assert deadline == counted_deadline(start, window, quiet)
    assert counted_time(start, deadline, quiet) == window


@pytest.mark.parametrize(
    ("day", "night_hours"), [("2026-03-28", 9), ("2026-10-24", 11), ("2026-06-01", 10)]
)
def test_a_night_is_as_long_as_it_really_is(day: str, night_hours: int) -> None:
    evening = datetime.fromisoformat(f"{day}T21:00").replace(tzinfo=ZoneInfo("Europe/Berlin"))

    deadline = compute_deadline(evening, 2 * HOUR, NIGHTS)

    assert deadline.astimezone(ZoneInfo("Europe/Berlin")).strftime("%H:%M") == "09:00"
    assert deadline - evening.astimezone(UTC) == (2 + night_hours) * HOUR


def test_seconds_are_kept_and_a_window_may_end_where_the_quiet_hours_begin() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    start = datetime(2026, 6, 1, 21, 59, 30, 5, tzinfo=berlin)

    assert compute_deadline(start, timedelta(seconds=40), NIGHTS).astimezone(berlin) == datetime(
        2026, 6, 2, 8, 0, 10, 5, tzinfo=berlin
    )
    sharp = datetime(2026, 6, 1, 21, tzinfo=berlin)
    assert compute_deadline(sharp, HOUR, NIGHTS).astimezone(berlin).hour == 22


def test_without_quiet_hours_all_time_runs() -> None:
    start = datetime(2026, 6, 1, 21, tzinfo=UTC)

    assert Policy().quiet_hours("Europe/Berlin") is None
    assert compute_deadline(start, 3 * HOUR, None) == start + 3 * HOUR
    assert counted_time(start, start + HOUR, None) == HOUR
    assert counted_time(start + HOUR, start, NIGHTS) == timedelta(0)


@pytest.mark.parametrize(("day", "first"), [("2026-03-28", "18:00"), ("2026-10-24", "16:00")])
def test_a_window_without_quiet_hours_is_as_long_as_it_really_is(day: str, first: str) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    start = datetime.fromisoformat(f"{day}T17:00").replace(tzinfo=berlin)

    deadline = compute_deadline(start, 24 * HOUR, None)

    assert deadline - start.astimezone(UTC) == 24 * HOUR
    assert deadline.astimezone(berlin).strftime("%H:%M") == first
    assert compute_deadline(start.astimezone(UTC), 24 * HOUR, None) == deadline
    assert counted_time(start, deadline.astimezone(berlin), None) == 24 * HOUR


@pytest.mark.parametrize("quiet", [None, NIGHTS])
def test_the_two_equal_hours_of_a_night_have_a_deadline_each(quiet: QuietHours | None) -> None:
    summer = datetime(2026, 10, 25, 2, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    winter = summer.replace(fold=1)

    until = [compute_deadline(each, timedelta(0), None) for each in (summer, winter)]

    assert until[1] - until[0] == HOUR
    assert counted_time(summer, winter, None) == HOUR
    assert compute_deadline(winter, HOUR, quiet) == compute_deadline(
        winter.astimezone(UTC), HOUR, quiet
    )


def test_the_jobs_time_zone_counts_if_the_persons_is_not_known() -> None:
    policy = Policy(
        acknowledgment_window_seconds=3_600,
        quiet_from="22:00",
        quiet_to="08:00",
        quiet_time_zone="Europe/Berlin",
    )
    evening = datetime(2026, 6, 1, 21, 30, tzinfo=ZoneInfo("Europe/Berlin"))

    zones = [policy.quiet_hours(zone) for zone in ("America/New_York", "", "Not/AZone", "../x")]

    assert [quiet and quiet.zone for quiet in zones] == [
        "America/New_York",
        *["Europe/Berlin"] * 3,
    ]
    assert policy.deadline(evening) - evening == 11 * HOUR  # over a night of ten hours
    assert policy.deadline(evening, "America/New_York") - evening == HOUR


@pytest.mark.parametrize(
    ("hours", "why"),
    [
        (("22:00", None), "both the beginning and the end"),
        ((None, "08:00"), "both the beginning and the end"),
        (("10:00", "10:00"), "at least 4 hours"),
        (("12:00", "08:01"), "at least 4 hours"),
        (("00:00", "20:01"), "at least 4 hours"),
        (("24:00", "08:00"), "times of the day"),
        (("8:00", "20:00"), "times of the day"),
        (("22:00", "08:60"), "times of the day"),
    ],
)
def test_a_policy_refuses_quiet_hours_that_leave_no_time(
    hours: tuple[str | None, str | None], why: str
) -> None:
    with pytest.raises(ValueError, match=why):
        Policy(quiet_from=hours[0], quiet_to=hours[1])

    assert Policy(quiet_from="12:00", quiet_to="08:00").quiet_from == "12:00"


def test_a_zone_that_this_machine_no_longer_knows_stops_no_line() -> None:
    quiet = Policy(quiet_weekends=True, quiet_time_zone="Mars/Base").quiet_hours("Moon/Crater")

    assert quiet
    assert quiet.zone == "UTC"


def test_the_times_of_an_offer_are_counted_once() -> None:
    start = datetime(2026, 6, 1, 21, tzinfo=UTC)
    times = OfferTimes(start, compute_deadline(start, 24 * HOUR, NIGHTS), NIGHTS)
    list_checkpoints(times)
    before = counted_utc_time.cache_info()

    again = list_checkpoints(times)

    assert again
    assert counted_utc_time.cache_info().misses == before.misses
    assert counted_utc_time.cache_info().hits == before.hits + 1


@pytest.mark.parametrize(
    ("begins", "ends", "why"),
    [
        (None, None, ""),
        ("22:00", None, "or neither"),
        (None, "08:00", "or neither"),
        ("22:00", "24:00", "times of the day"),
        ("22:00", "18:00", ""),
        ("22:00", "18:01", "Leave at least 4 hours"),
        ("08:31", "04:31", ""),
        ("08:31", "04:32", "Leave at least 4 hours"),
        ("10:00", "10:00", "Leave at least 4 hours"),
    ],
)
def test_quiet_hours_that_are_typed_in_leave_four_hours_of_the_day(
    begins: str | None, ends: str | None, why: str
) -> None:
    wrong = quiet_hours_refusal(begins, ends)

    assert why in wrong
    assert bool(wrong) == bool(why)


@pytest.mark.parametrize(("text", "minutes"), [("00:00", 0), ("00:59", 59), ("23:33", 1_413)])
def test_a_time_of_the_day_is_counted_in_minutes(text: str, minutes: int) -> None:
    assert minutes_since_midnight(text) == minutes
