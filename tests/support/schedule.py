"""Which process runs which tests: whole files, those that take longest first.

A file's tests share scenes, servers and clusters, which would be made again in each process. The
browser's tests share a site, so they are two units. What waits runs beside what computes: half of
the processes take first what starts processes and waits for them, the others the rest.

How long each file takes is noted (`durations.py`). A file without a note is short.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import Any
from zlib import crc32

import pytest
from xdist.scheduler import LoadFileScheduling

from tests.support.durations import noted_seconds
from tests.support.fast import mark_of

SECONDS_OF_A_TEST = 0.1  # in a file without a note
STOPWATCH = "tests/browser/test_three_minutes.py"  # on a site of its own
BROWSER, SITES = "tests/browser/", 2
WAITS = ("tests/deploy/", STOPWATCH)  # beside all that has the mark `faults`
# With fewer files for each process, some would be idle: each test is a unit then.
FEW_FILES = 3


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the units that take longest first, where several processes run them."""
    if not hasattr(config, "workerinput"):
        return
    noted = noted_seconds()
    sizes = Counter(_file_of(item.nodeid) for item in items)
    units: Counter[str] = Counter()
    for file, tests in sizes.items():
        units[_unit_of(file)] += noted.get(file, tests * SECONDS_OF_A_TEST)  # type: ignore[assignment]

    def rank(item: pytest.Item) -> tuple[float, str]:
        file = _file_of(item.nodeid)
        return -units[_unit_of(file)], file

    items.sort(key=rank)


@pytest.hookimpl(wrapper=True)
def pytest_report_to_serializable(
    config: pytest.Config,
) -> Generator[None, dict[str, Any] | None, dict[str, Any] | None]:
    """Say of what passed only that it did: thousands of logs and marks would be sent and read."""
    report = yield
    shows_all = {"P", "A"} & set(config.option.reportchars)
    if report and report["outcome"] == "passed" and not shows_all:
        report |= {"sections": [], "keywords": {}}
    return report


@pytest.hookimpl(optionalhook=True)  # without xdist, nobody asks
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Give out the tests in their order, by file."""
    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return FilesInOrder(config, log)


class FilesInOrder(LoadFileScheduling):
    """Gives each process the next file of its kind, or the next test where there are few files."""

    are_few = False

    def schedule(self) -> None:
        """Look at the number of files before the tests are given out."""
        if self.collection is None:
            collected = next(iter(self.registered_collections.values()))
            files = set(map(_file_of, collected))
            self.are_few = len(files) < FEW_FILES * self.numnodes
        super().schedule()

    def _assign_work_unit(self, node: Any) -> None:
        wants_to_wait = self.nodes.index(node) % 2 == 0
        for unit in self.workqueue:
            if _waits(unit) is wants_to_wait:
                self.workqueue.move_to_end(unit, last=False)
                break
        super()._assign_work_unit(node)

    def _split_scope(self, nodeid: str) -> str:
        return nodeid if self.are_few else _unit_of(_file_of(nodeid))


def _file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


def _unit_of(file: str) -> str:
    shares_a_site = file.startswith(BROWSER) and file != STOPWATCH
    return f"site {crc32(file.encode()) % SITES}" if shares_a_site else file


def _waits(unit: str) -> bool:
    file = _file_of(unit)
    return file.startswith(WAITS) or mark_of(file.removeprefix("tests/")) == "faults"
