"""Sentences about how long a person will probably wait. Pure."""

from __future__ import annotations

from math import ceil
from typing import Protocol

from pipeline.wording.english import plural

NOT_KNOWN = "How long you will wait is not known yet."
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60))


class _Forecast(Protocol):
    @property
    def half(self) -> int: ...

    @property
    def most(self) -> int: ...


class DescribedProspect(Protocol):
    """The fields of a prospect that its sentences use."""

    @property
    def forecast(self) -> _Forecast: ...

    @property
    def counted(self) -> int: ...

    @property
    def share(self) -> int | None: ...


def describe_prospect(prospect: DescribedProspect) -> str:
    """Say how long people in a place wait, and how often that came true."""
    wait = describe_forecast_wait(prospect.forecast.half, prospect.forecast.most)
    return f"{wait} {describe_accuracy_of_forecasts(prospect.counted, prospect.share)}".strip()


def describe_forecast_wait(half_seconds: int, most_seconds: int) -> str:
    """Say when half and four fifths of the people who stay in line are offered a seat."""
    half, most = _forecast_wait_in_words(half_seconds), _forecast_wait_in_words(most_seconds)
    if half == most:
        return f"Most people in your place who stay in line are offered a seat within {most}."
    return (
        "Of the people in your place who stay in line, half are offered a seat within"
        f" {half} and four in five within {most}."
    )


def describe_accuracy_of_forecasts(counted: int, share: int | None) -> str:
    """Say how many of the last forecasts of a job came true; nothing while there are too few."""
    if share is None:
        return ""
    return (
        f"{share}% of the last {counted:,} forecasts here were right: a seat was offered"
        " within the longer of the two times."
    )


def _forecast_wait_in_words(seconds: int) -> str:
    """Return a duration, rounded up, in the largest unit of which it has at least two."""
    for unit, size in _UNITS:
        if seconds >= 2 * size or unit == "minute":
            number = max(1, ceil(seconds / size))
            return f"{number:,} {plural(number, unit)}"
    raise AssertionError("a minute is the last unit")
