"""Emails and notifications to reviewers: seats taken, assignments, mentions, dues, messages.

They name the job and never the applicant: an email that has been sent cannot be erased, and a
notification can be read on a locked screen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated
from uuid import UUID, uuid5
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from applicants import mail
from applicants.models import ERASED_NAME
from jobs.models import Job, Membership, Telling
from pipeline.database import instants
from pipeline.domain.amounts import Amount
from pipeline.domain.states import Status
from pipeline.line import write
from pipeline.line.event_log import LogEntry
from pipeline.line.locked_job import LockedJob
from pipeline.mail.links import board_url, overdue_url, review_url, unsubscribe_url
from pipeline.models import (
    Application,
    ApplicationAssignee,
    ApplicationMessage,
    DecisionItem,
    Event,
    ReviewNotice,
)
from pipeline.notifications import push
from pipeline.notifications.chats import post_overdue, post_seats
from pipeline.notifications.devices import KEPT_FOR, DeviceText, Owner, short_title
from pipeline.notifications.messages import Message, Paragraph
from pipeline.notifications.rendering import render_email, render_unsubscribe_header
from pipeline.review import notices, rota
from pipeline.review.decisions import OPEN
from pipeline.review.notices import News, members_concerned, note_once, read_telling, tell
from pipeline.selectors.ageing import read_jobs_with_target, read_late_reviews
from pipeline.selectors.jobs import read_job
from pipeline.web.languages import in_language_of
from pipeline.wording.english import format_time, isolated, subject_line
from tasks.context import Context
from tasks.enqueue import NewTask
from tasks.registry import task_type
from tasks.retry import Backoff
from tasks.scheduling import schedules
from tasks.signature import JsonSchema, Positive

SEATS, TARGETS = "review.seats", "review.targets"  # the types of the tasks
PRIORITY = 10
EVERY_FIVE_MINUTES = "*/5 * * * *"
Kind = ReviewNotice.Kind
_NAMES = UUID("6f0d3a5b-8a0e-4a0c-9a44-2a7d0f2f5c11")


def start() -> None:
    """Have every change after which someone is in review followed by the rota and the emails."""
    write.register_follow_up(seat_tasks)


def seat_tasks(job: LockedJob, entries: list[LogEntry]) -> list[NewTask]:
    """Derive the task that follows the events by which people took seats."""
    taken = [entry.seq for entry in entries if entry.to_status == Status.ACTIVE]
    if not taken or not settings.NOTIFY:
        return []
    payload = {"job_id": str(job.id), "first_seq": taken[0], "last_seq": taken[-1]}
    return [NewTask(SEATS, payload, priority=PRIORITY)]


@task_type(key=SEATS, queue="email", timeout_seconds=120, max_attempts=20)
def follow_seats(job_id: UUID, first_seq: Positive, last_seq: Positive) -> dict[str, int]:
    """Assign the people who took seats by the rota, and tell their reviewers: {"emails"}."""
    job = read_job(job_id)
    taken = Event.objects.filter(
        job_id=job_id, seq__range=(first_seq, last_seq), to_status=Status.ACTIVE
    )
    rows = taken.order_by("seq").values_list("application_id", "at")
    times = {application_id: at for application_id, at in rows if application_id}
    still = Application.objects.filter(id__in=times, status=Status.ACTIVE)
    # Someone who has left the seat meanwhile, even to take another, concerns nobody any more.
    seats = [
        (application_id, since)
        for application_id, since in still.order_by("id").values_list("id", "status_since")
        if since == times[application_id]
    ]
    for application_id, since in seats:
        rota.assign_in_turn(job, application_id, since)
    if not seats or job.is_test or not settings.NOTIFY:
        return {"emails": 0}
    with transaction.atomic():
        new = note_once(seats, Kind.SEAT)
        post_seats(job, [each for each in seats if each[0] in new], first_seq)
        return {"emails": tell(job, News.SEAT, new) if _are_emails_sent() else 0}


@task_type(key=TARGETS, owner="site", queue="upkeep", cap=1)
def follow_targets() -> dict[str, int]:
    """Remind reviewers at the target, and alert them at twice the target: {"emails"}.

    Once for each review: `ReviewNotice` remembers it.
    """
    if not settings.NOTIFY:
        return {"emails": 0}
    now, jobs, emails = instants.now(), read_jobs_with_target(), 0
    due = read_late_reviews(jobs, now, times=1, without=[Kind.DUE, Kind.OVERDUE])
    late = read_late_reviews(jobs, now, times=2, without=[Kind.OVERDUE])
    for job in jobs:
        overdue = late.get(job.id, [])
        # One email for each review: what is overdue is not also due.
        only_due = [seat for seat in due.get(job.id, []) if seat not in overdue]
        with transaction.atomic():
            new = note_once(overdue, Kind.OVERDUE)
            post_overdue(job, [seat for seat in overdue if seat[0] in new])
            if _are_emails_sent():
                emails += tell(job, News.OVERDUE, new)
                emails += tell(job, News.DUE, note_once(only_due, Kind.DUE))
    return {"emails": emails}


def ensure_targets() -> None:
    """Schedule the look at targets. Safe to call at every start, and by many processes at once."""
    schedules.ensure("Review targets", EVERY_FIVE_MINUTES, TARGETS)


def _are_emails_sent() -> bool:
    return settings.NOTIFY and settings.EMAIL_BACKEND != mail.NOWHERE


# The email to one member.


@task_type(key=notices.TASK, queue="email", timeout_seconds=60, max_attempts=10)
def send_news(
    context: Context,
    membership: Positive,
    job_id: UUID,
    news: Annotated[str, JsonSchema(enum=[each.value for each in News])],
    applications: Annotated[list[str], JsonSchema(maxItems=notices.MOST_NAMED)],
) -> dict[str, str]:
    """Send a member the news about reviews, if they are still true: {"outcome"}."""
    member = _read_told(membership, job_id, News(news))
    if member is None:
        return {"outcome": "unwanted"}
    left = _still_true(News(news), [UUID(each) for each in applications], member)
    if not left:
        return {"outcome": "over"}
    with in_language_of(*member.user.languages):
        message = news_email(read_job(job_id), News(news), left)
        email = render_email(
            message, to=member.user.email, email_id=uuid5(_NAMES, str(context.task_id))
        )
    render_unsubscribe_header(email, unsubscribe_url("reviews", member.id))
    try:
        mail.deliver(email)
    except mail.Refused:
        return {"outcome": "refused"}
    return {"outcome": "sent"}


def _read_told(membership_id: int, job_id: UUID, news: News) -> Membership | None:
    """Return the member, if they still want to be told about the job and may see it.

    None too if the site sends no emails.
    """
    if not _are_emails_sent():
        return None
    job = Job.objects.only("company_id").get(id=job_id)
    concerned = members_concerned(news, company_id=job.company_id, job_id=job_id)
    member = concerned.select_related("user", "company").filter(id=membership_id).first()
    if member is None or read_telling(member, job_id) == Telling.NEVER:
        return None
    return member


def _still_true(
    news: News, application_ids: Sequence[UUID], member: Membership
) -> list[Application]:
    """Return the applications that the news still concern."""
    people = Application.objects.filter(id__in=application_ids).exclude(name=ERASED_NAME)
    if news is News.ASSIGNED:
        theirs = ApplicationAssignee.objects.filter(user_id=member.user_id)
        people = people.exclude(status=Status.INACTIVE)
        people = people.filter(id__in=theirs.values("application_id"))
    elif news is News.MESSAGE:
        unread = ApplicationMessage.objects.filter(side="APPLICANT", read_at=None)
        people = people.filter(id__in=unread.values("application_id"))
    elif news is not News.MENTIONED:
        decided = DecisionItem.objects.filter(application_id__in=application_ids, state__in=OPEN)
        people = people.filter(status=Status.ACTIVE)
        people = people.exclude(id__in=decided.values("application_id"))
    return list(people.order_by("status_since", "id"))


def news_email(job: Job, news: News, applications: Sequence[Application]) -> Message:
    """Compose the email about the reviews of some applications to a job."""
    number, title = len(applications), job.posting.title
    subject, text = _WORDS[news](number)
    link = _review_link(job.id, news, applications)
    label = _("Open the message") if news is News.MESSAGE else _("Open the review")
    paragraphs = [Paragraph(text.format(job=isolated(title)), link, label)]
    clock = job.review_clock
    is_begun = number == 1 and applications[0].status == Status.ACTIVE
    if clock and is_begun and news in (News.SEAT, News.ASSIGNED):
        zone = ZoneInfo(clock.hours.zone if clock.hours else job.quiet_time_zone)
        due = format_time(clock.due_at(applications[0].status_since), zone)
        aim = _("Your company aims to decide by {time}.")
        paragraphs.append(Paragraph(aim.format(time=due)))
    why = _(
        "Choose how you are told on the page of your account, or for one job in its review"
        " settings."
    )
    paragraphs.append(Paragraph(why))
    return Message(subject_line(subject.format(job=isolated(title))), tuple(paragraphs))


def _review_link(job_id: UUID, news: News, applications: Sequence[Application]) -> str:
    if len(applications) == 1:
        review = review_url(applications[0].id)
        return f"{review}messages/" if news is News.MESSAGE else review
    return overdue_url(job_id) if news in (News.DUE, News.OVERDUE) else board_url(job_id)


def _seat_words(number: int) -> tuple[str, str]:
    subject = ngettext(
        "Someone has taken a seat for “{job}”",
        "{number} people have taken seats for “{job}”",
        number,
    )
    text = ngettext(
        "Someone is now in review for “{job}”.",
        "{number} people are now in review for “{job}”.",
        number,
    )
    return _numbered(subject, number), _numbered(text, number)


def _assigned_words(number: int) -> tuple[str, str]:
    text = _("An application for “{job}” is assigned to you.")
    return _("You are assigned to a review for “{job}”"), text


def _mentioned_words(number: int) -> tuple[str, str]:
    text = _("A colleague mentioned you in a note on an application for “{job}”.")
    return _("You are mentioned in a note about “{job}”"), text


def _due_words(number: int) -> tuple[str, str]:
    subject = ngettext(
        "A decision for “{job}” is due", "{number} decisions for “{job}” are due", number
    )
    text = ngettext(
        "Someone has been in review for “{job}” as long as your company aims to take.",
        "{number} people have been in review for “{job}” as long as your company aims to take.",
        number,
    )
    return _numbered(subject, number), _numbered(text, number)


def _overdue_words(number: int) -> tuple[str, str]:
    subject = ngettext(
        "A decision for “{job}” is overdue", "{number} decisions for “{job}” are overdue", number
    )
    text = ngettext(
        "Someone has been in review for “{job}” twice as long as your company aims to take."
        " Their page shows them this aim.",
        "{number} people have been in review for “{job}” twice as long as your company aims to"
        " take. Their pages show them this aim.",
        number,
    )
    return _numbered(subject, number), _numbered(text, number)


def _numbered(text: str, number: int) -> str:
    return text.replace("{number}", str(Amount(number)))


def _message_words(number: int) -> tuple[str, str]:
    text = ngettext(
        "Someone who applied for “{job}” wrote to your company. Read and answer it on the page.",
        "{number} people who applied for “{job}” wrote to your company.",
        number,
    )
    return _("A message about “{job}”"), _numbered(text, number)


_WORDS = {
    News.MESSAGE: _message_words,
    News.SEAT: _seat_words,
    News.ASSIGNED: _assigned_words,
    News.MENTIONED: _mentioned_words,
    News.DUE: _due_words,
    News.OVERDUE: _overdue_words,
}


# The notification on one member's devices.


@task_type(
    key=notices.PUSH_TASK,
    queue="email",
    timeout_seconds=60,
    max_attempts=8,
    cap=4,
    backoff=Backoff(base_seconds=15, cap_seconds=3_600, jitter_seconds=5),
    waits_for_service=True,
)
def push_news(
    context: Context,
    membership: Positive,
    job_id: UUID,
    news: Annotated[str, JsonSchema(enum=[each.value for each in News])],
    applications: Annotated[list[str], JsonSchema(maxItems=notices.MOST_NAMED)],
) -> dict[str, int]:
    """Notify a member's devices of the news about reviews, if they are still true: {"sent"}."""
    member = _read_told(membership, job_id, News(news))
    if member is None:
        return {"sent": 0}
    left = _still_true(News(news), [UUID(each) for each in applications], member)
    if not left:
        return {"sent": 0}
    with in_language_of(*member.user.languages):
        text = push_text(read_job(job_id), News(news), len(left))
    notification = push.Notification(
        key=str(context.task_id),
        text=text,
        about=left[0].id if len(left) == 1 else job_id,
        path=_review_link(job_id, News(news), left).removeprefix(settings.SITE_URL),
        ends_at=instants.now() + KEPT_FOR,
    )
    return push.send(Owner(user_id=member.user_id), notification)


