"""Emails to companies: digests, alerts, and who wants them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated
from uuid import UUID, uuid5

from django.conf import settings
from django.db.models import F, Max, QuerySet
from django.db.models.functions import Now
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, ngettext_lazy, pgettext

from applicants import mail
from applicants.people import stop_reminders
from jobs.models import Job, JobMember, JobStatus, Membership, Telling
from jobs.team import set_member_emails
from pipeline.consents.agreements import leave_pool
from pipeline.database import instants
from pipeline.domain.amounts import Amount
from pipeline.domain.errors import EmailNotRepeatable, EmailRepeatedTooSoon
from pipeline.domain.permissions import RULES, Action
from pipeline.domain.states import EventType
from pipeline.line.clock import read_company_clock
from pipeline.mail.links import board_url, unsubscribe_url
from pipeline.models import (
    Application,
    ApplicationAssignee,
    Contest,
    Email,
    EmailState,
    Event,
    Heartbeat,
    NoteMention,
)
from pipeline.notifications.alerts import ALERT_WORDS
from pipeline.notifications.applicants import OVER, is_offer_over
from pipeline.notifications.chats import post_alert
from pipeline.notifications.messages import Message, Paragraph
from pipeline.notifications.outbox import EVENT, EVENT_PRIORITY
from pipeline.notifications.rendering import render_email, render_unsubscribe_header
from pipeline.selectors.ageing import read_review_loads
from pipeline.selectors.emails import read_email
from pipeline.selectors.jobs import recent_activity
from pipeline.selectors.members import members_allowed
from pipeline.selectors.system import read_decay_worker_health
from pipeline.web import rate_limit
from pipeline.web.languages import in_language_of
from pipeline.web.rate_limit import Rate
from pipeline.wording.english import in_a_row, isolated, subject_line
from tasks.context import Context
from tasks.enqueue import NewTask, enqueue, enqueue_many
from tasks.models import Status, Task
from tasks.registry import task_type
from tasks.scheduling import schedules
from tasks.signature import JsonSchema, Positive

REMINDERS, DIGEST, ALERTS, REVIEWS = "reminders", "digest", "alerts", "reviews"
POOL = "pool"


def stop_subscription(what: str, of: str) -> None:
    """Send a person no more emails of a kind.

    `of` is the id of an applicant, a membership or, for the talent pool, an application.
    """
    if what == REMINDERS:
        stop_reminders(UUID(of))
    elif what == POOL:
        leave_pool(UUID(of))
    elif what == REVIEWS:
        set_member_emails(membership_id=int(of), reviews=Telling.NEVER)
    elif what == DIGEST:
        set_member_emails(membership_id=int(of), digest=False)
    else:
        set_member_emails(membership_id=int(of), alerts=False)


# Emails to the members of a company: a digest every morning, and alerts. Each is a task for one
# member, enqueued once a day for the same thing.


ALERT_TASK, DIGEST_TASK = "email.alert", "email.digest"  # the types of the tasks
PRIORITY = 10
DAY = timedelta(days=1)
MOST_JOBS = 50  # of a company in one digest
_NAMES = UUID("0a3f6c52-97f4-4a3c-9a55-3f1a0b1c6e77")


def email_alert(company_id: UUID, kind: str, *, about: str = "", job_id: UUID | None = None) -> int:
    """Tell the members who want alerts and may see the page, and chats; once a day for each thing.

    `kind` is a key of ALERT_WORDS, `about` the id of the thing; with the job that it belongs to,
    also those who may act on that job alone. Returns the number of emails; part of the caller's
    transaction.
    """
    assert kind in ALERT_WORDS, kind  # noqa: S101  a word in the code
    day = instants.now().date().isoformat()
    if settings.NOTIFY:
        post_alert(company_id, kind, about, day, job_id)
    if not settings.NOTIFY or settings.EMAIL_BACKEND == mail.NOWHERE:
        return 0
    action = ALERT_WORDS[kind].action
    team = members_allowed(action, company_id=company_id, job_id=job_id)
    wanting = team.filter(alerts=True)
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
    day = instants.now().date().isoformat()
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
    member = _find_member(membership_id)
    if member is None or not member.alerts:
        return "unwanted"
    with in_language_of(*member.user.languages):
        message = company_alert_email(member.company.name, kind)
        return _send_company_email(member, message, ALERTS, task_id)


def send_company_digest_email(membership_id: int, day: str, task_id: UUID) -> str:
    """Send a digest to a member, unless there is nothing to tell."""
    member = _find_member(membership_id)
    if member is None or not member.digest:
        return "unwanted"
    with in_language_of(*member.user.languages):
        message = company_digest_email(
            member.company.name,
            date.fromisoformat(day),
            _digest_figures(member),
            _digest_of_own_reviews(member),
        )
        return _send_company_email(member, message, DIGEST, task_id) if message else "nothing"


def company_alert_email(company: str, kind: str) -> Message:
    """Compose an alert."""
    words = ALERT_WORDS[kind]
    link = settings.SITE_URL + words.path
    paragraphs = (
        Paragraph(str(words.text), link, str(words.label)),
        Paragraph(_("About %(company)s.") % {"company": isolated(company)}),
    )
    # Translators: the subject of an email: the company's name, and what it is about.
    subject = _("%(company)s: %(subject)s")
    names = {"company": isolated(company), "subject": words.subject}
    return Message(subject_line(subject % names), paragraphs)


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
    seated: int = 0  # in the last day
    overdue: int = 0  # reviews past the target

    @property
    def line(self) -> str:
        """Return a sentence on the job's line."""
        seats = ngettext(
            "%(taken)s of %(seats)s seat taken", "%(taken)s of %(seats)s seats taken", self.capacity
        )
        waiting = ngettext("%(people)s person waiting", "%(people)s people waiting", self.waiting)
        confirming = ngettext("%(pending)s to confirm", "%(pending)s to confirm", self.must_confirm)
        missed = ngettext(
            "%(misses)s missed deadline in 24 hours",
            "%(misses)s missed deadlines in 24 hours",
            self.misses,
        )
        # Translators: of the four parts that follow the name of a job in a daily email.
        all_of_it = _("%(job)s: %(seats)s, %(waiting)s, %(confirming)s, %(missed)s.")
        return all_of_it % {
            "job": isolated(self.title),
            "seats": seats % {"taken": Amount(self.seats_taken), "seats": Amount(self.capacity)},
            "waiting": waiting % {"people": Amount(self.waiting)},
            "confirming": confirming % {"pending": Amount(self.must_confirm)},
            "missed": missed % {"misses": Amount(self.misses)},
        }

    @property
    def reviews(self) -> str:
        """Return a sentence on the job's reviews; empty if there is nothing to say."""
        seated = ngettext(
            "%(number)s person took a seat in 24 hours.",
            "%(number)s people took a seat in 24 hours.",
            self.seated,
        )
        overdue = ngettext(
            "%(number)s decision is overdue.", "%(number)s decisions are overdue.", self.overdue
        )
        told = [(seated, self.seated), (overdue, self.overdue)]
        return in_a_row(*(words % {"number": Amount(number)} for words, number in told if number))


