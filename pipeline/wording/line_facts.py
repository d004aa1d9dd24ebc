"""What is known of a job's line at one instant, to say how it stands. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class LineFacts:
    """A job's counters and the times that matter, as of `now`, the database's time."""

    status: str
    capacity: int
    active: int
    pending: int
    waiting: int
    now: datetime
    first_deadline: datetime | None = None
    """The earliest deadline of who must acknowledge."""
    first_eligible: datetime | None = None
    """When the earliest cool-down of who waits ends or ended; None if nobody has had one."""
    last_promotion: datetime | None = None
    worker_seen: datetime | None = None
    worker_alive: bool = True

    @property
    def held(self) -> int:
        """Seats that somebody holds."""
        return self.active + self.pending

    @property
    def free(self) -> int:
        """Seats that nobody holds; 0 while a lowered capacity drains."""
        return max(0, self.capacity - self.held)

    @property
    def overdue_since(self) -> datetime | None:
        """Since when something of this line waits to be settled, or None."""
        moments = [self.first_deadline] if self.status in ("OPEN", "PAUSED") else []
        if self.status == "OPEN" and self.free and self.waiting:
            moments.append(self.first_eligible)
        passed = [moment for moment in moments if moment and moment <= self.now]
        return min(passed, default=None)
