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
