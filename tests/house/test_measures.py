"""Limits on how hard the code is to read: no smell, except those that are only reported."""

from __future__ import annotations

import pytest

from tools.measure import findings

# A name may say more than its body, so a function that is called once is no fault.
REPORTED_ONLY = {"private functions used once"}


@pytest.mark.slow
def test_no_measure_is_over_its_bound() -> None:
    over = [
        f"{finding.row}\n{smell}"
        for finding in findings([])
        if finding.name not in REPORTED_ONLY and (finding.smells or not finding.total)
        for smell in finding.smells or ["nothing was measured"]
    ]

    assert over == [], "\n".join(over)
