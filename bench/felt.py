"""What people feel of each page, for `pages.py --felt`: server time, and figures of Chromium.

The pages are those of the demo, and of a job with a long line and its log. Server time is asked
for over one connection to gunicorn, with its CPU and PostgreSQL's. Chromium then opens each page
as a company's owner, presses keys and opens what is folded (INP), and opens it once more with an
empty cache on a slow connection: 400 kbit/s and a round trip of 400 ms, as WebPageTest's "3G slow".
"""

from __future__ import annotations

import contextlib
import http.client
import io
import os
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import harness
import long_log
from adapter import Ours
from processes import cpu_seconds, postmaster_of

EVENTS_A_PERSON = 1.8  # of the random log: this makes a line of the wanted length
MOST_SERVER_MS, MOST_INP_MS, MOST_SLOW_MS, MOST_SHIFT = 150, 100, 3_000, 0.02
CHROMIUM = ("/usr/bin/chromium-headless-shell", "/usr/bin/chromium")
SLOW = {
    "offline": False,
    "latency": 400,
    "downloadThroughput": 400_000 / 8,
    "uploadThroughput": 400_000 / 8,
}
JOB_PAGES = {
    "board": "",
    "applications": "applications/",
    "timeline": "timeline/",
    "replay": "replay/",
    "figures": "figures/",
    "reports": "reports/",
    "settings": "settings/",
    "questions": "form/",
    "review settings": "review/",
    "planned seats": "planned-seats/",
}
OTHER_PAGES = {
    "company's jobs": "/company/",
    "new job": "/company/jobs/new/",
    "people": "/company/people/",
    "company's reports": "/company/reports/?period=this-year",
    "background work": "/company/work/",
    "new schedule": "/company/work/schedules/new/",
    "new webhook": "/company/webhooks/new/",
}
# Kept from before the first paint on: the largest paint, shifts, and how long input waits.
WATCH = """
window.felt = {lcp: 0, cls: 0, inp: 0};
const watch = (type, act, more) => new PerformanceObserver((list) => list.getEntries().forEach(act))
  .observe({type, buffered: true, ...more});
watch("largest-contentful-paint", (each) => { felt.lcp = each.startTime; });
watch("layout-shift", (each) => { if (!each.hadRecentInput) felt.cls += each.value; });
watch("event", (each) => { if (each.interactionId) felt.inp = Math.max(felt.inp, each.duration); },
  {durationThreshold: 16});
"""
SETTLED_MS = 600  # after the load: what moves later is counted, too
PRESSED = 6


@dataclass
class Felt:
    """Figures of one page: milliseconds, bytes and layout shift."""

    times: list[float] = field(default_factory=list)
    web: float = 0.0
    database: float = 0.0
    kilobytes: float = 0.0
    lcp: float = 0.0
    inp: float = 0.0
    shift: float = 0.0
    slow: float = 0.0

    @property
    def server(self) -> float:
        """Return the median server time."""
        return harness.median(self.times)

    @property
    def misses(self) -> list[str]:
        """Return the goals that the page misses."""
        limits = {
            "server": (self.server, MOST_SERVER_MS),
            "INP": (self.inp, MOST_INP_MS),
            "slow 3G": (self.slow, MOST_SLOW_MS),
            "CLS": (self.shift, MOST_SHIFT),
        }
        return [name for name, (found, most) in limits.items() if found > most]


def measure(waiting: int, requests: int, *, browser: bool) -> None:
    """Measure the pages of the demo and of a line of this length, and print a table."""
    pages = _pages(waiting)
    session, person = _sessions(pages.pop("company"))
    database = postmaster_of(pages.pop("data"))
    server = Ours()
    server.start()
    found = {name: Felt() for name in pages}
    try:
        for name, address in pages.items():
            cookie = person if name.startswith("opening") else session
            processes = server.processes(), [database]
            _ask(server.address, processes, address, cookie, requests, found[name])
        if browser:
            _browse(server, pages, session, found)
    finally:
        server.stop()
    _report(found, with_browser=browser)


def _pages(waiting: int) -> dict[str, str]:
    """Seed the demo and make the long line; return the addresses of the pages by name."""
    os.environ["SECURE_COOKIES"] = "off"  # a browser sends them over HTTP, too
    os.environ["STATIC_ROOT"] = tempfile.mkdtemp(prefix="felt-static-")
    cluster = harness.start(durable=False)
    from django.core.management import call_command

    from jobs.models import Company, Job
    from pipeline.management.demo.plans import COMPANY

    call_command("seed_demo", verbosity=0, stdout=io.StringIO())
    call_command("collectstatic", interactive=False, verbosity=0)  # compressed, as installed
    demo = Company.objects.get(name=COMPANY, sandbox_of=None)
    usual = Job.objects.filter(company=demo, posting__title="Shipwright").get()
    long = long_log.make(int(waiting * EVENTS_A_PERSON))
    harness.execute(f"UPDATE jobs_job SET company_id = '{demo.id}' WHERE id = '{long.id}'")
    harness.execute("VACUUM ANALYZE")
    pages = dict(OTHER_PAGES)
    for job, of in ((usual, "demo"), (long, f"{long.waitlist_count:,} waiting")):
        base = f"/company/jobs/{job.id}/"
        pages |= {f"{name}, {of}": base + path for name, path in JOB_PAGES.items()}
        pages[f"opening, {of}"] = f"/jobs/{job.id}/"
        pages[f"application, {of}"] = f"/company/applications/{_someone(job.id)}/"
    return pages | {"company": str(demo.id), "data": str(cluster.server.data)}


