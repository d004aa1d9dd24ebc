"""Emails about events of the log: one table from event to message. Pure functions.

Plain text, with the deadline first and in UTC. Applicants get no email about what they did
themselves while signed in, because the page already showed them the result.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from uuid import UUID

from pipeline.domain.states import ActorKind, EventType, Outcome, Status
from pipeline.wording.english import time_in_words
from pipeline.wording.sentences import Reader, sentence


class EventForMail(Protocol):
    """The fields of a log row that an email is made from."""

    application_id: UUID | None
    seq: int
    event: str
    to_status: str | None
    outcome: str | None
    actor_kind: str
    effective_at: datetime
    data: Any
    hash: bytes


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and links for an email.

    Leaves out the applicant's own name: anyone could apply with another person's address and have
    any text emailed there.
    """

    job_title: str
    company: str
    confirm_link: str
    application_link: str
    openings_link: str
    data_link: str
    asks_first_seats: bool = False  # applicants must confirm even a seat that was free


@dataclass(frozen=True, slots=True)
class Message:
    """An email without its address."""

    subject: str
    text: str


def message_for(event: EventForMail, facts: Facts) -> Message | None:
    """Compose the email about an event for the applicant; None when there is none.

    Its last line is the head of the job's log, so that every mailbox keeps a copy that the owner of
    the database cannot change. An unverified application has none: its address may be a stranger's.
    """
    if event.data.get("verify_by"):
        return None
    compose = MAILS.get(event.outcome or event.event)
    message = compose(event, facts) if compose else None
    if message is None:
        return None
    head = f"Log {event.seq}:{bytes(event.hash).hex()}"
    return Message(message.subject, f"{message.text}\n{head}\n")


def may_have_mail(event: EventForMail) -> bool:
    """Tell cheaply whether an email about an event is possible."""
    return event.application_id is not None and (event.outcome or event.event) in MAILS


def _applied(event: EventForMail, facts: Facts) -> Message | None:
    by_company = event.actor_kind == ActorKind.COMPANY
    if event.to_status == Status.PENDING_ACKNOWLEDGMENT:
        if by_company:
            return _offered(event, facts, _put_forward(facts))
        return _offered(event, facts) if facts.asks_first_seats else None
    if not by_company:
        return None
    subject = f"You were put forward for “{facts.job_title}” at {facts.company}"
    where = f"Track your application, or withdraw:\n{facts.application_link}"
    return _from_timeline(event, facts, subject, where, _put_forward(facts))


def _put_forward(facts: Facts) -> str:
    """Explain the email to a person who never applied, and how to opt out."""
    return (
        f"You are receiving this because {facts.company} put you forward for this job with this"
        " address. Next in Line manages the waitlist and emails you when it is your turn. If you"
        " do not want this, sign in with this address and withdraw. You need no password; we email"
        " you a code. You can erase everything we store about you under “My data”:\n"
        f"{facts.data_link}"
    )


def _offered(event: EventForMail, facts: Facts, *more: str) -> Message:
    until = time_in_words(event.data["deadline"])
    first = f"Confirm by {until}, or the seat goes to the next person:\n{facts.confirm_link}"
    what = (
        f"You have been offered a seat for “{facts.job_title}” at {facts.company}. The link opens a"
        " page with a button; nothing changes until you press it.\n\n"
        "Not interested any more? Withdraw so that the next person gets the seat:\n"
        f"{facts.application_link}"
    )
    subject = f"Your turn: confirm your seat for “{facts.job_title}” by {until}"
    return _message(facts, subject, first, what, *more)


def _extended(event: EventForMail, facts: Facts) -> Message:
    until = time_in_words(event.data["deadline"])
    subject = f"More time: confirm your seat for “{facts.job_title}” by {until}"
    return _from_timeline(event, facts, subject, f"Confirm it here:\n{facts.application_link}")


def _notice(subject: str, after: str) -> Callable[[EventForMail, Facts], Message]:
    """Compose an email from a subject and a closing paragraph, with the names of `Facts`."""

    def compose(event: EventForMail, facts: Facts) -> Message:
        names = {
            "job": facts.job_title,
            "company": facts.company,
            "link": facts.application_link,
            "openings": facts.openings_link,
        }
        return _from_timeline(event, facts, subject.format(**names), after.format(**names))

    return compose


OTHER_JOBS = "Other open jobs:\n{openings}"
WHAT_HAPPENED = "See what happened:\n{link}"

# The events and outcomes with an email, and the function that composes it.
MAILS: dict[str, Callable[[EventForMail, Facts], Message | None]] = {
    EventType.APPLIED: _applied,
    EventType.PROMOTED: _offered,
    EventType.DEADLINE_EXTENDED: _extended,
    EventType.DECAYED: _notice(
        "You missed the deadline for “{job}” and are back in line",
        "See your new place, or withdraw:\n{link}",
    ),
    Outcome.LAPSED: _notice(
        "Your application for “{job}” has ended: too many missed deadlines", WHAT_HAPPENED
    ),
    Outcome.REMOVED: _notice("{company} removed you from the line for “{job}”", WHAT_HAPPENED),
    Outcome.REJECTED: _notice("{company} has decided on your application for “{job}”", OTHER_JOBS),
    Outcome.HIRED: _notice(
        "You are hired: “{job}” at {company}",
        "Congratulations! {company} will contact you about the next steps.",
    ),
    Outcome.JOB_CLOSED: _notice("{company} has closed the job “{job}”", OTHER_JOBS),
}


def _from_timeline(event: EventForMail, facts: Facts, subject: str, *after: str) -> Message:
    """Compose an email from the timeline's sentence and the next steps."""
    return _message(facts, subject, sentence(event, Reader.APPLICANT), *after)


def _message(facts: Facts, subject: str, *paragraphs: str) -> Message:
    about = f"About your application for “{facts.job_title}” at {facts.company}."
    text = "\n\n".join(["Hello,", *paragraphs, about])
    return Message(" ".join(subject.split()), f"{text}\n")