def company_digest_email(
    company: str, day: date, figures: list[JobFigures], own: str = ""
) -> Message | None:
    """Compose a digest; None when no job of the company is open. `own` is about the member."""
    if not figures:
        return None
    paragraphs = [
        Paragraph(
            in_a_row(each.line, each.reviews),
            each.link,
            each.title,
        )
        for each in figures
    ]
    mine = [Paragraph(own)] if own else []
    subject = _("%(company)s: your jobs on %(day)s") % {
        "company": isolated(company),
        # Translators: a date as Django writes it: 5 March 2026.
        "day": date_format(day, pgettext("date", "j F Y")),
    }
    return Message(subject_line(subject), (*mine, *paragraphs))


def _digest_of_own_reviews(member: Membership) -> str:
    """Say what a member was assigned and mentioned in within a day, if they want it here."""
    if member.telling != Telling.DIGEST:
        return ""
    own = {"user_id": member.user_id, "at__gt": Now() - DAY}
    jobs = _seen_jobs(member)
    assigned = ApplicationAssignee.objects.filter(job__in=jobs)
    mentions = NoteMention.objects.filter(note__application__job__in=jobs)
    numbers = {
        "assigned": assigned.annotate(at=F("assigned_at")).filter(**own).count(),
        "mentions": mentions.annotate(at=F("note__written_at")).filter(**own).count(),
    }
    if not any(numbers.values()):
        return ""
    words = _(
        "In 24 hours, reviews assigned to you: %(assigned)d. Notes that mention you: %(mentions)d."
    )
    return words % numbers


def _find_member(membership_id: int) -> Membership | None:
    members = Membership.objects.select_related("user", "company")
    return members.filter(id=membership_id, user__is_active=True).first()


def _seen_jobs(member: Membership) -> QuerySet[Job]:
    """Return the jobs whose lines the member may see."""
    jobs, rule = Job.objects.filter(company_id=member.company_id), RULES[Action.READ_JOB]
    if member.role in rule.roles:
        return jobs
    theirs = JobMember.objects.filter(membership=member, role__in=rule.job_roles)
    return jobs.filter(id__in=theirs.values("job_id"))


