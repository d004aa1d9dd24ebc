"""Parts of emails: the facts they are made from, and the pieces they consist of. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any, Protocol
from uuid import UUID


class EventForMail(Protocol):
    """The fields of a log row that an email is made from."""

    application_id: UUID | None
    seq: int
    event: str
    from_status: str | None
    to_status: str | None
    outcome: str | None
    actor_kind: str
    effective_at: datetime
    data: Any
    hash: Any


@dataclass(frozen=True, slots=True)
class Facts:
    """Names, links and times for an email.

    Leaves out the applicant's own name: anyone could apply with another person's address and have
    any text emailed there. `place` is the place in line now, `prospect` says how long they will
    probably wait, `draw_at` is the time of a draw by lot that is still to come, `deadline` is the
    one that an email about a current offer names, `is_extended` says that it was moved back,
    `answer` is what the company wrote about a request to look again, and `passes_left` is how many
    turns the person can still pass.
    """

    job_title: str
    company: str
    confirm_link: str
    application_link: str
    openings_link: str
    data_link: str
    zone: tzinfo = UTC
    place: int | None = None
    prospect: str = ""
    deadline: datetime | None = None
    is_extended: bool = False
    draw_at: datetime | None = None
    answer: str = ""
    passes_left: int = 0


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Paragraph of an email; a link is on a separate line, and a button in HTML."""

    text: str
    link: str = ""
    label: str = ""

    def __str__(self) -> str:
        return f"{self.text}\n{self.link}" if self.link else self.text


@dataclass(frozen=True, slots=True)
class CalendarNote:
    """Part of an email for calendars: the deadline or its cancellation."""

    sequence: int
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """An email without its address."""

    subject: str
    paragraphs: tuple[Paragraph, ...]
    calendar: CalendarNote | None = None

    @property
    def text(self) -> str:
        """Return the plain text."""
        return "\n\n".join(["Hello,", *map(str, self.paragraphs)]) + "\n"
