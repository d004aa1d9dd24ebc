"""Emails to the members of a company: a digest every morning, and alerts.

Each is a task for one member, enqueued once a day for the same thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from uuid import UUID, uuid5

from django.conf import settings

from applicants import mail
from jobs.models import Job, JobStatus, Membership, Role
from pipeline.database.instants import database_now
from pipeline.domain.permissions import RULES, Action
from pipeline.mail.links import board_link, unsubscribe_link
from pipeline.notifications.message_parts import Message, Paragraph
from pipeline.notifications.rendering import render_message_as_email, render_unsubscribe_header
from pipeline.notifications.subscriptions import ALERTS, DIGEST
from pipeline.selectors.recent_stats import recent_activity
from pipeline.wording.english import count, people
from tasks.enqueue import NewTask, enqueue_many

ALERT_TASK, DIGEST_TASK = "email.alert", "email.digest"  # the types of the tasks
PRIORITY = 10
DAY = timedelta(days=1)
MOST_JOBS = 50  # of a company in one digest
_NAMES = UUID("0a3f6c52-97f4-4a3c-9a55-3f1a0b1c6e77")


@dataclass(frozen=True, slots=True)
class AlertWords:
    """An alert: its subject, the sentence below, and the path of the page it leads to."""

    subject: str
    text: str
    path: str
    label: str
    action: Action = Action.READ_COMPANY  # only members who may take it can open the page


ALERT_WORDS: dict[str, AlertWords] = {
    "DECAY_SILENT": AlertWords(
        "Deadlines are not being enforced",
        "The decay worker has not run for more than a minute. Deadlines still count, but the next"
        " person is not offered a seat until someone changes the job. Start the worker"
        " (manage.py run_decay).",
        "/company/system/",
        "System status",
    ),
    "LINE_EMPTY": AlertWords(
        "A job has free seats and nobody waiting",
        "An open job has had free seats and an empty waitlist for a day.",
        "/company/",
        "Your jobs",
    ),
    "DEAD_LETTERS": AlertWords(
        "A background task failed in all its attempts",
        "At least one of your tasks failed in all its attempts. Look at its error, then run it"
        " again or discard it.",
        "/company/work/dead/",
        "Dead letters",
    ),
    "EMAILS_FAILED": AlertWords(
        "An email could not be delivered",
        "At least one email to an applicant was refused or came back. The application’s page says"
        " which one, and why.",
        "/company/",
        "Your jobs",
    ),
    "CONTEST_ASKED": AlertWords(
        "An applicant has asked you to look again",
        "An applicant whose application ended has asked you to look at it again. The list shows"
        " when your answer is due.",
        "/company/look-again/?state=OPEN",
        "Look again",
        Action.ANSWER_CONTEST,
    ),
    "CONTEST_DUE": AlertWords(
        "An applicant is waiting for your answer",
        "You have less than three days left to answer someone who asked you to look again.",
        "/company/look-again/?state=OPEN",
        "Look again",
        Action.ANSWER_CONTEST,
    ),
    "CONTEST_OVERDUE": AlertWords(
        "An answer to an applicant is overdue",
        "Someone asked you to look again, and your answer is overdue. Answer now. Everyone can"
        " see how many of a job’s answers are overdue.",
        "/company/look-again/?state=OVERDUE",
        "Look again",
        Action.ANSWER_CONTEST,
    ),
    "WEBHOOK_DISABLED": AlertWords(
        "A webhook endpoint was switched off",
        "We switched off a webhook endpoint, because every delivery to it failed for three days or"
        " it answered 410 Gone.",
        "/company/webhooks/",
        "Webhooks",
        Action.MANAGE_WEBHOOKS,
    ),
}


def email_alert_to_company(company_id: UUID, kind: str, *, about: str = "") -> int:
    """Email the members who want alerts and may see the page; once a day for the same thing.

    `kind` is a key of ALERT_WORDS, `about` the id of the thing. Returns the number of tasks; part
    of the caller's transaction.
    """
    assert kind in ALERT_WORDS, kind  # noqa: S101  a word in the code
    if not settings.NOTIFY or settings.EMAIL_BACKEND == mail.NOWHERE:
        return 0
    rule = RULES[ALERT_WORDS[kind].action]
    concerned = [role for role in Role if rule.allows_member(role)]
    wanting = Membership.objects.filter(company_id=company_id, alerts=True, role__in=concerned)
    day = database_now().date().isoformat()
    tasks = [
        NewTask(
            ALERT_TASK,
            {"membership": member, "kind": kind, "day": day},
            priority=PRIORITY,
            idempotency_key=f"{member}:{kind}:{about}:{day}",
        )
        for member in wanting.order_by("id").values_list("id", flat=True)
    ]
    return sum(each.is_new for each in enqueue_many(tasks)) if tasks else 0


def enqueue_company_digest_emails() -> int:
    """Enqueue today's digest for every member who wants it; return the number."""
    if not settings.NOTIFY or settings.EMAIL_BACKEND == mail.NOWHERE:
        return 0
    day = database_now().date().isoformat()
    members = Membership.objects.filter(digest=True).order_by("id").values_list("id", flat=True)
    tasks = [
        NewTask(
            DIGEST_TASK,
            {"membership": member, "day": day},
            idempotency_key=f"{member}:{day}",
        )
        for member in members
    ]
    return sum(each.is_new for each in enqueue_many(tasks)) if tasks else 0


