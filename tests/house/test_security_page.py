"""`docs/security.md` and its table of ASVS: what they name exists, and nothing is left out."""

from __future__ import annotations

import re

from tests.house.files import PACKAGES, name_of, project_files
from tests.support.environment import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text()
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
EVENT = re.compile(r'"((?:[a-z_]+)\.(?:[a-z_]+))"')
WRITTEN = re.compile(r'security\.(?:info|warning)\(\s*"([a-z_.]+)"')
TABLE = (ROOT / "docs" / "security-asvs.md").read_text()
# The requirements of ASVS 4.0.3 of level 1 or 2: sections, each with its last numbers.
REQUIREMENTS = """
    1.1.1-7 1.2.1-4 1.4.1,4-5 1.5.1-4 1.6.1-4 1.7.1-2 1.8.1-2 1.9.1-2 1.10.1 1.11.1-2 1.12.2
    1.14.1-6 2.1.1-12 2.2.1-3 2.3.1-3 2.4.1-5 2.5.1-7 2.6.1-3 2.7.1-6 2.8.1-7 2.9.1-3 2.10.1-4
    3.1.1 3.2.1-4 3.3.1-4 3.4.1-5 3.5.1-3 3.7.1 4.1.1-3,5 4.2.1-2 4.3.1-3 5.1.1-5 5.2.1-8 5.3.1-10
    5.4.1-3 5.5.1-4 6.1.1-3 6.2.1-6 6.3.1-2 6.4.1-2 7.1.1-4 7.2.1-2 7.3.1,3-4 7.4.1-3 8.1.1-4
    8.2.1-3 8.3.1-8 9.1.1-3 9.2.1-4 10.2.1-2 10.3.1-3 11.1.1-8 12.1.1-3 12.2.1 12.3.1-6 12.4.1-2
    12.5.1-2 12.6.1 13.1.1,3-5 13.2.1-3,5-6 13.3.1-2 13.4.1-2 14.1.1-4 14.2.1-6 14.3.2-3 14.4.1-7
    14.5.1-4
"""
STATES = ("met", "partly", "not met", "n/a")


def written() -> set[str]:
    """Return every event that the code writes to the security log."""
    sources = [path for path in project_files() if name_of(path).startswith(PACKAGES)]
    texts = [path.read_text() for path in sources if path.suffix == ".py"]
    found = {event for text in texts for event in WRITTEN.findall(text)}
    receivers = (ROOT / "jobs" / "signals.py").read_text()
    chosen = re.findall(r'event = "(\S+)" if \w+ else "(\S+)"', "\n".join(texts))
    named = {event for event in EVENT.findall(receivers) if not event.startswith("security.")}
    return found | named | {event for pair in chosen for event in pair}


def requirements() -> list[str]:
    """Return the number of every requirement, in their order."""
    found = []
    for word in REQUIREMENTS.split():
        section, _, numbers = word.rpartition(".")
        for part in numbers.split(","):
            first, _, last = part.partition("-")
            found += [f"{section}.{n}" for n in range(int(first), int(last or first) + 1)]
    return found


def rows() -> list[list[str]]:
    """Return the rows about requirements: number, words, state, place."""
    lines = [line for line in TABLE.splitlines() if re.match(r"\| \d", line)]
    return [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in lines]


def test_every_named_test_exists() -> None:
    named = TEST.findall(PAGE + TABLE)

    assert len(named) >= 15
    missing = [
        f"{file}::{name}"
        for file, name in named
        if not (ROOT / file).is_file()
        or not re.search(rf"^(?:async )?def {name}\(", (ROOT / file).read_text(), re.M)
    ]
    assert missing == []


def test_every_named_file_exists() -> None:
    named = re.findall(r"`((?:pipeline|applicants|tests|templates|static|docs)/[\w/.-]+)`", TABLE)

    assert len(named) >= 20
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_attacker_has_an_answer_and_a_test() -> None:
    table = PAGE.split("## Threat model")[1].split("##")[0]
    attackers = [row.split("|")[1:-1] for row in table.splitlines() if row.startswith("|")][2:]

    assert len(attackers) >= 10
    for attacker, wants, answer, test in attackers:
        assert attacker.strip()
        assert wants.strip()
        assert answer.strip()
        assert TEST.search(test) or "none needed" in test


def test_the_page_lists_the_events_of_the_security_log() -> None:
    table = PAGE.split("## Logs")[1].split("##")[0]
    listed = set(re.findall(r"`([a-z_]+\.[a-z_]+)`", table))

    assert listed == written()


def test_every_requirement_of_the_standard_has_a_row_with_a_state_and_a_place() -> None:
    found = rows()

    assert len(requirements()) == 259
    assert [number for number, *_ in found] == requirements()
    assert {state for _, _, state, _ in found} == set(STATES)
    assert all(words and place for _, words, _, place in found)


def test_the_summary_counts_the_rows_and_the_page_names_all_that_is_not_met() -> None:
    counted = [sum(1 for number, _, state, _ in rows() if state == each) for each in STATES]
    summary = next(line for line in TABLE.splitlines() if line.startswith("| **all**"))

    assert [int(cell) for cell in summary.split("|")[2:-1]] == counted
    listed = PAGE.split("These are not met:")[1].split("## ")[0]
    not_met = {number for number, _, state, _ in rows() if state == "not met"}
    assert set(re.findall(r"\d+\.\d+\.\d+", listed)) == not_met