def push_text(job: Job, news: News, number: int) -> DeviceText:
    """Compose the notification about the reviews of some applications to a job."""
    title, body = _PUSH_WORDS[news](number)
    named = title.format(job=short_title(job.posting.title))
    return DeviceText(named, _numbered(body, number), is_urgent=False)


def _seat_push(number: int) -> tuple[str, str]:
    text = ngettext("Someone is now in review.", "{number} people are now in review.", number)
    return _("Seat taken: {job}"), text


def _assigned_push(number: int) -> tuple[str, str]:
    return _("Assigned to you: {job}"), _("You review this application.")


def _mentioned_push(number: int) -> tuple[str, str]:
    return _("You are mentioned: {job}"), _("A colleague mentioned you in a note.")


def _due_push(number: int) -> tuple[str, str]:
    text = ngettext(
        "Someone has been in review as long as your company aims to take.",
        "{number} people have been in review as long as your company aims to take.",
        number,
    )
    return _("Decision due: {job}"), text


def _overdue_push(number: int) -> tuple[str, str]:
    text = ngettext(
        "Someone has been in review twice as long as your company aims to take.",
        "{number} people have been in review twice as long as your company aims to take.",
        number,
    )
    return _("Decision overdue: {job}"), text


def _message_push(number: int) -> tuple[str, str]:
    text = ngettext("An applicant wrote to you.", "{number} applicants wrote to you.", number)
    return _("Message: {job}"), text


_PUSH_WORDS = {
    News.MESSAGE: _message_push,
    News.SEAT: _seat_push,
    News.ASSIGNED: _assigned_push,
    News.MENTIONED: _mentioned_push,
    News.DUE: _due_push,
    News.OVERDUE: _overdue_push,
}
