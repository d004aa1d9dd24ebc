"""How the tests are shared out between processes and runs, and what the short run takes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.support.environment import ROOT
from tests.support.fast import _ends_of_tables
from tests.support.schedule import BROWSER, STOPWATCH, FilesInOrder

NAME = """
import sys
from pathlib import Path
import django
django.setup()
from tests.support.template_database import own_name
print(own_name(Path(sys.argv[1])), flush=True)
sys.stdin.read()
"""


class Process:
    """A process, as the scheduler sees it."""

    shutting_down = False
    gateway = SimpleNamespace(id="a process")

    def shutdown(self) -> None: ...

    def send_runtest_some(self, tests: list[int]) -> None: ...


def scheduler(tests: list[str]) -> FilesInOrder:
    """Return the scheduler of two processes that have collected these tests."""
    option = SimpleNamespace(loadscopereorder=False)
    config: Any = SimpleNamespace(option=option, getvalue=lambda _name: ["2*popen"])
    made = FilesInOrder(config)
    for process in (Process(), Process()):
        made.add_node(process)
        made.add_node_collection(process, tests)
    made.schedule()
    return made


def units(made: FilesInOrder) -> list[str]:
    """Return the names of all units, those that were given out first."""
    return [*(unit for work in made.assigned_work.values() for unit in work), *made.workqueue]


def test_a_process_takes_whole_files_in_their_order() -> None:
    tests = [f"tests/x/test_{n}.py::test_{t}" for n in range(9) for t in range(5)]

    assert sorted(units(scheduler(tests))) == [f"tests/x/test_{n}.py" for n in range(9)]
    assert units(scheduler(tests))[2:] == [f"tests/x/test_{n}.py" for n in range(2, 9)]


def test_few_files_are_given_out_test_by_test() -> None:
    tests = [f"tests/x/test_{n}.py::test_{t}" for n in range(2) for t in range(5)]

    assert sorted(units(scheduler(tests))) == tests


def test_the_browsers_tests_are_two_units_beside_the_one_with_its_own_site() -> None:
    tests = [f"{STOPWATCH}::test_x"] + [f"{BROWSER}test_{n}.py::test_x" for n in range(20)]

    assert sorted(units(scheduler(tests))) == ["site 0", "site 1", STOPWATCH]


def test_one_process_begins_with_what_waits_and_the_other_with_what_computes() -> None:
    computing = [f"tests/x/test_{n}.py" for n in range(5)]
    waiting = [f"tests/races/test_{n}.py" for n in range(3)]

    first, second = scheduler(
        [f"{file}::test_x" for file in computing + waiting]
    ).assigned_work.values()

    assert list(first) == waiting[:2]
    assert list(second) == computing[:2]


def test_of_a_table_the_short_run_takes_both_ends() -> None:
    names = ["a", "b[1]", "b[2]", "b[3]", "c[x]"]
    tests: list[Any] = [_Test(name) for name in names]

    assert sorted(each.nodeid for each in _ends_of_tables(tests)) == ["a", "b[1]", "b[3]", "c[x]"]


class _Test:
    def __init__(self, nodeid: str) -> None:
        self.nodeid = nodeid


def test_two_processes_have_databases_of_their_own_and_one_that_ends_leaves_its_name(
    tmp_path: Path,
) -> None:
    first = start(tmp_path)
    assert name_of(first) == "test_0"
    second = start(tmp_path)
    assert name_of(second) == "test_1"

    first.communicate()
    third = start(tmp_path)

    assert name_of(third) == "test_0"
    for each in (second, third):
        each.communicate()


def start(folder: Path) -> subprocess.Popen[str]:
    """Start a process that takes a name, and holds it until its input ends."""
    return subprocess.Popen(
        [sys.executable, "-c", NAME, str(folder)],
        cwd=ROOT,
        env={"DJANGO_SETTINGS_MODULE": "pipeline.settings", "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def name_of(process: subprocess.Popen[str]) -> str:
    """Return the name that a process has taken."""
    assert process.stdout
    return process.stdout.readline().strip()
