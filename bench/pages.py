"""What a job's pipeline page costs the server with 1,000,000 waiting against 100.

Both lines are in one database, and the requests alternate between them. The lines are filled by
plain SQL (their logs do not tell of it), then vacuumed: the statistics are those of a line at rest.
With --explain also says how what lately happened is read from a log of 1,000,000 events more.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import harness
from promotion import COUNT, FILL

SHORT, LONG = 100, 1_000_000
SEATS = 10

LOG = """
INSERT INTO pipeline_event (job_id, seq, application_id, event, actor_kind, policy_version, at,
    effective_at, data, prev_hash, hash, company_id)
SELECT '{job}', 1000 + n, '{application}',
    (ARRAY['APPLIED', 'PROMOTED', 'ACKNOWLEDGED', 'DECAYED', 'REMOVED'])[1 + n % 5], 'SYSTEM', 1,
    now() - make_interval(secs => {events} - n), now(), '{{"decay_count": 0}}', '', '', '{company}'
FROM generate_series(1, {events}) n
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=200, help="of each page")
    parser.add_argument("--waiting", type=int, default=LONG, help="in the long line")
    parser.add_argument("--explain", action="store_true", help="with a long log, too")
    options = parser.parse_args()
    harness.start(durable=False)
    harness.make_people(options.waiting + SEATS)
    lines = {size: _line(size) for size in (SHORT, options.waiting)}
    took = _measure(lines, options.requests)
    _report(took, options.waiting)
    if options.explain:
        _with_a_long_log(lines[options.waiting], options.waiting)


def _line(waiting: int) -> str:
    """A job with every seat taken, of whom some have a deadline, and so many waiting."""
    from uuid import UUID

    from pipeline.services.apply import apply
    from pipeline.states import Actor, ActorKind

    job_id = harness.make_job(capacity=SEATS, acknowledge_first_seat=True)
    people = harness.execute(f"SELECT id FROM bench_people ORDER BY n LIMIT {SEATS}")
    for (person,) in people:
        actor = Actor(ActorKind.COMPANY)
        apply(job_id=UUID(job_id), applicant_id=person, name="Bench", actor=actor)
    harness.execute(
        FILL.format(job=job_id, waiting=waiting),
        COUNT.format(job=job_id, waiting=waiting),
        "VACUUM ANALYZE",
    )
    return job_id


def _measure(lines: dict[int, str], requests: int) -> dict[int, list[float]]:
    browser = _browser()
    took: dict[int, list[float]] = {size: [] for size in lines}
    for turn in range(requests + 20):
        for size, job_id in lines.items():
            start = time.perf_counter()
            answer = browser.get(f"/company/jobs/{job_id}/")
            if answer.status_code != 200:
                raise SystemExit(f"the page answered {answer.status_code}")
            if turn >= 20:  # until then caches warm up
                took[size].append((time.perf_counter() - start) * 1e3)
    return took


def _browser() -> Any:
    """An owner of every company, who is signed in; all pages are asked for in this process."""
    from django.conf import settings
    from django.test import Client

    from jobs.models import Company, Membership, Role, User

    settings.ALLOWED_HOSTS = ["*"]
    user = User.objects.create_user("viewer@bench.example")
    for company in Company.objects.all():
        Membership.objects.create(company=company, user=user, role=Role.OWNER)
    browser = Client()
    browser.force_login(user)
    return browser


def _report(took: dict[int, list[float]], long: int) -> None:
    for size, times in took.items():
        print(
            f"{size:>9,} waiting: median {harness.median(times):.2f} ms, "
            f"p99 {harness.percentile(times, 0.99):.2f} ms, {len(times)} requests"
        )
    ratio = harness.median(took[long]) / harness.median(took[SHORT])
    print(f"ratio: {ratio:.2f} (goal: at most 1.20)")


def _with_a_long_log(job_id: str, events: int) -> None:
    """Times the reads of what lately happened, and shows their plans."""
    from uuid import UUID

    from jobs.models import Job
    from pipeline.selectors import recent

    ((application,),) = harness.execute(
        f"SELECT id FROM pipeline_application WHERE job_id = '{job_id}' LIMIT 1"
    )
    company = Job.objects.get(id=job_id).company_id
    harness.execute(
        LOG.format(job=job_id, application=application, company=company, events=events),
        "VACUUM ANALYZE pipeline_event",
    )
    for name, statement in (("medians", recent._MEDIANS), ("lately", recent._LATELY)):
        given = {"jobs": [UUID(job_id)], "most": recent.WEIGHED, "span": 86_400.0}
        print(f"\n{name}, with {events:,} events more in the log:")
        for (row,) in _explain(statement, given):
            print(f"  {row}")


def _explain(statement: str, given: dict[str, object]) -> list[tuple[str]]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) {statement}", given)
        return cursor.fetchall()


if __name__ == "__main__":
    main()
