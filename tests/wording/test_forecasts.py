"""Sentences about how long a person will probably wait."""

from __future__ import annotations

import pytest

from pipeline.figures.forecast import Forecast, Prospect
from pipeline.wording.waiting import (
    describe_forecast_accuracy,
    describe_least_wait,
    describe_prospect,
)

HOUR, DAY = 3_600, 86_400


@pytest.mark.parametrize(
    ("half", "most", "expected"),
    [
        (3 * DAY, 8 * DAY, "in 3 to 8 days."),
        (20 * HOUR, 3 * DAY, "in 20 hours to 3 days."),
        (10, 30, "in about 1 minute."),
        (59, 61, "in 1 to 2 minutes."),
        (2.2 * DAY, 2.5 * DAY, "in about 3 days."),
    ],
)
def test_a_wait_is_said_in_the_largest_units_and_rounded_up(
    half: int, most: int, expected: str
) -> None:
    said = describe_prospect(Prospect(Forecast(half, most, 20), 0, None))

    assert said == f"You should get a seat {expected}"


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(94 * HOUR, "3 days"), (30 * HOUR, "30 hours"), (10, "1 minute")],
)
def test_a_least_wait_is_rounded_down(seconds: int, expected: str) -> None:
    assert (
        describe_least_wait(seconds) == f"You will probably wait more than {expected} for a seat."
    )


def test_honesty_is_said_only_when_it_is_known() -> None:
    assert describe_forecast_accuracy(5, None) == ""
    assert "79% of the last 120 forecasts here were right" in describe_forecast_accuracy(120, 79)
