"""Findings about background work: both workers, overdue jobs, dead letters, breakers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

from django.db.models import Q
from django.db.models.functions import Now

from pipeline.figures.job import read_site_gauges
from pipeline.line.event_log import logged_time
from pipeline.management.doctor.findings import Finding, found_ok, found_problem, found_warning
from pipeline.models import WebServer
from pipeline.selectors.system import LastSeen, read_decay_worker_health, read_task_worker_health
from tasks.stats import site_dead_depth, site_open_breakers, site_paused_types

# Longer than any pause of a worker that is being replaced.
OVERDUE_SECONDS = 60.0
# Web servers give a sign of life every ten seconds.
SILENT_SECONDS = 60.0
MOST_NAMED = 5

WORKERS: dict[str, tuple[Callable[[], LastSeen], str]] = {
    "decay worker": (read_decay_worker_health, "manage.py run_decay"),
    "task worker": (read_task_worker_health, "manage.py run_tasks"),
}


def check_workers() -> Iterator[Finding]:
    """Check that a worker of each kind was seen in the last 30 seconds."""
    for name, (last_seen, command) in WORKERS.items():
        seen = last_seen()
        if seen.is_alive:
            yield found_ok(f"A {name} is running.")
        else:
            since = f"since {logged_time(seen.at)}" if seen.at else "yet, or not for days"
            yield found_problem(f"No {name} was seen {since}.", f"Start {command}.")


def check_web_servers() -> Iterator[Finding]:
    """Check that every web server still answers, and that all run one release."""
    servers = WebServer.objects.annotate(
        is_silent=Q(answered_at__lt=Now() - timedelta(seconds=SILENT_SECONDS))
    ).order_by("name")
    silent = [each for each in servers if each.is_silent]
    releases = {each.version for each in servers if not each.is_silent}
    for each in silent[:MOST_NAMED]:
        yield found_warning(
            f"The web server at {each.name} has been silent since {logged_time(each.answered_at)}.",
            "Start it again. If you have removed it, this line disappears after a day.",
        )
    if len(releases) > 1:
        yield found_warning(
            f"Web servers of several releases are running: {', '.join(sorted(releases))}.",
            "Restart those of the old release.",
        )
    if len(servers) > len(silent):
        yield found_ok(f"Web servers that answer: {len(servers) - len(silent)}.")
    else:
        yield found_problem("No web server answers.", "Start gunicorn; see docs/operations.md.")


def check_settlement() -> Iterator[Finding]:
    """Check that deadlines are settled and no seat is left empty."""
    vitals = read_site_gauges()
    if vitals.oldest_overdue_seconds > OVERDUE_SECONDS:
        yield found_problem(
            f"{vitals.overdue_jobs} jobs are due to be settled, the first for"
            f" {vitals.oldest_overdue_seconds:.0f} s.",
            "Start a decay worker; if one is running, its log names the jobs that it set aside.",
        )
    elif vitals.idle_seats_with_eligible and not vitals.overdue_jobs:
        yield found_warning(
            f"{vitals.idle_seats_with_eligible} seats are free although someone could take them.",
            "If this stays, run manage.py run_decay --once and manage.py verify_log.",
        )
    else:
        yield found_ok("Deadlines are settled, and no seat is left empty.")


def check_tasks() -> Iterator[Finding]:
    """Check for dead letters, open breakers and paused types."""
    dead, breakers, paused = site_dead_depth(), site_open_breakers(), site_paused_types()
    if dead:
        counts = ", ".join(f"{count} of {name}" for name, count in sorted(dead.items()))
        yield found_warning(
            f"Dead letters wait for a decision: {counts}.", "Run manage.py tasks dead."
        )
    if breakers:
        yield found_warning(
            f"Too many runs fail, so these types are held back: {', '.join(breakers)}.",
            "Run manage.py tasks list --status PENDING, and look for the cause of the failures.",
        )
    if paused:
        yield found_warning(
            f"These types are paused: {', '.join(paused)}.", "Run manage.py tasks resume TYPE."
        )
    if not (dead or breakers or paused):
        yield found_ok("No dead letters, and no type is paused or held back.")
