"""Limits on how hard the code is to read. They may only be lowered."""

from __future__ import annotations

import pytest

from tests.house.measure import findings

MOST_PERCENT = {"private functions used once": 45.0}


@pytest.mark.slow
def test_no_measure_is_over_its_bound() -> None:
    over = [
        f"{finding.row}\n{smell}"
        for finding in findings([])
        if finding.percent > MOST_PERCENT.get(finding.name, 0.0) or not finding.total
        for smell in finding.smells or ["nothing was measured"]
    ]

    assert over == [], "\n".join(over)
