"""Every page, file, test and name that the documents mention exists."""

from __future__ import annotations

import re
from functools import cache
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
BARE_FILE = re.compile(r"`([\w-]+\.(?:py|html|js|css|md))`")
TEST = re.compile(r"(?<=[`/:])test_\w+(?=`|\.py)")
# A file of gunicorn; a record of a decision may name what is not ours.
NOT_OURS = {"limits.py"}


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


@cache
def _files_and_tests() -> tuple[set[str], set[str]]:
    """Return the names of our files, and those of the tests and their files."""
    folders = [ROOT / top for top in TOPS if (ROOT / top).is_dir() and not top.startswith(".")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    modules = [path for path in files if path.suffix == ".py" and "tests" in path.parts]
    tests = {name for path in modules for name in re.findall(r"def (test_\w+)", path.read_text())}
    names = {path.name for path in files} | {path.name for path in ROOT.iterdir()}
    return names, tests | {path.stem for path in modules}


def gone(text: str) -> list[str]:
    """Return the files without a folder, and the tests, that a text names and that do not exist."""
    files, tests = _files_and_tests()
    mentioned = set(BARE_FILE.findall(text)) - NOT_OURS
    return sorted(mentioned - files) + sorted(set(TEST.findall(text)) - tests)


@pytest.mark.parametrize(
    "document",
    [path for path in DOCUMENTS if path.name != "CHANGELOG.md"],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_every_file_and_test_that_a_document_mentions_exists(document: Path) -> None:
    assert gone(document.read_text()) == []


def test_a_file_or_test_that_is_gone_is_noticed() -> None:
    text = (
        "`gone.py`, `apps.py`, `services/test_gone`, `tests/domain/test_moves.py::test_gone_too`,"
    )
    text += " `tests/domain/test_moves.py`"

    assert gone(text) == ["gone.py", "test_gone", "test_gone_too"]


MEASURED = re.compile(
    r"(\d[\d,]*(?:\.\d+)?)\s?(?=(?:ms|s|seconds|MB|GB|bytes|/s|a second|times the CPU)(?!\w))"
)
GUIDES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


def unmeasured(text: str, results: str) -> list[str]:
    """Return the figures with a unit that a text quotes of a bench, and that its results lack."""
    sections = results.split("\n### ")[1:]
    found = []
    for part in re.split(r"\n\s*\n|\n(?=[-|] )", text):
        said = part.split("|", 2)[2] if part.startswith("|") else part  # after what is asked for
        if benches := re.findall(r"`(bench/\w+\.py)", said):
            measured = " ".join(
                each for each in sections if any(bench in each for bench in benches)
            )
            known = set(re.findall(r"\d[\d,]*(?:\.\d+)?", measured))
            found += [each for each in MEASURED.findall(said) if each not in known]
    return found


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_figure_of_a_bench_is_among_its_results(guide: Path) -> None:
    assert unmeasured(guide.read_text(), (ROOT / "bench" / "README.md").read_text()) == []


def test_a_figure_that_no_bench_measured_is_noticed() -> None:
    text = "It takes 5 ms.\n\nIt takes 3 ms (`bench/year.py`), or 1.6 ms and 7,000 bytes."
    results = "9 s\n### `bench/year.py`\n\n3 ms, 1.61 ms\n### `bench/storm.py`\n\n7,000 bytes"

    assert unmeasured(text, results) == ["1.6", "7,000"]


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
