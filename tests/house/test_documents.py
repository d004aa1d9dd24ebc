"""Every file and page that the documents name exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support.environment import ROOT

DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        ROOT / "bench" / "README.md",
    ]
)
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)")
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]*)`")
IN_FILE = re.compile(
    r"((?:`@?\w+`(?:,\s+|\s+and\s+)?)+)\s+(?:in|from)\s+`((?:[\w-]+/)+[\w-]+\.py)`"
)
TOPS = {path.name for path in ROOT.iterdir()} - {".local"}


def missing(document: Path, text: str) -> list[str]:
    """Return the links and the paths in a text that lead nowhere."""
    links = [link for link in LINK.findall(text) if not (document.parent / link).exists()]
    files = [name for name in FILE.findall(text) if name.split("/")[0] in TOPS]
    return links + [name for name in files if not (ROOT / name).exists()]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    assert missing(document, document.read_text()) == []


def test_a_missing_file_is_noticed() -> None:
    text = "[a page](gone.md), `pipeline/gone.py`, `pipeline/apps.py`, `text/csv`"

    assert missing(ROOT / "README.md", text) == ["gone.md", "pipeline/gone.py"]


def unknown(text: str) -> list[str]:
    """Return the names that a text places in a file that does not define them."""
    return [
        f"{name} in {file}"
        for names, file in IN_FILE.findall(text)
        for name in re.findall(r"`@?(\w+)`", names)
        if not re.search(rf"^(?:def |class )?{name}\b(?:\(|:| =)", (ROOT / file).read_text(), re.M)
    ]


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md"])
def test_every_name_is_in_the_file_that_the_page_names(page: str) -> None:
    text = (ROOT / page).read_text()

    assert IN_FILE.findall(text)
    assert unknown(text) == []


def test_a_name_that_is_gone_from_its_file_is_noticed() -> None:
    text = "`MOVES`, `Gone` and `VERBS` in\n`pipeline/domain/verbs.py`; `@change` from `manage.py`"
    text += ", `@change` from `pipeline/line/lock.py`"

    assert unknown(text) == ["Gone in pipeline/domain/verbs.py", "change in pipeline/line/lock.py"]