def _digest_figures(member: Membership) -> list[JobFigures]:
    open_jobs = _seen_jobs(member).filter(status=JobStatus.OPEN)
    jobs = list(open_jobs.select_related("posting", "company").order_by("-id")[:MOST_JOBS])
    activity = recent_activity([job.id for job in jobs], DAY)
    loads = read_review_loads(jobs, read_company_clock(member.company_id).now)
    return [
        JobFigures(
            title=job.posting.title,
            link=board_url(job.id),
            seats_taken=job.active_count + job.pending_count,
            capacity=job.capacity,
            waiting=job.people_waiting,
            must_confirm=job.pending_count,
            misses=activity[job.id].misses,
            seated=loads[job.id].lately if job.id in loads else 0,
            overdue=loads[job.id].overdue if job.id in loads else 0,
        )
        for job in jobs
    ]


def _send_company_email(member: Membership, message: Message, what: str, task_id: UUID) -> str:
    email = render_email(message, to=member.user.email, email_id=uuid5(_NAMES, str(task_id)))
    render_unsubscribe_header(email, unsubscribe_url(what, member.id))
    try:
        mail.deliver(email)
    except mail.Refused:
        return "refused"
    return "sent"


# Alerts to a company's members; their conditions are checked every few minutes.


# How long the decay worker may be silent, and how far back each check reaches: longer than the
# time between two checks. After an absence of the workers, it reaches back to the previous check.
SILENCE, REACH, LONGEST_REACH = timedelta(minutes=1), timedelta(minutes=15), timedelta(days=7)
# How long before an answer is due its company is reminded.
CONTEST_DUE = timedelta(days=3)
LOOKED = "alerts"  # the heartbeat that says how far the last look came


def raise_company_alerts() -> dict[str, int]:
    """Alert the members of every company that a condition concerns; return how many of each."""
    now = instants.now()
    beats = Heartbeat.objects.filter(worker=LOOKED).values_list("completed_at", flat=True)
    since = max(min(beats.first() or now, now - REACH), now - LONGEST_REACH)
    raised: Counter[str] = Counter()
    for kind, company_id, about in [
        *_decay_worker_alerts(),
        *_empty_line_alerts(since),
        *_dead_letter_alerts(since),
        *_undelivered_email_alerts(since),
    ]:
        raised[kind] += email_alert(company_id, kind, about=about)
    for kind, company_id, about, job_id in [
        *_contest_alerts(since, now),
        *_skipped_plan_alerts(since),
    ]:
        raised[kind] += email_alert(company_id, kind, about=about, job_id=job_id)
    Heartbeat.objects.update_or_create(worker=LOOKED, defaults={"completed_at": now})
    return {kind: number for kind, number in raised.items() if number}


def _decay_worker_alerts() -> list[tuple[str, UUID, str]]:
    """Find the companies with overdue changes, if the decay worker has been silent."""
    seen = read_decay_worker_health()
    if seen.at is None or instants.now() - seen.at < SILENCE:
        return []
    due = Job.objects.filter(next_due_at__isnull=False).order_by("company_id")
    companies = due.values_list("company_id", flat=True).distinct()
    return [("DECAY_SILENT", company_id, "") for company_id in companies]


def _empty_line_alerts(since: datetime) -> list[tuple[str, UUID, str]]:
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


def _contest_alerts(since: datetime, now: datetime) -> list[tuple[str, UUID, str, UUID]]:
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
        (kind, company_id, str(contest_id), job_id)
        for kind, found in moments.items()
        for company_id, contest_id, job_id in found.order_by("id").values_list(
            "company_id", "id", "job_id"
        )
    ]


def _skipped_plan_alerts(since: datetime) -> list[tuple[str, UUID, str, UUID]]:
    """Find the jobs in which planned changes were skipped because seats are reserved."""
    # By the small index of events that are about no application.
    about_jobs = Event.objects.filter(application_id__isnull=True)
    events = about_jobs.filter(event=EventType.SEATS_KEPT, at__gt=since)
    jobs = Job.objects.filter(id__in=events.values("job_id"), is_test=False).order_by("id")
    rows = jobs.values_list("company_id", "id")
    return [("SEATS_KEPT", company_id, str(job_id), job_id) for company_id, job_id in rows]


def _dead_letter_alerts(since: datetime) -> list[tuple[str, UUID, str]]:
    """Find the companies with a new dead letter."""
    dead = Task.objects.filter(status=Status.DEAD, owner_id__isnull=False, finished_at__gt=since)
    owners = set(dead.values_list("owner_id", flat=True))
    return [("DEAD_LETTERS", owner_id, "") for owner_id in owners if owner_id]


