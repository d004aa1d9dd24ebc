"""The option --fast, and the marks that a test gets from its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
# Folders whose tests drive a browser, kill processes, or try very many cases.
MARKS_OF_FOLDERS = {
    "browser": "browser",
    "faults": "faults",
    "races": "faults",
    "tasks/end_to_end": "faults",
    "properties": "slow",
}
MARKS_OF_FILES = {
    "house/test_run.py": "faults",
    "house/test_run_installs.py": "faults",
}
LEFT_OUT = ("browser", "faults", "slow")
_COUNTS = pytest.StashKey[dict[str, int]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --fast."""
    parser.addoption(
        "--fast", action="store_true", help="leave out the tests marked browser, faults or slow"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests by their folders; with --fast, deselect those that take long."""
    for item in items:
        if mark := _mark_of(item.path):
            item.add_marker(mark)
    if not config.getoption("--fast"):
        return
    counts = dict.fromkeys(LEFT_OUT, 0)
    kept: list[pytest.Item] = []
    left_out: list[pytest.Item] = []
    for item in items:
        mark = next((name for name in LEFT_OUT if item.get_closest_marker(name)), None)
        if mark:
            counts[mark] += 1
        (left_out if mark else kept).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)
    config.stash[_COUNTS] = counts


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what --fast leaves out; with xdist only the workers can count it."""
    if config.getoption("--fast"):
        counts = config.stash.get(_COUNTS, None)
        numbers = ", ".join(f"{count} {name}" for name, count in (counts or {}).items())
        left_out = numbers or ", ".join(LEFT_OUT)
        terminalreporter.write_line(f"--fast left out the tests marked: {left_out}")


def _mark_of(path: Path) -> str | None:
    if not path.is_relative_to(TESTS):
        return None
    name = path.relative_to(TESTS).as_posix()
    folders = (mark for place, mark in MARKS_OF_FOLDERS.items() if name.startswith(f"{place}/"))
    return MARKS_OF_FILES.get(name) or next(folders, None)
