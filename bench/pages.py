"""Cost of a job's pages to the server: its pipeline with 1,000,000 waiting against 100; or every
page of a job with a log of 1,000,000 events (--log).

Both lines are in one database, and the requests alternate between them. The lines are filled by
plain SQL (their logs do not tell of it), then vacuumed: the statistics are those of a line at rest.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import harness
import long_log
from promotion import COUNT, FILL

SHORT, LONG = 100, 1_000_000
SEATS = 10

# Pages by their addresses behind a job's, or whole.
PAGES = {
    "pipeline": "",
    "timeline, newest": "timeline/",
    "timeline, half way": "timeline/?before={half}",
    "timeline, confirmed": "timeline/?event=ACKNOWLEDGED",
    "timeline, applied": "timeline/?event=APPLIED",
    "timeline, paused (never)": "timeline/?event=JOB_PAUSED",
    "timeline, extended (never)": "timeline/?event=DEADLINE_EXTENDED",
    "timeline, let go": "timeline/?event=CLOSED_OUT",
    "timeline of a person": "timeline/?application={application}",
    "timeline of a cause": "timeline/?cause={cause}",
    "timeline, a name": "timeline/?name=ana",
    "timeline, no such name": "timeline/?name=zz",
    "replay, the end": "replay/",
    "replay, event 1,000": "replay/?seq=1000",
    "replay, event 100,000": "replay/?seq=100000",
    "replay, half way": "replay/?seq={half}",
    "replay, 100,000 from the end": "replay/?seq={near}",
    "compare the first 50,000": "replay/?seq=1&with=50000",
    "compare the last 50,000": "replay/?seq={nearer}&with={head}",
    "compare first and last": "replay/?seq=1&with={head}",
    "figures, 24 hours": "figures/?range=24h",
    "figures, 7 days": "figures/?range=7d",
    "figures, 30 days": "figures/?range=30d",
    "figures, all time": "figures/?range=all",
    "settings": "settings/",
    "an application": "/company/applications/{application}/",
    "a person": "/company/people/{person}/",
    "people, by name": "/company/people/?q=ana+boson",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=200, help="of each page")
    parser.add_argument("--waiting", type=int, default=LONG, help="in the long line")
    parser.add_argument(
        "--log", type=int, metavar="EVENTS", help="every page of a job with so many"
    )
    options = parser.parse_args()
    harness.start(durable=False)
    if options.log:
        _measure_a_long_log(options.log)
        return
    harness.make_people(options.waiting + SEATS)
    lines = {size: _line(size) for size in (SHORT, options.waiting)}
    took = _measure(lines, options.requests)
    _report(took, options.waiting)


def _line(waiting: int) -> str:
    """A job with every seat taken, of whom some have a deadline, and so many waiting."""
    from uuid import UUID

    from pipeline.domain.states import Actor, ActorKind
    from pipeline.services.apply import apply

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


def _measure_a_long_log(events: int) -> None:
    """A job that goes on, with so many events; and one that was closed after a third as many."""
    jobs = [long_log.make(events), long_log.make(events // 3, closes=True)]
    long_log.learn()
    browser = _browser()
    print("| page | open, ms | closed, ms |\n|---|---|---|")
    for name, address in PAGES.items():
        times = [_one_page(browser, job, address) for job in jobs]
        print(f"| {name} | {times[0]:.0f} | {times[1]:.0f} |", flush=True)


def _one_page(browser: Any, job: Any, address: str) -> float:
    """The median of five requests, in milliseconds, after one that warms up."""
    from pipeline.models import Application

    some = Application.objects.filter(job_id=job.id, decay_count__gt=0)[0]
    given = {
        "half": job.seq // 2,
        "near": job.seq - 100_000,
        "nearer": job.seq - 50_000,
        "head": job.seq,
        "application": some.id,
        "person": some.applicant_id,
        "cause": job.seq // 2,
    }
    base = "" if address.startswith("/") else f"/company/jobs/{job.id}/"
    browser.get(f"/company/jobs/{job.id}/")  # from now on the browser acts for this company
    times = []
    for _ in range(6):
        start = time.perf_counter()
        answer = browser.get(base + address.format(**given))
        if answer.status_code != 200:
            raise SystemExit(f"{address} answered {answer.status_code}")
        times.append((time.perf_counter() - start) * 1e3)
    return harness.median(times[1:])


if __name__ == "__main__":
    main()
