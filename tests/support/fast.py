"""The options --fast and --long, and the marks that a test gets from its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.durations import noted_tests
from tests.support.together import together

TESTS = Path(__file__).resolve().parents[1]
# Folders whose tests drive a browser, kill processes, or try very many cases.
MARKS_OF_FOLDERS = {
    "browser": "browser",
    "deploy": "slow",  # other programs examine what is in `deploy/`
    "faults": "faults",
    "races": "faults",
    "tasks/end_to_end": "faults",
    "properties": "slow",
}
MARKS_OF_FILES = {
    "api/test_assistant.py": "faults",
    "api/test_automations.py": "slow",
    "api/test_client.py": "slow",  # generates a client
    "api/test_encoding.py": "slow",
    "api/test_command_line.py": "faults",
    "api/test_sdk_retries.py": "faults",
    "api/test_sdks.py": "faults",
    "audit/test_no_snapshot_is_held.py": "slow",
    "config/test_deployment.py": "faults",
    "config/test_error_reports.py": "faults",
    "config/test_static_files.py": "faults",
    "house/test_coverage_floor.py": "faults",
    "house/test_run.py": "faults",
    "house/test_run_installs.py": "faults",
    "management/test_demo.py": "slow",
    "management/test_keep_up.py": "faults",
    "management/test_supervisor.py": "faults",
    "notifications/test_email_floods.py": "slow",
    "pages/test_weight.py": "slow",
    "server/test_head_time.py": "slow",
    "server/test_slow_readers.py": "slow",
    "server/test_worker_class.py": "faults",
    "webhooks/test_fairness.py": "slow",
    "webhooks/test_memory.py": "faults",
    "work/test_demo_types.py": "faults",
}
# What a test asks for that starts processes of the product.
FIXTURES_OF_PROCESSES = {"environment", "run_forked", "serve_module", "worker"}
LONGEST_SECONDS = 6 * 3_600
LEFT_OUT = ("browser", "faults", "slow")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --fast and --long."""
    parser.addoption(
        "--fast", action="store_true", help="leave out the tests marked browser, faults or slow"
    )
    parser.addoption(
        "--long", action="store_true", help="run the long form of each test that has one"
    )
    parser.addoption(
        "--long-minutes", type=int, default=60, metavar="N", help="with --long: not an hour"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With --fast, do not even import folders and files that are left out entirely."""
    return True if config.getoption("--fast") and _mark_of(collection_path) else None


@pytest.fixture
def long_seconds(request: pytest.FixtureRequest) -> int:
    """Return how long the long form of a test is to take; 0 for its short form."""
    options = request.config.option
    return 60 * options.long_minutes if options.long else 0


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests by folder, fixture and import; with --fast, deselect those that take long."""
    for item in items:
        if mark := _mark_of(item.path):
            item.add_marker(mark)
        elif FIXTURES_OF_PROCESSES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker("faults")
        if getattr(getattr(item, "module", None), "together", None) is together:
            item.add_marker("race")
        if config.getoption("--long") and item.get_closest_marker("long_with_option"):
            item.add_marker(pytest.mark.timeout(LONGEST_SECONDS))
    if not config.getoption("--fast"):
        return
    long = noted_tests()
    short = [item for item in items if not (_is_left_out(item) or item.nodeid in long)]
    chosen = _ends_of_tables(short)
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def _ends_of_tables(items: list[pytest.Item]) -> set[pytest.Item]:
    """Return the tests, and of one with a table of cases only the first and the last case."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return {each for table in cases.values() for each in (table[0], table[-1])}


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what --fast leaves out."""
    if config.getoption("--fast"):
        terminalreporter.write_line(
            f"--fast left out the tests marked: {', '.join(LEFT_OUT)}"
            " and those that are noted to take long,"
            " took one random history of each kind,"
            " and of each table of cases the first and the last"
        )


def _is_left_out(item: pytest.Item) -> bool:
    """Of the seeds of a random history, the first one stays."""
    if any(map(item.get_closest_marker, LEFT_OUT)):
        return True
    case = getattr(item, "callspec", None)
    return case is not None and case.indices.get("seed", 0) > 0


def _mark_of(path: Path) -> str | None:
    return mark_of(path.relative_to(TESTS).as_posix()) if path.is_relative_to(TESTS) else None


def mark_of(name: str) -> str | None:
    """Return the mark of a file or folder below `tests`, if it has one."""
    folders = (
        mark for place, mark in MARKS_OF_FOLDERS.items() if f"{name}/".startswith(f"{place}/")
    )
    return MARKS_OF_FILES.get(name) or next(folders, None)
