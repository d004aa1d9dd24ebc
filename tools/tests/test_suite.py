"""The second run of `run.py test`: for a few failures, once, and loud."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import ROOT
from tools.suite import MOST_UNSTEADY

# Each test fails as often as its number says. How often it ran is written down.
TESTS = """
import pathlib, pytest

@pytest.mark.parametrize("number,fails", {cases}, ids=str)
def test_it(number, fails):
    with pathlib.Path(f"{{number}}.runs").open("a") as file:
        file.write("x")
    assert len(pathlib.Path(f"{{number}}.runs").read_text()) > fails
"""
AT_ONCE = ("-p", "xdist", "-n", "2")


def run(folder: Path, *fails: int, options: tuple[str, ...] = ()) -> tuple[int, str]:
    """Run a suite of such tests; return the exit code and the output."""
    cases = list(enumerate(fails))
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = hypothesis: tries cases at random\n")
    file = folder / "test_it.py"
    if not file.exists():
        file.write_text(TESTS.format(cases=cases))
    ended = subprocess.run(
        [sys.executable, "-m", "tools.suite", "-p", "no:cacheprovider", *options],
        cwd=folder,
        env=os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return ended.returncode, ended.stdout


def runs_of(folder: Path, number: int) -> int:
    return len((folder / f"{number}.runs").read_text())


@pytest.mark.parametrize("options", [(), AT_ONCE], ids=["one at a time", "many at once"])
def test_a_test_that_passes_the_second_time_is_named_and_the_run_passes(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    code, said = run(tmp_path, 0, 1, 0, 1, options=options)

    assert code == 0, said
    assert said.count("unsteady: ") == 2
    assert "unsteady: test_it.py::test_it[1-1]\n" in said
    assert [runs_of(tmp_path, number) for number in range(4)] == [1, 2, 1, 2]
    last = said.split("Again, one at a time")[1]
    assert "2 passed" in last
    assert "failed" not in last


def test_a_true_failure_fails_twice_and_so_does_the_run(tmp_path: Path) -> None:
    code, said = run(tmp_path, 0, 1, 9)

    assert code == 1
    assert "unsteady: test_it.py::test_it[1-1]\n" in said
    assert "unsteady: test_it.py::test_it[2-9]" not in said
    assert runs_of(tmp_path, 2) == 2


@pytest.mark.parametrize(
    ("options", "fails"),
    [
        pytest.param((), [1] * (MOST_UNSTEADY + 1), id="too many"),
        pytest.param(("-x",), [1, 0], id="stopped at the first"),
        pytest.param((*AT_ONCE, "-x"), [1, 0], id="stopped at the first of many at once"),
        pytest.param(("--pdb",), [1], id="in a debugger"),
    ],
)
def test_there_is_no_second_run(tmp_path: Path, options: tuple[str, ...], fails: list[int]) -> None:
    code, said = run(tmp_path, *fails, options=options)

    assert code != 0
    assert "Again, one at a time" not in said
    assert runs_of(tmp_path, 0) == 1


def test_nor_is_there_one_for_what_was_found_at_random(tmp_path: Path) -> None:
    test = TESTS.format(cases=[(0, 1)])
    (tmp_path / "test_it.py").write_text(f"{test}\ntest_it = pytest.mark.hypothesis(test_it)\n")

    code, said = run(tmp_path)

    assert code == 1
    assert "Again, one at a time" not in said


def test_nor_when_something_else_went_wrong_as_well(tmp_path: Path) -> None:
    """Too little coverage counts as a failure of the session, and no second run can mend it."""
    (tmp_path / "conftest.py").write_text(
        "import pytest\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtestloop(session):\n"
        "    result = yield\n    session.testsfailed += 1\n    return result\n"
    )

    code, said = run(tmp_path, 1)

    assert code == 1
    assert "Again, one at a time" not in said
    assert runs_of(tmp_path, 0) == 1


@pytest.mark.parametrize(("fails", "expected"), [((), 5), ((0,), 0)], ids=["no test", "all pass"])
def test_otherwise_the_exit_code_is_that_of_pytest(
    tmp_path: Path, fails: tuple[int, ...], expected: int
) -> None:
    if not fails:
        (tmp_path / "test_it.py").write_text("")

    assert run(tmp_path, *fails)[0] == expected
