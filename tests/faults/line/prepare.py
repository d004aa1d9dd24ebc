"""Fill the database of a site on which the fault matrix is run, or let its deadlines pass.

python -m tests.faults.line.prepare fill ROWS PEOPLE     prints what the clients need as JSON
python -m tests.faults.line.prepare late JOB...          every offer of these jobs is overdue
"""

from __future__ import annotations

import json
import sys
from itertools import chain
from typing import Any
from uuid import UUID

import django

SEATS, SLOW_SEATS, SLOW_JOBS = 3, 2, 3
# Rows of the matrix in which deadlines pass.
ROWS_WITH_DEADLINES = 2


def fill(rows: int, people: int) -> None:
    """Make a company with one busy job for each row, and jobs whose offers nobody answers."""
    from applicants import tokens
    from jobs import keys
    from jobs.models import Scope
    from tests.support import factories

    company = factories.company().id

    def job(seats: int, **policy: Any) -> str:
        how = {"company_id": company, "acknowledge_first_seat": True}
        return str(factories.job(capacity=seats, **how, **policy))

    # In the long form, everyone in them misses so many deadlines that they would lapse.
    slow = [
        [job(SLOW_SEATS, max_decays=None) for _ in range(SLOW_JOBS)]
        for _ in range(ROWS_WITH_DEADLINES)
    ]
    for each in chain.from_iterable(slow):
        factories.applications(UUID(each), 2 * SLOW_SEATS)
    made = {
        "key": keys.create(company_id=company, name="matrix", scopes=list(Scope))[1],
        "busy": [job(SEATS) for _ in range(rows)],
        "slow": slow,
        "tokens": [tokens.issue(factories.applicant()) for _ in range(people)],
    }
    print(json.dumps(made))


def let_deadlines_pass(jobs: list[str]) -> None:
    """Let the time pass in which someone could have answered."""
    from tests.support import factories
    from tests.support.clock import let_time_pass

    for job in jobs:
        let_time_pass(UUID(job), factories.WINDOW)


if __name__ == "__main__":
    django.setup()
    if sys.argv[1] == "fill":
        fill(int(sys.argv[2]), int(sys.argv[3]))
    else:
        let_deadlines_pass(sys.argv[2:])
