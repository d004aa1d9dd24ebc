"""The floor for branches of the core: none may be missed but those that are explained."""

from __future__ import annotations

import re

from tools import ROOT
from tools.branches import EXPLAINED, PRODUCT, TESTS, missed


def report_of(name: str, *branches: list[int]) -> dict[str, object]:
    return {"files": {name: {"missing_branches": list(branches)}}}


def test_one_missed_branch_is_named() -> None:
    assert missed(report_of("pipeline/line/lock.py", [3, 4])) == {"pipeline/line/lock.py": [[3, 4]]}
    assert missed(report_of("pipeline/line/lock.py")) == {}


def test_an_explained_one_is_in_the_documents_and_hides_no_second_one() -> None:
    page = (ROOT / "docs" / "testing.md").read_text()

    for name, count in EXPLAINED.items():
        assert name in page
        assert missed(report_of(name, *[[1, 2]] * count)) == {}
        assert missed(report_of(name, *[[1, 2]] * (count + 1)))


def test_what_is_measured_is_there_and_ci_measures_it() -> None:
    places = [ROOT / name.replace(".", "/") for name in PRODUCT]
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()

    assert all(each.is_dir() or each.with_suffix(".py").is_file() for each in places)
    assert all((ROOT / each).exists() for each in TESTS)
    assert re.search(r"-m tools\.branches", workflow)
