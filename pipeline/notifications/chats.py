"""Messages to chats: which events become which cards.

Whatever a card says is read again when it is posted, and a card that is no longer true is left out.
Cards name the job, never the applicant, as emails to reviewers do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.conf import settings
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from applicants.models import ERASED_NAME
from jobs.models import Job
from pipeline.chat import queue
from pipeline.chat.cards import Card
from pipeline.domain.amounts import Amount
from pipeline.domain.states import Status
from pipeline.figures import reports
from pipeline.mail.links import board_url, overdue_url, review_url
from pipeline.models import (
    Application,
    ChatCard,
    ChatMessage,
    DecisionItem,
    WeeklyReport,
)
from pipeline.notifications.alerts import ALERT_WORDS
from pipeline.review.decisions import OPEN
from pipeline.wording.english import format_time, in_a_row, isolated

# The most people of one change who have a message each; more have one together.
MOST_APART = 3
CONTESTS = "CONTEST_"  # the alerts about contests begin so


def start() -> None:
    """Have each weekly report followed by its message."""
    reports.register_follow_up(post_report)


# What becomes a message. Part of the transaction of its cause.


def post_seats(job: Job, seats: Sequence[tuple[UUID, datetime]], first_seq: int) -> int:
    """Queue the messages about people who took seats in one change; return how many."""
    return _post_people(ChatCard.SEAT, job, seats, f"seats:{job.id}:{first_seq}")


def post_overdue(job: Job, seats: Sequence[tuple[UUID, datetime]]) -> int:
    """Queue the messages about reviews that are newly overdue; return how many."""
    if not seats:
        return 0
    last_id, since = seats[-1]
    return _post_people(ChatCard.OVERDUE, job, seats, f"overdue:{last_id}:{since.isoformat()}")


def _post_people(
    card: ChatCard, job: Job, seats: Sequence[tuple[UUID, datetime]], together: str
) -> int:
    if job.is_test:
        return 0
    named = [(str(id_), since.isoformat()) for id_, since in seats]
    groups = [[each] for each in named] if len(named) <= MOST_APART else [named]
    return sum(
        queue.post(
            card,
            company_id=job.company_id,
            job_id=job.id,
            about={"job": str(job.id), "seats": group},
            source=f"{card}:{group[0][0]}:{group[0][1]}" if len(group) == 1 else together,
        )
        for group in groups
    )


def post_alert(company_id: UUID, kind: str, about: str, day: str, job_id: UUID | None) -> int:
    """Queue an alert, or the news of a contest, once a day for the same thing."""
    is_contest = kind.startswith(CONTESTS)
    return queue.post(
        ChatCard.CONTEST if is_contest else ChatCard.ALERT,
        company_id=company_id,
        job_id=job_id,
        about={"kind": kind, "job": str(job_id) if job_id else None},
        source=f"alert:{kind}:{about}:{day}",
    )


def post_report(job: Job, report: WeeklyReport) -> None:
    """Queue the message about a job's weekly report, once for each week."""
    if settings.NOTIFY and not job.is_test:
        week = report.week.isoformat()
        queue.post(
            ChatCard.REPORT,
            company_id=job.company_id,
            job_id=job.id,
            about={"job": str(job.id), "week": week},
            source=f"report:{job.id}:{week}",
        )


# Words. None if a message is over.


def compose(message: ChatMessage) -> Card | None:
    """Make the card of a message from what is true now, in the language that is active."""
    return _COMPOSERS[ChatCard(message.card)](message)


def _read_job(about: dict[str, Any]) -> Job | None:
    rows = Job.objects.select_related("posting", "company")
    return rows.filter(id=about["job"]).first() if about.get("job") else None


def _read_seats(about: dict[str, Any]) -> list[Application]:
    """Return who is still in the seat that the message is about, and not decided on."""
    since = {UUID(id_): datetime.fromisoformat(at) for id_, at in about["seats"]}
    decided = DecisionItem.objects.filter(application_id__in=since, state__in=OPEN)
    people = Application.objects.filter(id__in=since, status=Status.ACTIVE)
    people = people.exclude(name=ERASED_NAME).exclude(id__in=decided.values("application_id"))
    return [
        each
        for each in people.order_by("status_since", "id")
        if each.status_since == since[each.id]
    ]


