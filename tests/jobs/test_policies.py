"""A job's policy as a value: what is allowed, and what follows from it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from jobs.models import Job
from jobs.policies import POLICY_FIELDS, Policy, policy_limits

DAY = 86_400
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
RANGES = {
    "acknowledgment_window_seconds": (60, 30 * DAY),
    "penalty_places": (0, 1_000),
    "max_decays": (0, 100),
    "cooldown_seconds": (1, 30 * DAY),
}


def test_the_usual_policy_is_a_day_one_place_three_misses_and_an_hour() -> None:
    assert Policy().values() == {
        "acknowledgment_window_seconds": DAY,
        "acknowledge_first_seat": False,
        "penalty_places": 1,
        "max_decays": 3,
        "cooldown_seconds": 3_600,
        "max_passes": 1,
        "quiet_from": None,
        "quiet_to": None,
        "quiet_weekends": False,
        "quiet_time_zone": "UTC",
    }


@pytest.mark.parametrize(("name", "limits"), RANGES.items())
def test_both_ends_of_a_range_are_allowed_and_nothing_beyond(
    name: str, limits: tuple[int, int]
) -> None:
    low, high = limits
    assert policy_limits(name) == limits
    for value in limits:
        assert Policy(**{name: value}).values()[name] == value

    for value in (low - 1, high + 1, -(10**12), 10**12):
        with pytest.raises(ValueError, match=f"{name} must be from {low} to {high}, not {value}"):
            Policy(**{name: value})


@pytest.mark.parametrize("name", [name for name in RANGES if name != "max_decays"])
def test_only_the_misses_can_be_without_a_limit(name: str) -> None:
    assert Policy(max_decays=None).max_decays is None
    with pytest.raises(ValueError, match=name):
        Policy(**{name: None})


def test_a_deadline_is_one_window_after_the_offer() -> None:
    assert Policy().deadline(NOON) == NOON + timedelta(days=1)
    assert Policy(acknowledgment_window_seconds=60).deadline(NOON) == NOON + timedelta(minutes=1)


def test_a_cooldown_runs_from_the_miss() -> None:
    assert Policy(cooldown_seconds=1).cooldown_until(NOON) == NOON + timedelta(seconds=1)


@pytest.mark.parametrize(
    ("places", "misses", "lost"),
    [(1, 1, 1), (1, 2, 2), (1, 3, 3), (5, 1, 5), (5, 2, 10), (0, 7, 0), (1_000, 100, 100_000)],
)
def test_the_nth_miss_costs_n_times_the_penalty(places: int, misses: int, lost: int) -> None:
    assert Policy(penalty_places=places).places_lost(misses) == lost


@pytest.mark.parametrize(
    ("most", "misses", "keeps", "left"),
    [
        (3, 1, True, 2),
        (3, 3, True, 0),
        (3, 4, False, 0),
        (0, 0, True, 0),
        (0, 1, False, 0),
        (None, 1_000_000, True, None),
    ],
)
def test_so_many_misses_keep_a_place(
    most: int | None, misses: int, keeps: bool, left: int | None
) -> None:
    policy = Policy(max_decays=most)

    assert (policy.keeps_place(misses), policy.misses_left(misses)) == (keeps, left)


def test_a_policy_cannot_be_changed_in_place() -> None:
    policy: Any = Policy()

    with pytest.raises(AttributeError):
        policy.penalty_places = 2


def test_a_job_keeps_every_field_of_its_policy() -> None:
    columns = {field.name for field in Job._meta.concrete_fields}

    assert set(POLICY_FIELDS) <= columns
    assert set(Policy().values()) == set(POLICY_FIELDS)
