"""Forecasts of lines with a known truth."""

from __future__ import annotations

import ast
from uuid import UUID

import pytest

from pipeline.figures.forecast import (
    FEWEST_OFFERS,
    Forecast,
    WaitEvent,
    estimate_waits,
    interpolate_wait,
)
from tests.house.files import name_of, python_files, tree_of
from tests.support.environment import ROOT

DAY = 86_400


def regular_line(days: int, *, length: int = 10) -> list[WaitEvent]:
    """A line in which one seat opens each day, and one person joins: position n waits n days."""
    people = [UUID(int=number) for number in range(days + length)]
    joined = [WaitEvent(0, person, (n, n), False) for n, person in enumerate(people[:length])]
    events = joined
    for day in range(1, days + 1):
        newcomer = day + length - 1
        events.append(WaitEvent(day * DAY, people[day - 1], None, True))
        events.append(WaitEvent(day * DAY, people[newcomer], (newcomer, newcomer), False))
    return events


def test_a_regular_line_is_forecast_to_the_day() -> None:
    known = estimate_waits(regular_line(100), start=0, now=100 * DAY)

    for position in (1, 4, 10):
        forecast = known[position]
        assert (position - 1) * DAY <= forecast.half <= forecast.most <= position * DAY
    assert 11 not in known


@pytest.mark.parametrize(("days", "is_known"), [(FEWEST_OFFERS - 2, False), (40, True)])
def test_a_short_history_is_not_enough(days: int, is_known: bool) -> None:
    known = estimate_waits(regular_line(days), start=0, now=days * DAY)

    assert (1 in known) is is_known


def test_people_who_left_are_seen_only_while_they_waited() -> None:
    events = regular_line(100)
    before = estimate_waits(events, start=0, now=100 * DAY)[5]
    leavers = {person for number in range(3, 100, 4) for person in [UUID(int=number)]}
    left = [
        event._replace(is_offer=False) if event.application_id in leavers else event
        for event in events
    ]

    after = estimate_waits(left, start=0, now=100 * DAY)[5]

    assert after.most >= before.most


def test_a_place_between_two_known_ones_is_interpolated() -> None:
    known = {20: Forecast(100, 200, 30), 25: Forecast(200, 400, 25)}

    assert interpolate_wait(known, 22) == Forecast(140, 280, 25)
    assert interpolate_wait(known, 20) == known[20]
    assert interpolate_wait(known, 26) is None
    assert interpolate_wait(known, 10_000) is None


@pytest.mark.slow
def test_on_simulated_lines_forecasts_come_true_as_often_as_they_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    from forecast import calibration  # type: ignore[import-not-found]

    found = calibration(lines=250, seed=1)

    assert found["made"] > 200
    assert abs(found["within_half"] - 50) <= 5
    assert abs(found["within_most"] - 80) <= 5


ORDER = ("pipeline/line/", "pipeline/services/", "pipeline/selectors/", "pipeline/audit/")


@pytest.mark.parametrize("room", ["forecast", "whatif"])
def test_nothing_of_the_order_knows_a_forecast_or_a_what_if(room: str) -> None:
    files = [path for path in python_files("pipeline") if name_of(path).startswith(ORDER)]

    named = [
        name_of(path)
        for path in files
        for node in ast.walk(tree_of(path))
        if (isinstance(node, ast.ImportFrom) and room in (node.module or ""))
        or (isinstance(node, ast.Import) and any(room in each.name for each in node.names))
        or (isinstance(node, ast.Constant) and room in str(node.value))
    ]

    assert len(files) > 40
    assert named == []


def test_people_who_deferred_are_seen_only_until_then() -> None:
    events = regular_line(100)
    before = estimate_waits(events, start=0, now=100 * DAY)[5]
    late = [
        WaitEvent(event.at - DAY / 2, event.application_id, (0, 0), False, is_deferral=True)
        for event in events
        if event.is_offer
    ]

    after = estimate_waits(sorted([*events, *late]), start=0, now=100 * DAY)

    assert 5 not in after or after[5].offers < before.offers
