"""Tests that take turns: each comes within its days, a named file runs whole, the page tells it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.house.files import python_files
from tests.support.environment import ROOT
from tests.support.turns import has_turn, pytest_collection_modifyitems

FILE = "tests/x/test_x.py"


class Item:
    """A test of a file, as pytest collects it."""

    def __init__(self, **marks: Any) -> None:
        self.location = (FILE, 1, "test")
        self.marks = marks

    def get_closest_marker(self, name: str) -> Any:
        return self.marks.get(name)

    def add_marker(self, name: str) -> None:
        self.marks[name] = True


def collected(turn: int | None, items: list[Item]) -> list[Item]:
    """Return those of the tests that a run of a day takes."""
    gone: list[Item] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: gone.extend(items))  # noqa: PLW0108 -- by its name
    config: Any = SimpleNamespace(option=SimpleNamespace(turn=turn), hook=hook)
    left: Any = [*items]
    pytest_collection_modifyitems(config, left)
    assert len(left) + len(gone) == len(items)
    return list(left)


def some_items() -> list[Item]:
    mark = SimpleNamespace(args=(3,))
    return [Item(), *(Item(in_turns=mark) for _ in range(5)), Item(in_turns=mark, browser=True)]


@pytest.mark.parametrize("of", [2, 3, 4])
def test_each_test_has_its_turn_once_in_its_days(of: int) -> None:
    for number in range(1, 9):
        for first in range(740_000, 740_009):
            days = range(first, first + of)
            assert sum(has_turn(FILE, number, of, day) for day in days) == 1


def test_a_whole_run_takes_one_in_three_and_another_run_all() -> None:
    items = some_items()
    days = [collected(turn, items) for turn in range(3)]

    assert [len(day) for day in days] == [3, 3, 3]
    assert {each for day in days for each in day} == {*items}
    assert collected(None, items) == items


def test_the_weekly_run_takes_those_without_a_browser() -> None:
    items = some_items()
    collected(0, items)

    assert ["long_with_option" in each.marks for each in items] == [False, *[True] * 5, False]


def test_the_page_about_tests_names_each_file_with_tests_that_take_turns() -> None:
    page = (ROOT / "docs/testing.md").read_text()
    marked = [each for each in python_files("tests") if "mark.in_turns(" in each.read_text()]
    names = {each.name for each in marked if each != Path(__file__)}

    assert len(names) > 10
    assert {name for name in names if name not in page} == set()
