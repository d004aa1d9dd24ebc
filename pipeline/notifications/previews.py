"""Every kind of email with made-up names, for developers and for tests that compare texts.

A company sees its own words in them, with the names of one of its own applications.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import chain
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from applicants import codes
from applicants.models import ERASED_NAME
from jobs.models import Company, Job, JobPosting
from jobs.policies import Policy
from pipeline.database import instants
from pipeline.domain.contests import ANSWER, ANSWER_BY, ContestAnswer, ContestReason
from pipeline.domain.states import (
    ACCEPTED_UNTIL,
    EXCEPTION,
    PEOPLE_PASSED,
    QUESTION_ID,
    EventType,
    ExceptionReason,
    Outcome,
    ReinstatementReason,
    Status,
)
from pipeline.line.event_log import logged_time
from pipeline.mail import links
from pipeline.mail.links import LinkedOffer
from pipeline.models import OVERTAKEN, Application
from pipeline.notifications.alerts import ALERT_WORDS
from pipeline.notifications.applicants import email_facts
from pipeline.notifications.companies import (
    JobFigures,
    company_alert_email,
    company_digest_email,
)
from pipeline.notifications.messages import (
    Facts,
    Message,
    compose_event_email,
    compose_overtaken,
    compose_reminder,
    compose_yes_end,
)
from pipeline.notifications.own_words import put_into_words
from pipeline.notifications.rendering import render_html, rendered_calendar_entry
from pipeline.notifications.reviewers import news_email
from pipeline.review.notices import News
from pipeline.texts.fields import fill, greeted_name
from pipeline.texts.kinds import EVERY, OFFER, PUT_FORWARD, REMINDER, SENTENCE, YES_ENDS
from pipeline.texts.words import field_values
from pipeline.wording.english import isolated
from pipeline.wording.explanations import explain_next_miss

_SITE = "https://line.example"
_AT = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
_DEADLINE = _AT + timedelta(days=1)
_APPLICATION = UUID("01a20067-f797-756d-b038-6ee358443f86")
FACTS = Facts(
    job_title="Boatbuilder",
    company="Harbour Works",
    confirm_link=f"{_SITE}/confirm/a-signed-token/",
    application_link=f"{_SITE}/me/applications/{_APPLICATION}/",
    openings_link=f"{_SITE}/",
    data_link=f"{_SITE}/me/data/",
    name="Ana Li",
    zone=ZoneInfo("Europe/Berlin"),
    place=4,
)


def made_up_facts() -> Facts:
    """Return facts that never were, as an email in the present language has them."""
    return replace(
        FACTS,
        job_title=isolated(FACTS.job_title),
        company=isolated(FACTS.company),
        name=greeted_name(FACTS.name),
        if_missed=explain_next_miss(Policy(), 0),
    )


# The newest jobs of a company in which an application for samples is looked for.
MOST_JOBS = 5
_PENDING, _WAITING = Status.PENDING_ACKNOWLEDGMENT, Status.WAITLIST


@dataclass(frozen=True, slots=True)
class Sample:
    """An email as shown, with no recipient."""

    subject: str
    text: str
    html: str = ""
    calendar: str = ""
    to: str = "ana@example.org"
    at: datetime = _AT


@dataclass(slots=True)
class SampleEvent:
    """An event that never happened."""

    event: str
    to_status: str | None = None
    from_status: str | None = None
    outcome: str | None = None
    actor_kind: str = "SYSTEM"
    application_id: UUID | None = _APPLICATION
    seq: int = 7
    effective_at: datetime = _DEADLINE
    hash: bytes = bytes.fromhex("ab34" * 16)
    data: Any = field(default_factory=lambda: {"places": 1})


def _sample_event(
    event: str, to: str, before: str | None = None, *, also: Any = None, **more: Any
) -> Callable[[Facts], Message]:
    def make_preview(facts: Facts) -> Message:
        deadline = facts.deadline or _DEADLINE
        data: dict[str, Any] = {"places": 1} | (also or {})
        if to == _PENDING:
            data |= {"deadline": deadline.isoformat()}
        if event == EventType.DECAYED:
            data |= {"eligible_at": (deadline + timedelta(hours=1)).isoformat()}
        if event == EventType.REINSTATED:
            data |= {"reason": ReinstatementReason.MAIL_FAILURE, "missed": deadline.isoformat()}
        if event == EventType.MOVED_AHEAD:
            data |= {EXCEPTION: ExceptionReason.HARDSHIP, PEOPLE_PASSED: 12}
        if event == EventType.CONTESTED:
            data[ANSWER_BY] = deadline.isoformat()
        if event == EventType.CONTEST_ANSWERED:
            data |= {ANSWER: ContestAnswer.UPHELD, "reason": ContestReason.DECISION_STANDS}
        told = replace(facts, extensions=int(event == EventType.DEADLINE_EXTENDED))
        happened = SampleEvent(event, to, before, data=data, effective_at=deadline, **more)
        message = compose_event_email(happened, told)
        assert message is not None  # noqa: S101  each of them has an email
        return message

    return make_preview


def _sample_ended(outcome: str, event: str, before: str = _PENDING) -> Callable[[Facts], Message]:
    return _sample_event(event, Status.INACTIVE, before, outcome=outcome)


def _sample_digest() -> Message:
    board = f"{_SITE}/company/jobs/{_APPLICATION}/"
    figures = [
        JobFigures("Boatbuilder", board, 2, 3, 41, 1, 1, seated=2, overdue=1),
        JobFigures("Rigger", board, 1, 1, 0, 0, 0),
    ]
    message = company_digest_email("Harbour Works", date(2026, 11, 21), figures)
    assert message is not None  # noqa: S101  there are jobs
    return message


def _sample_news(news: News, number: int = 1) -> Callable[[], Message]:
    def make_preview() -> Message:
        job = Job(id=_APPLICATION, company=Company(name="Harbour Works"))
        JobPosting(job=job, title="Boatbuilder", review_target_seconds=3 * 86_400)
        person = Application(id=_APPLICATION, status=Status.ACTIVE, status_since=_AT)
        return news_email(job, news, [person] * number)

    return make_preview


# Emails in a company's own words, and the kind of sample of each kind of text.


LEGAL_NAME = "Harbour Works GmbH, Hamburg"
_OWN_WORDS = {
    OFFER: {
        "subject": "{name}, we have a place for you as {job}",
        "greeting": "Moin {name},",
        "opening": "Good news from the yard!\n\nPlease answer by {deadline}.",
        "closing": "Questions? Just answer this email.",
        "signature": "Ines Brandt\n{company}",
    },
    PUT_FORWARD: {"opening": "We met at the boat show.", "signature": "The crew of {company}"},
    Outcome.REJECTED: {"opening": "This was not easy for us.", "signature": "Ines Brandt"},
}
_SAMPLES_OF_TEXTS = {
    EVERY: "confirmed",
    OFFER: "promoted",
    PUT_FORWARD: "put-forward",
    REMINDER: "reminder",
    YES_ENDS: "yes-ends",
    EventType.APPLIED: "applied",
    EventType.VERIFIED: "verified",
    EventType.PLACED: "drawn",
    EventType.DEADLINE_EXTENDED: "more-time",
    EventType.ACKNOWLEDGED: "confirmed",
    EventType.DECAYED: "missed",
    EventType.PASSED: "passed",
    EventType.REINSTATED: "reinstated",
    EventType.QUESTION_ASKED: "question",
    EventType.CONTESTED: "contested",
    EventType.CONTEST_ANSWERED: "contest-answered",
    Outcome.HIRED: "hired",
    Outcome.REJECTED: "rejected",
    Outcome.REMOVED: "removed",
    Outcome.LAPSED: "lapsed",
    Outcome.WITHDRAWN: "withdrawn",
    Outcome.JOB_CLOSED: "job-closed",
    EventType.MOVED_AHEAD: "moved-ahead",
    OVERTAKEN: "overtaken",
}


def compose_own(kind: str, parts: Mapping[str, str], facts: Facts, controller: str) -> Message:
    """Compose the sample of a kind of text in a company's own words.

    A sentence with a decision is shown in the email about a rejection.
    """
    sentence = parts.get(SENTENCE.name, "")
    values = field_values(name=facts.name, job=facts.job_title, company=facts.company)
    facts = replace(facts, answer=fill(sentence, values), deadline=facts.deadline or _DEADLINE)
    message = _OF_APPLICANTS[_SAMPLES_OF_TEXTS.get(kind, "rejected")](facts)
    own = {name: text for name, text in parts.items() if name != SENTENCE.name}
    return put_into_words(message, own, facts, controller=controller)


def own_facts(company: Company) -> Facts:
    """Return facts for samples: of one of the company's applications, or made up without any.

    Their links lead to the site's first page, so that nobody can act through a sample.
    """
    jobs = Job.objects.filter(company=company).order_by("-id").values_list("id", flat=True)
    kept = Application.objects.exclude(name=ERASED_NAME)
    kept = kept.select_related("applicant", "job__posting", "job__company")
    found = (kept.filter(job_id=job_id)[:1] for job_id in jobs[:MOST_JOBS])
    application = next(chain.from_iterable(found), None)
    made_up = replace(made_up_facts(), company=isolated(company.name))
    facts, home = email_facts(application, None) if application else made_up, links.openings_url()
    return replace(
        facts,
        confirm_link=home,
        application_link=home,
        openings_link=home,
        data_link=home,
        deadline=instants.now() + timedelta(days=1),
        passes_left=1,
    )


_BY_COMPANY = {"actor_kind": "COMPANY"}
_OF_APPLICANTS: dict[str, Callable[[Facts], Message]] = {
    "applied": _sample_event(EventType.APPLIED, _WAITING, actor_kind="APPLICANT"),
    "put-forward": _sample_event(EventType.APPLIED, _WAITING, **_BY_COMPANY),
    "verified": _sample_event(EventType.VERIFIED, _WAITING, _WAITING),
    "promoted": _sample_event(EventType.PROMOTED, _PENDING, _WAITING),
    "first-seat": _sample_event(EventType.APPLIED, _PENDING, **_BY_COMPANY),
    "reminder": lambda facts: compose_reminder(facts, facts.deadline or _DEADLINE),
    "extended": _sample_event(EventType.DEADLINE_EXTENDED, _PENDING, _PENDING),
    "more-time": _sample_event(EventType.DEADLINE_EXTENDED, _PENDING, _PENDING, **_BY_COMPANY),
    "confirmed": _sample_event(EventType.ACKNOWLEDGED, Status.ACTIVE, _PENDING),
    "accepted-in-advance": _sample_event(
        EventType.ACKNOWLEDGED, Status.ACTIVE, also={ACCEPTED_UNTIL: _DEADLINE.isoformat()}
    ),
    "yes-ends": lambda facts: compose_yes_end(
        SampleEvent(
            EventType.PREACCEPTED,
            data={"accept_until": logged_time(facts.deadline or _DEADLINE)},
        ),
        facts,
    ),
    "missed": _sample_event(EventType.DECAYED, _WAITING, _PENDING),
    "passed": _sample_event(EventType.PASSED, _WAITING, _PENDING),
    "lapsed": _sample_ended(Outcome.LAPSED, EventType.LAPSED),
    "reinstated": _sample_event(EventType.REINSTATED, _WAITING, _WAITING, **_BY_COMPANY),
    "moved-ahead": _sample_event(EventType.MOVED_AHEAD, _WAITING, _WAITING, **_BY_COMPANY),
    "overtaken": lambda facts: compose_overtaken(
        SampleEvent(
            EventType.MOVED_AHEAD, data={EXCEPTION: ExceptionReason.HARDSHIP, PEOPLE_PASSED: 12}
        ),
        facts,
    ),
    "drawn": _sample_event(EventType.PLACED, _WAITING, _WAITING),
    "withdrawn": _sample_ended(Outcome.WITHDRAWN, EventType.WITHDRAWN),
    "removed": _sample_ended(Outcome.REMOVED, EventType.REMOVED, _WAITING),
    "rejected": _sample_ended(Outcome.REJECTED, EventType.REMOVED, Status.ACTIVE),
    "hired": _sample_ended(Outcome.HIRED, EventType.REMOVED, Status.ACTIVE),
    "job-closed": _sample_ended(Outcome.JOB_CLOSED, EventType.CLOSED_OUT, _WAITING),
    "contested": _sample_ended(Outcome.REJECTED, EventType.CONTESTED, Status.INACTIVE),
    "contest-answered": _sample_ended(
        Outcome.REJECTED, EventType.CONTEST_ANSWERED, Status.INACTIVE
    ),
    "question": _sample_event(
        EventType.QUESTION_ASKED,
        Status.ACTIVE,
        Status.ACTIVE,
        also={QUESTION_ID: "1", ANSWER_BY: logged_time(_DEADLINE)},
    ),
}


def _make_up(make: Callable[[Facts], Message]) -> Message:
    return make(made_up_facts())


_SAMPLES: dict[str, Callable[[], Message]] = {
    **{kind: partial(_make_up, make) for kind, make in _OF_APPLICANTS.items()},
    **{
        f"own-{kind.lower().replace('_', '-')}": partial(
            _make_up, partial(compose_own, kind, parts, controller=LEGAL_NAME)
        )
        for kind, parts in _OWN_WORDS.items()
    },
    "digest": _sample_digest,
    **{f"review-{news.lower()}": _sample_news(news) for news in News},
    "review-seats": _sample_news(News.SEAT, 3),
    **{
        f"alert-{kind.lower().replace('_', '-')}": partial(
            company_alert_email, "Harbour Works", kind
        )
        for kind in ALERT_WORDS
    },
}
KINDS = ["code", *_SAMPLES]


def find(kind: str) -> Sample | None:
    """Return the sample of a kind; None if there is no such kind."""
    if kind == "code":
        text = codes.email_text("12345678", codes.SIGNING_IN, codes.IGNORE)
        return Sample(str(codes.SUBJECT), text)
    if kind not in _SAMPLES:
        return None
    message = _SAMPLES[kind]()
    calendar = ""
    if message.calendar:
        offer = LinkedOffer(_APPLICATION, 7)
        calendar = rendered_calendar_entry(
            message.subject,
            message.calendar,
            offer=offer,
            deadline=_DEADLINE,
            now=_AT,
            attendee="ana@example.org",
        )
    return Sample(message.subject, message.text, render_html(message), calendar)
