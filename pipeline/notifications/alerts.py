"""Alerts to a company's members; their conditions are checked every few minutes."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Now

from jobs.models import Job, JobStatus
from pipeline.database.instants import database_now
from pipeline.models import Contest, Email, EmailState, Heartbeat
from pipeline.notifications.applicant_emails import OVER
from pipeline.notifications.company_emails import DAY, email_alert_to_company
from pipeline.selectors.health import health_of_decay_worker
from tasks.models import Task
from tasks.models.statuses import Status

# How long the decay worker may be silent, and how far back each check reaches: longer than the
# time between two checks. After an absence of the workers, it reaches back to the previous check.
SILENCE, REACH, LONGEST_REACH = timedelta(minutes=1), timedelta(minutes=15), timedelta(days=7)
# How long before an answer is due its company is reminded.
CONTEST_DUE = timedelta(days=3)
LOOKED = "alerts"  # the heartbeat that says how far the last look came


def raise_company_alerts() -> dict[str, int]:
    """Alert the members of every company that a condition concerns; return how many of each."""
    now = database_now()
    beats = Heartbeat.objects.filter(worker=LOOKED).values_list("completed_at", flat=True)
    since = max(min(beats.first() or now, now - REACH), now - LONGEST_REACH)
    raised: Counter[str] = Counter()
    for kind, company_id, about in [
        *_alerts_of_silent_decay_worker(),
        *_alerts_of_empty_lines(since),
        *_alerts_of_dead_letters(since),
        *_alerts_of_undelivered_emails(since),
        *_alerts_of_contests(since, now),
    ]:
        raised[kind] += email_alert_to_company(company_id, kind, about=about)
    Heartbeat.objects.update_or_create(worker=LOOKED, defaults={"completed_at": now})
    return {kind: number for kind, number in raised.items() if number}


def _alerts_of_silent_decay_worker() -> list[tuple[str, UUID, str]]:
    """Find the companies with overdue changes, if the decay worker has been silent."""
    seen = health_of_decay_worker()
    if seen.at is None or database_now() - seen.at < SILENCE:
        return []
    due = Job.objects.filter(next_due_at__isnull=False).order_by("company_id")
    companies = due.values_list("company_id", flat=True).distinct()
    return [("DECAY_SILENT", company_id, "") for company_id in companies]


def _alerts_of_empty_lines(since: datetime) -> list[tuple[str, UUID, str]]:
    """Find the open jobs in which nothing has happened for a day, with seats and nobody waiting."""
    quiet = Job.objects.filter(
        status=JobStatus.OPEN,
        waitlist_count=0,
        capacity__gt=F("active_count") + F("pending_count"),
        last_event_at__lte=Now() - DAY,
        last_event_at__gt=since - DAY,
    )
    rows = quiet.values_list("company_id", "id")
    return [("LINE_EMPTY", company_id, str(job_id)) for company_id, job_id in rows]


def _alerts_of_contests(since: datetime, now: datetime) -> list[tuple[str, UUID, str]]:
    """Find open contests that are new, nearly due, or newly overdue.

    Sandboxes are left out, because no email leaves one.
    """
    rows = Contest.objects.filter(answer="", company__sandbox_of=None)
    moments = {
        "CONTEST_ASKED": rows.filter(asked_at__gt=since, asked_at__lte=now),
        "CONTEST_DUE": rows.filter(
            answer_by__gt=max(since + CONTEST_DUE, now), answer_by__lte=now + CONTEST_DUE
        ),
        "CONTEST_OVERDUE": rows.filter(answer_by__gt=since, answer_by__lte=now),
    }
    return [
        (kind, company_id, str(contest_id))
        for kind, found in moments.items()
        for company_id, contest_id in found.order_by("id").values_list("company_id", "id")
    ]


def _alerts_of_dead_letters(since: datetime) -> list[tuple[str, UUID, str]]:
    """Find the companies with a new dead letter."""
    dead = Task.objects.filter(status=Status.DEAD, owner_id__isnull=False, finished_at__gt=since)
    owners = set(dead.values_list("owner_id", flat=True))
    return [("DEAD_LETTERS", owner_id, "") for owner_id in owners if owner_id]


def _alerts_of_undelivered_emails(since: datetime) -> list[tuple[str, UUID, str]]:
    """Find the companies with an email that has just failed on every attempt, or come back."""
    failed = Email.objects.filter(
        state__in=[EmailState.FAILED, EmailState.BOUNCED], state_at__gt=since
    )
    rows = failed.exclude(problem=OVER).values_list("application__job__company_id", flat=True)
    return [("EMAILS_FAILED", company_id, "") for company_id in set(rows)]