def _someone(job_id: Any) -> Any:
    from pipeline.models import Application

    return Application.objects.filter(job_id=job_id, status="ACTIVE").earliest("status_since").id


def _sessions(company_id: str) -> tuple[str, str]:
    """Return the cookies of an owner of the company, and of a visitor without a session."""
    from django.conf import settings
    from django.test import Client

    from jobs.models import Membership, Role, User

    user = User.objects.create_user("viewer@bench.example")
    Membership.objects.create(company_id=company_id, user=user, role=Role.OWNER)
    browser = Client()
    browser.force_login(user)
    return (
        f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}",
        "",
    )


def _ask(
    server: tuple[str, int],
    processes: tuple[list[int], list[int]],
    address: str,
    cookie: str,
    requests: int,
    felt: Felt,
) -> None:
    """Ask for a page over one connection, after warming up; of web server and database, the CPU."""
    link = http.client.HTTPConnection(*server)
    headers = {"Accept-Encoding": "gzip"} | ({"Cookie": cookie} if cookie else {})
    for turn in range(-3, requests):
        if turn == 0:
            before = [cpu_seconds(*each) for each in processes]
        start = time.perf_counter()
        link.request("GET", address, headers=headers)
        answer = link.getresponse()
        body = answer.read()
        if turn >= 0:
            felt.times.append((time.perf_counter() - start) * 1e3)
        if answer.status != 200:
            raise SystemExit(f"{address} answered {answer.status}")
    felt.kilobytes = len(body) / 1_024
    used = [cpu_seconds(*each) - was for each, was in zip(processes, before, strict=True)]
    felt.web, felt.database = (each / requests * 1e3 for each in used)
    link.close()


def _browse(server: Ours, pages: dict[str, str], session: str, found: dict[str, Felt]) -> None:
    from playwright.sync_api import sync_playwright

    program = next((each for each in CHROMIUM if Path(each).exists()), None)
    url = "http://{}:{}".format(*server.address)
    name, value = session.split("=", 1)
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for page_name, address in pages.items():
            context = chromium.new_context(viewport={"width": 1_280, "height": 800})
            context.add_cookies([{"name": name, "value": value, "url": url}])
            context.add_init_script(WATCH)
            _feel(context, url + address, found[page_name])
            context.close()
        chromium.close()


def _feel(context: Any, address: str, felt: Felt) -> None:
    """Open a page slowly with an empty cache, then again as usual; press keys, and unfold."""
    page = context.new_page()
    network = context.new_cdp_session(page)
    network.send("Network.enable")
    network.send("Network.emulateNetworkConditions", SLOW)
    page.goto(address, wait_until="load", timeout=60_000)
    page.wait_for_timeout(SETTLED_MS)
    slow = page.evaluate("felt")
    network.send(
        "Network.emulateNetworkConditions",
        {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1},
    )
    page.goto(address, wait_until="load")
    page.wait_for_timeout(SETTLED_MS)
    for _ in range(PRESSED):
        page.keyboard.press("Tab")
    for fold in page.locator("main summary:visible").all()[:3]:
        with contextlib.suppress(Exception):  # it may have gone with the one that was opened
            fold.click(timeout=1_000)
    box = page.locator("main :is(input:not([type]), input[type=search], textarea):visible")
    if box.count():
        box.first.press_sequentially("ana")
    page.wait_for_timeout(SETTLED_MS)
    usual = page.evaluate("felt")
    felt.lcp, felt.inp, felt.slow = usual["lcp"], usual["inp"], slow["lcp"]
    felt.shift = max(slow["cls"], usual["cls"])


def _report(found: dict[str, Felt], *, with_browser: bool) -> None:
    more = " LCP, ms | INP, ms | CLS | slow 3G LCP, ms |" if with_browser else ""
    print(f"| page | server p50, ms | web CPU | PostgreSQL CPU | HTML, KB |{more} misses |")
    print("|---|" + "---|" * (5 + 4 * with_browser))
    for name, each in found.items():
        seen = (
            f" {each.lcp:.0f} | {each.inp:.0f} | {each.shift:.3f} | {each.slow:.0f} |"
            if with_browser
            else ""
        )
        print(
            f"| {name} | {each.server:.0f} | {each.web:.0f} | {each.database:.0f}"
            f" | {each.kilobytes:.1f} |{seen} {', '.join(each.misses) or '-'} |"
        )
    missing = sum(bool(each.misses) for each in found.values())
    print(
        f"\n{missing} of {len(found)} pages miss a goal: server {MOST_SERVER_MS} ms, INP"
        f" {MOST_INP_MS} ms, CLS {MOST_SHIFT}, first load on slow 3G {MOST_SLOW_MS} ms"
    )
    harness.print_load()
