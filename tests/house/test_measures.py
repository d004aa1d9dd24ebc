"""Limits on how hard the code is to read. They may only be lowered."""

from __future__ import annotations

import pytest

from tests.house.measure import findings

MOST_PERCENT = {"private functions used once": 45.0}
FINDINGS = {finding.name: finding for finding in findings([])}


@pytest.mark.parametrize("name", FINDINGS)
def test_no_measure_is_over_its_bound(name: str) -> None:
    finding = FINDINGS[name]

    assert finding.total > 0
    assert finding.percent <= MOST_PERCENT.get(name, 0.0), "\n".join(finding.smells)