def _seat_card(message: ChatMessage) -> Card | None:
    job, people = _read_job(message.about), _read_seats(message.about)
    if job is None or not people:
        return None
    text = ngettext(
        "Someone is now in review for “%(job)s”.",
        "%(number)s people are now in review for “%(job)s”.",
        len(people),
    )
    sentences = [text % _values(job, len(people))]
    clock = job.review_clock
    if clock and len(people) == 1:
        zone = ZoneInfo(clock.hours.zone if clock.hours else job.quiet_time_zone)
        aim = _("Your company aims to decide by %(time)s.")
        due = format_time(clock.due_at(people[0].status_since), zone)
        sentences.append(aim % {"time": due})
    title = pgettext("chat message", "Seat taken")
    return Card(title, in_a_row(*sentences), *_review_link(job, people, board_url(job.id)))


def _overdue_card(message: ChatMessage) -> Card | None:
    job, people = _read_job(message.about), _read_seats(message.about)
    if job is None or not people:
        return None
    text = ngettext(
        "Someone has been in review for “%(job)s” twice as long as your company aims to take.",
        "%(number)s people have been in review for “%(job)s” twice as long as your company aims to"
        " take.",
        len(people),
    )
    title = pgettext("chat message", "Review overdue")
    text = text % _values(job, len(people))
    return Card(title, text, *_review_link(job, people, overdue_url(job.id)))


def _review_link(job: Job, people: list[Application], of_many: str) -> tuple[str, str]:
    if len(people) == 1:
        return review_url(people[0].id), _("Open the review")
    return of_many, _("Open the job")


def _values(job: Job, number: int) -> dict[str, object]:
    return {"job": isolated(job.posting.title), "number": Amount(number)}


def _alert_card(message: ChatMessage) -> Card | None:
    words = ALERT_WORDS.get(message.about["kind"])
    if words is None:  # of a release that has it no longer
        return None
    job, text = _read_job(message.about), str(words.text)
    if job is not None:
        # Translators: a sentence that follows another one: which job that was about.
        about = _("About the job “%(job)s”.") % {"job": isolated(job.posting.title)}
        text = in_a_row(text, about)
    return Card(str(words.subject), text, settings.SITE_URL + words.path, str(words.label))


def _report_card(message: ChatMessage) -> Card | None:
    job, week = _read_job(message.about), date.fromisoformat(message.about["week"])
    report = WeeklyReport.objects.filter(job_id=message.about["job"], week=week).first()
    if job is None or report is None:
        return None
    figures = report.figures["week"]
    text = _("“%(job)s” in the week from %(day)s.") % {
        "job": isolated(job.posting.title),
        "day": date_format(week, pgettext("date", "j F Y")),
    }
    shown = (
        (pgettext("label", "Applied"), figures["applied"]),
        (pgettext("label", "Offered"), figures["offered"]),
        (pgettext("label", "Confirmed"), figures["confirmed"]),
        (pgettext("label", "Missed"), figures["missed"]),
    )
    return Card(
        pgettext("chat message", "Weekly report"),
        text,
        f"{board_url(job.id)}reports/{week.isoformat()}/",
        _("Open the report"),
        tuple((name, str(Amount(number))) for name, number in shown),
    )


def _test_card(message: ChatMessage) -> Card:
    text = _("Messages about %(company)s arrive here.") % {
        "company": isolated(message.channel.company.name)
    }
    return Card(
        pgettext("chat message", "Test"), text, f"{settings.SITE_URL}/company/chat/", _("Settings")
    )


_COMPOSERS: dict[ChatCard, Callable[[ChatMessage], Card | None]] = {
    ChatCard.SEAT: _seat_card,
    ChatCard.OVERDUE: _overdue_card,
    ChatCard.CONTEST: _alert_card,
    ChatCard.ALERT: _alert_card,
    ChatCard.REPORT: _report_card,
    ChatCard.TEST: _test_card,
}
