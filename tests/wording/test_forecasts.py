"""Sentences about how long a person will probably wait."""

from __future__ import annotations

import pytest

from pipeline.wording.status import describe_forecast_accuracy, describe_forecast_wait

HOUR, DAY = 3_600, 86_400


@pytest.mark.parametrize(
    ("half", "most", "expected"),
    [
        (3 * DAY, 8 * DAY, "within 3 days and four in five within 8 days."),
        (20 * HOUR, 3 * DAY, "within 20 hours and four in five within 3 days."),
        (10, 30, "within 1 minute."),
        (59, 61, "within 1 minute and four in five within 2 minutes."),
        (2.2 * DAY, 2.5 * DAY, "within 3 days."),
    ],
)
def test_a_wait_is_said_in_the_largest_units_and_rounded_up(
    half: int, most: int, expected: str
) -> None:
    assert f"are offered a seat {expected}" in describe_forecast_wait(half, most)


def test_honesty_is_said_only_when_it_is_known() -> None:
    assert describe_forecast_accuracy(5, None) == ""
    assert "79% of the last 120 forecasts here were right" in describe_forecast_accuracy(120, 79)
