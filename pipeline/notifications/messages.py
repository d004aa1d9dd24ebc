"""What a mail says about an event of the log, if one is sent at all: one table. Pure.

Plain text. The subject tells the thing; a deadline comes first, in UTC. What people did themselves,
signed in, they saw on the page: no mail tells it to them again.
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


class Told(Protocol):
    """What of a row of the log a mail is made from."""

    application_id: UUID | None
    seq: int
    event: str
    to_status: str | None
    outcome: str | None
    actor_kind: str
    effective_at: datetime
    data: Any


@dataclass(frozen=True, slots=True)
class Facts:
    """What a mail says beside the event: names, and where its links lead.

    Not the applicant's own: who applies with another's address could have any text mailed there.
    """

    job_title: str
    company: str
    confirm_link: str
    application_link: str
    openings_link: str
    data_link: str
    asks_first_seats: bool = False
    """Whether the job has even a seat that was free confirmed."""


@dataclass(frozen=True, slots=True)
class Message:
    """A mail without its address."""

    subject: str
    text: str


def message_for(event: Told, facts: Facts) -> Message | None:
    """The mail about an event to the one whose application it is; None when there is none."""
    compose = MAILS.get(event.outcome or event.event)
    return compose(event, facts) if compose else None


def is_told_by_mail(event: Told) -> bool:
    """Whether there may be a mail about such an event."""
    return event.application_id is not None and (event.outcome or event.event) in MAILS


def _applied(event: Told, facts: Facts) -> Message | None:
    by_company = event.actor_kind == ActorKind.COMPANY
    if event.to_status == Status.PENDING_ACKNOWLEDGMENT:
        if by_company:
            return _offered(event, facts, _put_forward(facts))
        return _offered(event, facts) if facts.asks_first_seats else None
    if not by_company:
        return None
    subject = f"You were put forward for “{facts.job_title}” at {facts.company}"
    where = f"See where you stand, or withdraw:\n{facts.application_link}"
    return _told(event, facts, subject, where, _put_forward(facts))


def _put_forward(facts: Facts) -> str:
    """Who never applied may not know what this is, and how to be left alone."""
    return (
        f"You get this because {facts.company} put you forward for this job, with this address."
        " Next in Line keeps the line of those who wait for a seat in it, and tells you when it is"
        " your turn. If you do not want that, sign in with this address (it takes a code that we"
        " mail you, no password) and withdraw; under “My data” you can erase everything that we"
        f" keep about you:\n{facts.data_link}"
    )


def _offered(event: Told, facts: Facts, *more: str) -> Message:
    until = time_in_words(event.data["deadline"])
    first = f"Confirm by {until}, or the seat goes to the next in line:\n{facts.confirm_link}"
    what = (
        f"A seat for “{facts.job_title}” at {facts.company} is yours if you want it. The link shows"
        " a page with one button; opening it changes nothing yet. If you do not want the seat,"
        f" withdraw, and the next in line will be glad:\n{facts.application_link}"
    )
    subject = f"Your turn: confirm your seat for “{facts.job_title}” by {until}"
    return _message(facts, subject, first, what, *more)


def _extended(event: Told, facts: Facts) -> Message:
    until = time_in_words(event.data["deadline"])
    subject = f"More time: confirm your seat for “{facts.job_title}” by {until}"
    return _told(event, facts, subject, f"Confirm it here:\n{facts.application_link}")


def _missed(event: Told, facts: Facts) -> Message:
    subject = f"You missed the deadline for “{facts.job_title}”, and are in line again"
    after = f"See where you stand now, or withdraw:\n{facts.application_link}"
    return _told(event, facts, subject, after)


def _lapsed(event: Told, facts: Facts) -> Message:
    subject = f"Your application for “{facts.job_title}” has ended: too many deadlines missed"
    return _told(event, facts, subject, f"See what happened:\n{facts.application_link}")


def _removed(event: Told, facts: Facts) -> Message:
    subject = f"{facts.company} took you out of the line for “{facts.job_title}”"
    return _told(event, facts, subject, f"See what happened:\n{facts.application_link}")


def _rejected(event: Told, facts: Facts) -> Message:
    subject = f"{facts.company} has decided on your application for “{facts.job_title}”"
    return _told(event, facts, subject, f"Other jobs that are open:\n{facts.openings_link}")


def _hired(event: Told, facts: Facts) -> Message:
    subject = f"You are hired: “{facts.job_title}” at {facts.company}"
    return _told(event, facts, subject, "Congratulations! The company takes it on from here.")


def _closed(event: Told, facts: Facts) -> Message:
    subject = f"{facts.company} has closed the job “{facts.job_title}”"
    return _told(event, facts, subject, f"Other jobs that are open:\n{facts.openings_link}")


MAILS: dict[str, Callable[[Told, Facts], Message | None]] = {
    EventType.APPLIED: _applied,
    EventType.PROMOTED: _offered,
    EventType.DEADLINE_EXTENDED: _extended,
    EventType.DECAYED: _missed,
    Outcome.LAPSED: _lapsed,
    Outcome.REMOVED: _removed,
    Outcome.REJECTED: _rejected,
    Outcome.HIRED: _hired,
    Outcome.JOB_CLOSED: _closed,
}
"""For which events and outcomes there is a mail, and who words it."""


def _told(event: Told, facts: Facts, subject: str, *after: str) -> Message:
    """A mail that says what the timeline says, and then what can be done."""
    return _message(facts, subject, sentence(event, Reader.APPLICANT), *after)


def _message(facts: Facts, subject: str, *paragraphs: str) -> Message:
    about = f"About your application for “{facts.job_title}” at {facts.company}."
    text = "\n\n".join(["Hello,", *paragraphs, about])
    return Message(" ".join(subject.split()), f"{text}\n")
