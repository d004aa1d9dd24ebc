"""Withdrawing, which promotes the next in line, with 1,000,000 waiting compared with 1,000.

Both lines are in one database; the withdrawals alternate between them. The lines are filled with
plain SQL, which leaves no events in their logs, then vacuumed, so that statistics are up to date.
"""

from __future__ import annotations

import argparse
import time
from typing import Any
from uuid import UUID

import harness

SHORT, LONG = 1_000, 1_000_000

FILL = """
INSERT INTO pipeline_application (id, job_id, applicant_id, name, status, ticket, tie, decay_count,
    deadline_extended, applied_at, status_since)
SELECT gen_random_uuid(), '{job}', id, 'Bench', 'WAITLIST', 1000000 + n, 1000000 + n, 0, false,
    now(), now()
FROM bench_people WHERE n > (SELECT max(n) FROM bench_people) - {waiting}
"""

COUNT = """
UPDATE jobs_job SET waitlist_count = waitlist_count + {waiting}, next_ticket = 100000000,
    head_ticket = 1 WHERE id = '{job}'
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--withdrawals", type=int, default=500, help="from each line")
    parser.add_argument("--waiting", type=int, default=LONG, help="in the long line")
    options = parser.parse_args()
    harness.start(durable=False)
    harness.make_people(options.waiting + options.withdrawals)
    lines = {size: _line(size, options.withdrawals) for size in (SHORT, options.waiting)}
    took = _measure(lines)
    _report(took, options.waiting)


def _line(waiting: int, seats: int) -> list[UUID]:
    """Create a job with every seat taken and this many waiting; return the seated applications."""
    job_id = harness.make_job(capacity=seats)
    holders = [_apply(job_id, person) for person in _people(seats)]
    harness.execute(
        FILL.format(job=job_id, waiting=waiting),
        COUNT.format(job=job_id, waiting=waiting),
        "VACUUM ANALYZE",
    )
    return holders


def _people(count: int) -> list[UUID]:
    return [
        row[0] for row in harness.execute(f"SELECT id FROM bench_people ORDER BY n LIMIT {count}")
    ]


def _apply(job_id: str, person: UUID) -> UUID:
    from pipeline.services.joining import apply

    return apply(job_id=UUID(job_id), applicant_id=person, name="Bench", actor=_company()).id


def _company() -> Any:
    from pipeline.domain.states import Actor, ActorKind

    return Actor(ActorKind.COMPANY)


def _measure(lines: dict[int, list[UUID]]) -> dict[int, list[float]]:
    from pipeline.services.leaving import withdraw

    took: dict[int, list[float]] = {size: [] for size in lines}
    for pair in zip(*lines.values(), strict=True):
        for size, application_id in zip(lines, pair, strict=True):
            start = time.perf_counter()
            withdraw(application_id=application_id, actor=_company())
            took[size].append((time.perf_counter() - start) * 1e3)
    return took


def _report(took: dict[int, list[float]], long: int) -> None:
    for size, times in took.items():
        print(
            f"{size:>9,} waiting: median {harness.median(times):.2f} ms, "
            f"p99 {harness.percentile(times, 0.99):.2f} ms, {len(times)} promotions"
        )
    ratio = harness.median(took[long]) / harness.median(took[SHORT])
    print(f"ratio: {ratio:.2f} (goal: at most 1.20)")


if __name__ == "__main__":
    main()
