"""Draw of a line's order by lot, by a rule that anyone can follow with a calculator. Pure.

The seed is SHA-256 over the hash of the log's last event before the draw, followed by the time at
which the draw was recorded, in microseconds. So the person who causes the last event before it
does not know the seed. People stand in ascending order of SHA-256 over the seed's 32 bytes,
followed by the 32 characters of their opaque id.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from uuid import UUID

from django.utils.translation import ngettext_lazy

from pipeline.domain.errors import DrawRefused

ALGORITHM = "sha256(seed || opaque_id)"
# A draw is announced at most this long before it.
LONGEST_TO_DRAW = timedelta(days=90)
# The most people on a waitlist whose order is still to be drawn, because the draw of all of them
# holds the lock of the line.
MOST_IN_DRAW = 10_000
# Of these, the most who have not proved their address, so that invented addresses cannot fill it.
MOST_UNVERIFIED_IN_DRAW = 5_000


def check_time(draw_at: datetime | None, now: datetime) -> None:
    """Check the time of a draw, if any, that is announced at `now`. Raises DrawRefused."""
    if draw_at is not None and not now < draw_at <= now + LONGEST_TO_DRAW:
        why = ngettext_lazy(
            "The draw must be in the future, at most {days} day ahead.",
            "The draw must be in the future, at most {days} days ahead.",
            "days",
        )
        raise DrawRefused(why=why, days=LONGEST_TO_DRAW.days)


def opaque_id(job_id: UUID, application_id: UUID) -> str:
    """Return the id of an application in its job's log without names.

    People who know an application's id can find it there. Ids are random, so nobody can guess
    them.
    """
    return sha256(f"{job_id}:{application_id}".encode()).hexdigest()[:32]


def seed(head: bytes, at: str) -> bytes:
    """Return the seed of a draw from the hash before it and its time, written as in the log."""
    return sha256(head + at.encode()).digest()


def drawn_order(seed: bytes, job_id: UUID, applications: Iterable[UUID]) -> list[UUID]:
    """Return the ids of applications in their order by lot.

    Their original order does not matter.
    """

    def lot_in_draw(application_id: UUID) -> bytes:
        return sha256(seed + opaque_id(job_id, application_id).encode()).digest()

    return sorted(applications, key=lot_in_draw)
