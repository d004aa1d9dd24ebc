"""Cost of pages to the server: board, dashboard, opening and status with 1,000,000 people waiting,
compared with 100; or every page of a job with a log of 1,000,000 events (--log); or the public page
of a job, which keeps itself up to date, against the same page without that (--live); or what people
feel of every page, at the server and in a browser (--felt).

Both lines are in one database, and the requests alternate between them. The lines are filled with
plain SQL, which leaves no events in their logs, then vacuumed, so that statistics are up to date.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass, field
from typing import Any

import felt
import harness
import long_log
import public_page
from promotion import COUNT, FILL

SHORT, LONG = 100, 1_000_000
SEATS = 10
FELT_WAITING, FELT_REQUESTS = 10_000, 15
PERSONAL = ("status", "dashboard")


@dataclass
class Figures:
    """Times and CPU of this thread for one page, in milliseconds, and its statements."""

    times: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    statements: int = 0


# Pages by their URLs, relative to the job's or absolute.
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
    parser.add_argument("--live", action="store_true", help="the public page of a job")
    parser.add_argument("--felt", action="store_true", help="every page as people feel it")
    parser.add_argument("--without-browser", action="store_true", help="of --felt the server alone")
    options = parser.parse_args()
    if options.felt:
        waiting = min(options.waiting, FELT_WAITING)
        felt.measure(
            waiting, min(options.requests, FELT_REQUESTS), browser=not options.without_browser
        )
        return
    harness.start(durable=False)
    if options.live:
        harness.make_people(SHORT + SEATS)
        public_page.measure(_line(SHORT), options.requests)
        return
    if options.log:
        _measure_a_long_log(options.log)
        return
    harness.make_people(options.waiting + SEATS)
    lines = {size: _line(size) for size in (SHORT, options.waiting)}
    _report(_measure(lines, options.requests), options.waiting)


def _line(waiting: int) -> str:
    """Create a job with every seat taken, some with a deadline, and this many people waiting."""
    from uuid import UUID

    from pipeline.domain.states import Actor, ActorKind
    from pipeline.services.joining import apply

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


def _addresses(job_id: str) -> dict[str, str]:
    """Return the URLs of a job's most visited pages."""
    from django.urls import reverse

    (one,) = harness.execute(
        f"SELECT id FROM pipeline_application WHERE job_id = '{job_id}' AND status = 'WAITLIST'"
        " ORDER BY ticket LIMIT 1"
    )
    return {
        "board": reverse("board", args=[job_id]),
        "company's jobs": reverse("company_jobs"),
        "opening": reverse("opening", args=[job_id]),
        "status": reverse("my_application", args=[one[0]]),
        "dashboard": reverse("dashboard"),
    }


def _measure(lines: dict[int, str], requests: int) -> dict[tuple[str, int], Figures]:
    """Request each page of each line in turn, in this process, as the company or the person."""
    company = _browser()
    found: dict[tuple[str, int], Figures] = {}
    pages = {size: _addresses(job_id) for size, job_id in lines.items()}
    people = {size: _person(job_id) for size, job_id in lines.items()}
    for turn in range(requests + 20):
        for size, addresses in pages.items():
            company.get(addresses["board"])  # from now on the browser acts for this company
            for name, address in addresses.items():
                figures = found.setdefault((name, size), Figures())
                browser = people[size] if name in PERSONAL else company
                _ask(browser, address, figures, counts=turn >= 20)  # until then caches warm up
    return found


def _ask(browser: Any, address: str, figures: Figures, *, counts: bool) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    if not counts:
        with CaptureQueriesContext(connection) as queries:
            answer = browser.get(address)
        figures.statements = len(queries)
        if answer.status_code != 200:
            raise SystemExit(f"{address} answered {answer.status_code}")
        return
    start, cpu = time.perf_counter(), time.thread_time()
    browser.get(address)
    figures.times.append((time.perf_counter() - start) * 1e3)
    figures.cpu.append((time.thread_time() - cpu) * 1e3)


def _person(job_id: str) -> Any:
    """Return a test client signed in as the first person waiting for a job."""
    from django.conf import settings
    from django.contrib.sessions.backends.db import SessionStore
    from django.test import Client, RequestFactory

    from applicants.browser import sign_in as sign_in_browser
    from pipeline.models import Application

    request = RequestFactory().get("/")
    request.session = SessionStore()
    waiting = Application.objects.filter(job_id=job_id, status="WAITLIST").order_by("ticket")
    sign_in_browser(request, waiting[0].applicant)
    request.session.save()
    browser = Client()
    browser.cookies[settings.SESSION_COOKIE_NAME] = str(request.session.session_key)
    return browser


def _browser() -> Any:
    """Return a test client signed in as an owner of every company."""
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


def _report(found: dict[tuple[str, int], Figures], long: int) -> None:
    print(
        "| page | waiting | p50, ms | p99, ms | CPU, ms | statements |\n|---|---|---|---|---|---|"
    )
    for (name, size), each in found.items():
        print(
            f"| {name} | {size:,} | {harness.median(each.times):.1f}"
            f" | {harness.percentile(each.times, 0.99):.1f} | {harness.median(each.cpu):.1f}"
            f" | {each.statements} |"
        )
    for name in dict.fromkeys(name for name, _ in found):
        ratio = harness.median(found[name, long].times) / harness.median(found[name, SHORT].times)
        print(f"{name}: {long:,} against {SHORT} waiting {ratio:.2f} (goal: at most 1.20)")


def _measure_a_long_log(events: int) -> None:
    """Measure an open job with this many events, and one closed after a third as many."""
    jobs = [long_log.make(events), long_log.make(events // 3, closes=True)]
    long_log.learn()
    browser = _browser()
    print("| page | open, ms | closed, ms |\n|---|---|---|")
    for name, address in PAGES.items():
        times = [_one_page(browser, job, address) for job in jobs]
        print(f"| {name} | {times[0]:.0f} | {times[1]:.0f} |", flush=True)


def _one_page(browser: Any, job: Any, address: str) -> float:
    """Return the median of five requests, in milliseconds, after a warm-up request."""
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