def _undelivered_email_alerts(since: datetime) -> list[tuple[str, UUID, str]]:
    """Find the companies with an email that has just failed on every attempt, or come back."""
    failed = Email.objects.filter(
        state__in=[EmailState.FAILED, EmailState.BOUNCED], state_at__gt=since
    )
    rows = failed.exclude(problem=OVER).values_list("application__job__company_id", flat=True)
    return [("EMAILS_FAILED", company_id, "") for company_id in set(rows)]


# Task handlers of emails to companies, and the schedules that start them.


EVERY_FIVE_MINUTES, EVERY_MORNING = "*/5 * * * *", "0 6 * * *"
DIGESTS, CONDITIONS = "email.digests", "email.alerts"


@task_type(key=ALERT_TASK, queue="email", timeout_seconds=60, max_attempts=10)
def send_alert(
    context: Context,
    membership: Positive,
    day: Annotated[str, JsonSchema(format="date")],
    kind: Annotated[str, JsonSchema(enum=list(ALERT_WORDS))],
) -> dict[str, str]:
    """Send an alert to a member: {"outcome"}."""
    return {"outcome": send_company_alert_email(membership, kind, day, context.task_id)}


@task_type(key=DIGEST_TASK, queue="email", timeout_seconds=60, max_attempts=10)
def send_digest(
    context: Context, membership: Positive, day: Annotated[str, JsonSchema(format="date")]
) -> dict[str, str]:
    """Send a digest to a member: {"outcome"}."""
    return {"outcome": send_company_digest_email(membership, day, context.task_id)}


@task_type(key=DIGESTS, owner="site", queue="email", cap=1)
def start_digests() -> dict[str, int]:
    """Enqueue the digests of this day: {"digests"}."""
    return {"digests": enqueue_company_digest_emails()}


@task_type(key=CONDITIONS, owner="site", queue="upkeep", cap=1)
def raise_alerts() -> dict[str, int]:
    """Alert companies to matters that need them: the number of emails of each kind."""
    return raise_company_alerts()


def ensure_company_tasks() -> None:
    """Schedule both. Safe to call at every start, and by many processes at once."""
    schedules.ensure("Digests", EVERY_MORNING, DIGESTS)
    schedules.ensure("Alerts", EVERY_FIVE_MINUTES, CONDITIONS)


# Repetition of an email about an application, at a company's request.


MOST_REPEATS = 5
REPEATS = Rate(3, 60)  # emails that a company may have sent again about one application


def repeat_email(
    *, application_id: UUID, email_id: UUID, producer: str, request_id: UUID | None = None
) -> None:
    """Send an email about an application again, as a new email.

    It is composed again, so a person whose address was erased gets none. `request_id` identifies
    the
    company's request: repeating it sends nothing more. Raises EmailNotFound, EmailNotRepeatable,
    EmailRepeatedTooSoon.
    """
    email = read_email(application_id, email_id)
    tally = rate_limit.count("email_again", str(application_id), REPEATS)
    if not tally.allowed:
        raise EmailRepeatedTooSoon(wait_seconds=tally.wait_seconds)
    application = Application.objects.select_related("applicant").get(id=application_id)
    if application.applicant.is_erased:
        raise EmailNotRepeatable(
            why=gettext_lazy("The address was erased because the person asked for this.")
        )
    if email.state == EmailState.QUEUED:
        raise EmailNotRepeatable(why=gettext_lazy("This email is still being sent."))
    if email.is_reminder:
        raise EmailNotRepeatable(
            why=gettext_lazy("Reminders are not sent again. Send the offer again.")
        )
    event = Event.objects.filter(job_id=application.job_id, seq=email.seq).first()
    if event is None:
        raise EmailNotRepeatable(why=gettext_lazy("The log of this job is in the archive."))
    if is_offer_over(application, event):
        raise EmailNotRepeatable(why=gettext_lazy("This offer is no longer open."))
    same = Email.objects.filter(application_id=application.id, seq=email.seq, kind=email.kind)
    number = same.aggregate(last=Max("number"))["last"] + 1
    if number > MOST_REPEATS:
        raise EmailNotRepeatable(
            why=ngettext_lazy(
                "This email was already sent again {most} time.",
                "This email was already sent again {most} times.",
                "most",
            ),
            most=MOST_REPEATS,
        )
    enqueue(
        EVENT,
        {"application": str(application.id), "seq": email.seq, "number": number},
        priority=EVENT_PRIORITY,
        idempotency_key=f"{application.id}:{email.seq}:{email.kind}:{request_id or number}",
        producer=producer,
    )