def send_company_alert_email(membership_id: int, kind: str, day: str, task_id: UUID) -> str:
    """Send an alert to a member; return the outcome in a word."""
    member = _member_to_send_company_email(membership_id)
    if member is None or not member.alerts:
        return "unwanted"
    return _send_company_email(
        member, company_alert_email(member.company.name, kind), ALERTS, task_id
    )


def send_company_digest_email(membership_id: int, day: str, task_id: UUID) -> str:
    """Send a digest to a member, unless there is nothing to tell."""
    member = _member_to_send_company_email(membership_id)
    if member is None or not member.digest:
        return "unwanted"
    message = company_digest_email(
        member.company.name, date.fromisoformat(day), _figures_in_company_digest(member)
    )
    return _send_company_email(member, message, DIGEST, task_id) if message else "nothing"


def company_alert_email(company: str, kind: str) -> Message:
    """Compose an alert."""
    words = ALERT_WORDS[kind]
    link = settings.SITE_URL + words.path
    paragraphs = (Paragraph(words.text, link, words.label), Paragraph(f"About {company}."))
    return Message(f"{company}: {words.subject}", paragraphs)


@dataclass(frozen=True, slots=True)
class JobFigures:
    """A job's figures in a digest."""

    title: str
    link: str
    seats_taken: int
    capacity: int
    waiting: int
    must_confirm: int
    misses: int


def company_digest_email(company: str, day: date, figures: list[JobFigures]) -> Message | None:
    """Compose a digest; None when no job of the company is open."""
    if not figures:
        return None
    paragraphs = [
        Paragraph(
            f"{each.title}: {each.seats_taken} of {count(each.capacity, 'seat')} taken,"
            f" {people(each.waiting)} waiting, {each.must_confirm} to confirm,"
            f" {count(each.misses, 'missed deadline')} in 24 hours.",
            each.link,
            each.title,
        )
        for each in figures
    ]
    return Message(f"{company}: your jobs on {day.day} {day:%B %Y}", tuple(paragraphs))


def _member_to_send_company_email(membership_id: int) -> Membership | None:
    members = Membership.objects.select_related("user", "company")
    return members.filter(id=membership_id, user__is_active=True).first()


def _figures_in_company_digest(member: Membership) -> list[JobFigures]:
    open_jobs = Job.objects.filter(company_id=member.company_id, status=JobStatus.OPEN)
    jobs = list(open_jobs.select_related("posting").order_by("-id")[:MOST_JOBS])
    activity = recent_activity([job.id for job in jobs], DAY)
    return [
        JobFigures(
            title=job.posting.title,
            link=board_link(job.id),
            seats_taken=job.active_count + job.pending_count,
            capacity=job.capacity,
            waiting=job.people_waiting,
            must_confirm=job.pending_count,
            misses=activity[job.id].misses,
        )
        for job in jobs
    ]


def _send_company_email(member: Membership, message: Message, what: str, task_id: UUID) -> str:
    email = render_message_as_email(
        message, to=member.user.email, email_id=uuid5(_NAMES, str(task_id))
    )
    render_unsubscribe_header(email, unsubscribe_link(what, member.id))
    try:
        mail.hand_mail_to_server(email)
    except mail.Refused:
        return "refused"
    return "sent"
