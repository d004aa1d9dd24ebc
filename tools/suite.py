"""Run the tests for `run.py test`; the few that fail get a second run, one at a time.

On a busy machine a test can fail that is right. A true failure fails twice. Tests that pass only
the second time are named at the end as unsteady: it is a defect to be mended.
"""

from __future__ import annotations

import os
import sys

import pytest

MOST_UNSTEADY = 12
AGAIN = "--again"
# What these find may not come twice: they try cases at random, or race (see tests/conftest.py).
FOUND_ONCE = ("tests/properties/", "tests/races/")
FOUND_ONCE_MARKS = ("hypothesis", "race")


class Outcomes:
    """Plugin that notes the tests that passed and failed, and whether nothing else went wrong."""

    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.failed: dict[str, None] = {}  # in the order in which they failed
        self.may_run_again = False
        self._reports = 0
        self._found_once = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how one part of a test ended."""
        if report.failed:
            self._reports += 1
            self.failed[report.nodeid] = None
            self._found_once |= report.nodeid.startswith(FOUND_ONCE) or any(
                mark in report.keywords for mark in FOUND_ONCE_MARKS
            )
        elif report.passed and report.when == "call":
            self.passed.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Decide about a second run: every test had its turn, and nothing but few tests failed.

        Missed coverage, for example, counts as a failure of the session, too.
        """
        option = session.config.option
        is_whole = not (session.shouldfail or session.shouldstop)
        self.may_run_again = (
            0 < len(self.failed) <= MOST_UNSTEADY
            and session.testsfailed == self._reports
            and is_whole
            and not self._found_once
            and not (getattr(option, "long", False) or option.usepdb)
        )


def run(arguments: list[str]) -> int:
    """Run pytest; if few tests failed, become the second run. Return the exit code."""
    outcomes = Outcomes()
    code = pytest.main(arguments, plugins=[outcomes])
    if code is not pytest.ExitCode.TESTS_FAILED or not outcomes.may_run_again:
        return int(code)
    say(f"\nAgain, one at a time, without other options: {len(outcomes.failed)}\n")
    command = [sys.executable, "-m", "tools.suite", AGAIN, *outcomes.failed]
    return os.execv(sys.executable, command)  # noqa: S606 -- Ctrl-C reaches pytest alone, as before


def run_again(names: list[str]) -> int:
    """Run just these tests, and name those that pass now. Return the exit code."""
    outcomes = Outcomes()
    code = pytest.main(["-p", "no:xdist", *names], plugins=[outcomes])
    unsteady = [name for name in names if name in outcomes.passed - set(outcomes.failed)]
    for name in unsteady:
        say(f"unsteady: {name}")
    if unsteady:
        say("Each of these passed only the second time. Mend it.")
    return int(code) or int(len(unsteady) < len(names))


def say(line: str) -> None:
    """Print a line at once."""
    print(line, flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    sys.exit(run_again(given[1:]) if given[:1] == [AGAIN] else run(given))
