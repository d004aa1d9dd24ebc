"""How long the tests take, as `run.py test --note-durations` has noted it in `durations.json`.

What is noted decides in which order files are run, and what the short run leaves out. It is no
limit, so it need not be right to the second: note anew what has changed much.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

DURATIONS = Path(__file__).with_name("durations.json")
# What takes less is not noted, so that the notes change little.
LONG_FILE_SECONDS = 2
LONG_TEST_CPU_SECONDS = 0.2


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --note-durations."""
    parser.addoption(
        "--note-durations", action="store_true", help="note how long the tests of this run take"
    )


def pytest_configure(config: pytest.Config) -> None:
    """If that is asked for, measure where tests run, and note it where they are reported."""
    if config.getoption("--note-durations"):
        config.pluginmanager.register(_Meter())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(_Notes())


def noted_seconds() -> dict[str, float]:
    """Return how long each file takes whose tests take long."""
    return dict(json.loads(DURATIONS.read_text())["files"])


def noted_tests() -> frozenset[str]:
    """Return the tests that take much of the processor."""
    return frozenset(json.loads(DURATIONS.read_text())["tests"])


class _Meter:
    """Tells with each report of a test itself how much of the processor its process used for it.

    What it asks for is left out: the first test to ask for it would pay for all.
    """

    def __init__(self) -> None:
        self._begun = 0.0

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Any:
        self._begun = time.process_time()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Any:
        report = yield
        if call.when == "call":
            report.cpu_seconds = time.process_time() - self._begun
        return report


class _Notes:
    """What the reports tell, written at the end. Of what did not run, earlier notes stay."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()
        self._tests: dict[str, bool] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        file = report.nodeid.partition("::")[0]
        self._seconds[file] += report.duration  # type: ignore[assignment]
        if (took := getattr(report, "cpu_seconds", None)) is not None:
            self._tests[report.nodeid] = took >= LONG_TEST_CPU_SECONDS

    def pytest_sessionfinish(self) -> None:
        files = noted_seconds() | {file: round(took) for file, took in self._seconds.items()}
        tests = dict.fromkeys(noted_tests(), True) | self._tests
        noted = {
            "files": {file: files[file] for file in sorted(files) if is_long(file, files[file])},
            "tests": sorted(test for test, takes_long in tests.items() if takes_long),
        }
        DURATIONS.write_text(f"{json.dumps(noted, indent=1, ensure_ascii=False)}\n")


def is_long(file: str, seconds: float) -> bool:
    """Tell whether a file's duration is worth a note: it takes long, and still exists."""
    return seconds >= LONG_FILE_SECONDS and Path(file).exists()
