"""Tests that take turns: of a file's tests with the mark `in_turns(n)`, a run takes one in n.

Each day it is another one. A run that names files or tests takes all, and so does one with --long;
what needs no browser has the mark `long_with_option` too, so that the weekly run takes it.
docs/testing.md says for each what looks at the same in each run.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import Any
from zlib import crc32

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --turn."""
    parser.addoption(
        "--turn", type=int, metavar="N", help="let the tests of day N take their turn, not today's"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose whose turn it is, once for all processes: a day may end meanwhile."""
    option = config.option
    if hasattr(config, "workerinput"):
        option.turn = config.workerinput["turn"]
    elif config.args_source is pytest.Config.ArgsSource.TESTPATHS and not option.long:
        option.turn = datetime.now(UTC).toordinal() if option.turn is None else option.turn


@pytest.hookimpl(optionalhook=True)  # without xdist, there is no other process
def pytest_configure_node(node: Any) -> None:
    """Tell another process whose turn it is."""
    node.workerinput["turn"] = node.config.option.turn


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests whose turn it is not."""
    turn, number, left_out = config.option.turn, Counter[str](), set()
    for item in items:
        mark = item.get_closest_marker("in_turns")
        if mark is None:
            continue
        if item.get_closest_marker("browser") is None:
            item.add_marker("long_with_option")
        file = item.location[0]
        number[file] += 1
        if turn is not None and not has_turn(file, number[file], mark.args[0], turn):
            left_out.add(item)
    if left_out:
        config.hook.pytest_deselected(items=[*left_out])
        items[:] = [item for item in items if item not in left_out]


def has_turn(file: str, number: int, of: int, turn: int) -> bool:
    """Tell whether a run takes the test of a file with this number, where one in `of` has its turn.

    The files begin on different days, so that each day takes about as long.
    """
    return (crc32(file.encode()) + number + turn) % of == 0
