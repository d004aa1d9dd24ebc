"""Facts from which an email is composed: those of its event, and names, links and times."""

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
    one that an email about a current offer names, and `is_extended` says that it was moved back.
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
