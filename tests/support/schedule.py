"""Which process runs which tests: whole files, those that take longest first.

A file's tests share scenes, servers and clusters, which would be made again in each process. The
browser's tests share a site, so they are two units. What waits runs beside what computes.
"""

from __future__ import annotations

from collections import Counter
from typing import Any
from zlib import crc32

import pytest
from xdist.scheduler import LoadFileScheduling

# These take most of the time; all others follow by their number of tests.
LONGEST = (
    STOPWATCH := "tests/browser/test_three_minutes.py",  # on a site of its own
    "tests/browser/",
    "tests/faults/line/test_matrix.py",
    "tests/faults/whole_site/",
    "tests/faults/database/test_backup.py",
    "tests/strangers/test_every_address.py",
    "tests/faults/",
    "tests/strangers/",
    "tests/deploy/",
    "tests/properties/",
    "tests/house/",
    "tests/management/",
    "tests/tasks/end_to_end/",
    "tests/races/",
    "tests/server/",
)
BROWSER, SITES = "tests/browser/", 2
# With fewer files for each process, some would be idle: each test is a unit then.
FEW_FILES = 3


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files that take longest first, where several processes run them."""
    if not hasattr(config, "workerinput"):
        return
    sizes = Counter(_file_of(item.nodeid) for item in items)

    def rank(item: pytest.Item) -> tuple[int, int, str]:
        file = _file_of(item.nodeid)
        places = (n for n, each in enumerate(LONGEST) if file.startswith(each))
        return next(places, len(LONGEST)), -sizes[file], file

    items.sort(key=rank)


@pytest.hookimpl(optionalhook=True)  # without xdist, nobody asks
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling | None:
    """Give out the tests in their order, by file."""
    if config.getoption("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return FilesInOrder(config, log)


class FilesInOrder(LoadFileScheduling):
    """Gives each process the next file, or the next test where there are few files."""

    are_few = False

    def schedule(self) -> None:
        """Look at the number of files before the tests are given out."""
        if self.collection is None:
            collected = next(iter(self.registered_collections.values()))
            files = set(map(_file_of, collected))
            self.are_few = len(files) < FEW_FILES * self.numnodes
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        if self.are_few:
            return nodeid
        file = _file_of(nodeid)
        shares_a_site = file.startswith(BROWSER) and file != STOPWATCH
        return f"site {crc32(file.encode()) % SITES}" if shares_a_site else file


def _file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]
