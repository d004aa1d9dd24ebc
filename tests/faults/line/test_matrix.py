"""The fault matrix: whatever breaks, what the site has confirmed is true, and happened once.

People use a whole site over HTTP while one thing after another is broken, and keep a ledger.
`run.py test --long -s tests/faults/line/test_matrix.py` takes an hour for it, and prints the table
of docs/reliability.md.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.faults.line.rows import ROWS, Row
from tests.faults.line.stage import Stage, faults_of_row, stage

pytestmark = [pytest.mark.long_with_option, pytest.mark.timeout(300)]


@dataclass(frozen=True)
class Result:
    """One row of the table."""

    name: str
    times: int
    operations: int
    repeated: int
    compared: int
    differing: int
    slowest_seconds: float
    faults: list[str]

    @property
    def line(self) -> str:
        """The row as Markdown."""
        kinds = Counter(fault.partition(":")[0] for fault in self.faults)
        cells = [
            self.name,
            f"{self.times:,}",
            f"{self.operations:,}",
            f"{self.repeated:,}",
            f"{self.differing} of {self.compared:,}",
            f"{self.slowest_seconds:.1f} s",
            str(kinds["lost"]),
            str(kinds["doubled"]),
            str(kinds["orphan"]),
        ]
        return f"| {' | '.join(cells)} |"


def run_row(here: Stage, number: int, row: Row) -> Result:
    """Break one thing while people come to the row's own job; in the long form, again and again."""
    [(since,)] = here.site.rows("SELECT clock_timestamp()")
    here.let_come(here.made["busy"][number], seed=1_000 * number)
    end, times, left = time.monotonic() + here.long_seconds / len(ROWS), 0, []
    try:
        here.work()
        while not times or time.monotonic() < end:
            row.act(here)
            left += here.wait_for_end_of_orphans()
            here.work(10)
            times += 1
    finally:
        here.send_home()
    crowd = here.crowd
    faults = faults_of_row(here, since) + left
    if not row.may_forget:
        faults += [f"answered differently: {each}" for each in crowd.differing]
    return Result(
        row.name,
        times,
        crowd.answers.total(),
        crowd.repeated,
        crowd.compared,
        len(crowd.differing),
        crowd.slowest_seconds,
        faults,
    )


def test_whatever_breaks_what_was_confirmed_is_true_and_happened_once(
    folder: Path, long_seconds: int, request: pytest.FixtureRequest
) -> None:
    turn = request.config.option.turn
    rows = ROWS if turn is None else ROWS[turn % 2 :: 2]
    with stage(folder, rows=len(rows), long_seconds=long_seconds) as here:
        results = []
        for number, row in enumerate(rows):
            results.append(run_row(here, number, row))
            print(results[-1].line, flush=True)
        verdict = here.site.run("manage.py", "verify_log")
    print(verdict)

    assert {result.name: result.faults for result in results if result.faults} == {}
    assert "All is well" in verdict
    assert all(result.operations >= 25 for result in results)
