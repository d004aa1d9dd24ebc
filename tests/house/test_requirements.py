"""`docs/background-work-reference.md`: its tables have no empty cell, and all they name exists."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

import pytest

from tests.house.files import functions_in
from tests.support.environment import ROOT

GUIDE = ROOT / "docs" / "background-work.md"
PAGE = ROOT / "docs" / "background-work-reference.md"
TEXT = PAGE.read_text()
FEWEST = {"A job server": 40, "A delayed queue": 15, "A background job queue": 90}
SAYS_NOTHING = {"none", "yes", "todo", "tbd"}

WORD = re.compile(r"[a-z]{3}", re.I)
CODE = re.compile(r"`([^`]+)`")
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
NAME_IN_FILE = re.compile(r"`([\w.]+)`(?:, `[\w.]+`)* in `([^`]+\.py)`")
FILE = re.compile(r"[\w.-]+(/[\w.-]+)+/?|[\w-]+\.(py|md|yml|toml)")
CALL = re.compile(r"(GET|POST|PATCH|DELETE) (/\S+)")
COMMAND = re.compile(r"(?:manage\.py )?(run_tasks|(?<=manage\.py )\w+)")


def rows_of(text: str) -> list[list[str]]:
    """The cells of each row of every table in a text, without the heads."""
    lines = [line.strip() for line in text.splitlines()]
    found = [line[1:-1].split("|") for line in lines if line.startswith("|") and line[-1] == "|"]
    cells = [[cell.strip() for cell in row] for row in found]
    return [row for row in cells if row[0] != "asked for" and set(row[0]) - set("-:")]


def document(name: str) -> str:
    """The part of the page that is about one kind of system."""
    return TEXT.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


def faults_in(row: list[str]) -> Iterator[str]:
    """Find the faults of a row: empty cells, no proof, names of things that do not exist."""
    if len(row) != 3 or not all(_says_something(cell) for cell in row):
        yield f"a cell is empty: {row}"
        return
    if not any("::" in name or name.startswith("bench/") for name in CODE.findall(row[2])):
        yield f"no test and no measurement: {row[2]}"
    for cell in row:
        yield from (f"no such name: {name}" for name in CODE.findall(cell) if not _is_there(name))
        yield from (f"no such page: {to}" for to in LINK.findall(cell) if not _is_page(to))
        for name, file in NAME_IN_FILE.findall(cell):
            if (ROOT / file).is_file() and name.split(".")[-1] not in (ROOT / file).read_text():
                yield f"{name} is not in {file}"


def _says_something(cell: str) -> bool:
    return bool(WORD.search(cell)) and cell.lower() not in SAYS_NOTHING


def _is_there(name: str) -> bool:
    file, _, test = name.partition("::")
    if test:
        return test in _tests_in(file)
    if call := CALL.fullmatch(name):
        return call[2] in _addresses()
    if command := COMMAND.match(name):
        return command[1] in _commands()
    return (ROOT / name).exists() if FILE.fullmatch(name) else True


def _is_page(link: str) -> bool:
    return (PAGE.parent / link).exists()


@functools.cache
def _tests_in(file: str) -> frozenset[str]:
    path = ROOT / file
    return frozenset(node.name for node in functions_in(path)) if path.is_file() else frozenset()


@functools.cache
def _addresses() -> frozenset[str]:
    api = re.findall(r"^  (/\S*):$", (ROOT / "docs" / "openapi.yaml").read_text(), re.M)
    plain = re.findall(r'path\(\s*"([\w/-]+)"', (ROOT / "pipeline" / "urls.py").read_text())
    return frozenset(path.removeprefix("/api/v1") for path in api) | {f"/{each}" for each in plain}


@functools.cache
def _commands() -> frozenset[str]:
    return frozenset(path.stem for path in ROOT.glob("*/management/commands/*.py"))


@pytest.mark.parametrize("name", FEWEST)
def test_every_requirement_has_a_place_and_a_proof_that_exist(name: str) -> None:
    rows = rows_of(document(name))

    assert len(rows) >= FEWEST[name]
    assert [fault for row in rows for fault in faults_in(row)] == []


def test_every_link_of_guide_and_reference_leads_somewhere() -> None:
    links = LINK.findall(GUIDE.read_text()) + LINK.findall(TEXT)

    assert len(links) > 5
    assert [link for link in links if not _is_page(link)] == []


THERE = "`tests/house/test_requirements.py::test_what_is_not_there_is_noticed`"


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (["speed", "", THERE], "a cell is empty"),
        (["speed", "-", THERE], "a cell is empty"),
        (["speed", "none", THERE], "a cell is empty"),
        (["speed", "`tasks/models.py`", "it is fast"], "no test and no measurement"),
        (["speed", "`tasks/gone.py`", THERE], "no such name: tasks/gone.py"),
        (["speed", "`tasks/models.py`", "`bench/gone.py`"], "no such name: bench/gone.py"),
        (
            ["speed", "`tasks/models.py`", f"{THERE[:-1]}_at_all`"],
            "no such name: tests/house/",
        ),
        (["speed", "`POST /gone`", THERE], "no such name: POST /gone"),
        (["speed", "`manage.py gone --now`", THERE], "no such name: manage.py gone"),
        (["speed", "[there](gone.md)", THERE], "no such page: gone.md"),
        (
            ["speed", "`Gone` in `tasks/models.py`", THERE],
            "Gone is not in tasks/models.py",
        ),
    ],
)
def test_what_is_not_there_is_noticed(row: list[str], fault: str) -> None:
    [found] = faults_in(row)

    assert found.startswith(fault)


def test_what_is_there_is_not_complained_of() -> None:
    row = ["speed", "`Task` in `tasks/models.py`, `GET /jobs`, `manage.py run_tasks`", THERE]

    assert list(faults_in(row)) == []
