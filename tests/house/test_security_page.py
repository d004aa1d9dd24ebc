"""`docs/security.md`: every test and event that it names exists, and every event is named."""

from __future__ import annotations

import re

from tests.house.files import PACKAGES, name_of, project_files
from tests.support.environment import ROOT

PAGE = (ROOT / "docs" / "security.md").read_text()
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
EVENT = re.compile(r'"((?:[a-z_]+)\.(?:[a-z_]+))"')
WRITTEN = re.compile(r'security\.(?:info|warning)\(\s*"([a-z_.]+)"')
# The chapters of ASVS 4.0.3, each with at least one row.
CHAPTERS = range(1, 15)


def written() -> set[str]:
    """Return every event that the code writes to the security log."""
    sources = [path for path in project_files() if name_of(path).startswith(PACKAGES)]
    texts = [path.read_text() for path in sources if path.suffix == ".py"]
    found = {event for text in texts for event in WRITTEN.findall(text)}
    receivers = (ROOT / "jobs" / "security.py").read_text()
    chosen = re.findall(r'event = "(\S+)" if \w+ else "(\S+)"', "\n".join(texts))
    named = {event for event in EVENT.findall(receivers) if not event.startswith("security.")}
    return found | named | {event for pair in chosen for event in pair}


def test_every_named_test_exists() -> None:
    named = TEST.findall(PAGE)

    assert len(named) >= 15
    missing = [
        f"{file}::{name}"
        for file, name in named
        if not (ROOT / file).is_file()
        or not re.search(rf"^(?:async )?def {name}\(", (ROOT / file).read_text(), re.M)
    ]
    assert missing == []


def test_every_attacker_has_an_answer_and_a_test() -> None:
    table = PAGE.split("## Threat model")[1].split("##")[0]
    rows = [row.split("|")[1:-1] for row in table.splitlines() if row.startswith("|")][2:]

    assert len(rows) >= 10
    for attacker, wants, answer, test in rows:
        assert attacker.strip()
        assert wants.strip()
        assert answer.strip()
        assert TEST.search(test) or "none needed" in test


def test_the_page_lists_the_events_of_the_security_log() -> None:
    table = PAGE.split("## Logs")[1].split("##")[0]
    listed = set(re.findall(r"`([a-z_]+\.[a-z_]+)`", table))

    assert listed == written()


def test_every_chapter_of_the_standard_has_a_row_with_a_state() -> None:
    table = PAGE.split("## OWASP")[1].split("## Checks")[0]
    rows = [row.split("|")[1:-1] for row in table.splitlines() if row.startswith("| V")]

    assert {row[1].strip() for row in rows} <= {"met", "partly", "not", "none"}
    assert all(row[2].strip() for row in rows)
    named = {int(each) for row in rows for each in re.findall(r"V(\d+)\.", row[0])}
    assert named == set(CHAPTERS)
