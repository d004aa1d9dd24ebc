"""The bar that shows how a job's seats are used. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.models import Job

MOST_CELLS = 24
"""Up to this many seats each has a cell of its own."""


@dataclass(frozen=True, slots=True)
class SeatBar:
    """Seats by use; while a lowered capacity drains, more are held than there are."""

    active: int
    pending: int
    idle: int
    over: int
    """Seats held beyond the capacity."""

    @classmethod
    def of(cls, job: Job) -> SeatBar:
        """The bar of a job."""
        held = job.active_count + job.pending_count
        over = max(0, held - job.capacity)
        return cls(job.active_count, job.pending_count, job.seats_free, over)

    @property
    def all(self) -> int:
        """How long the bar is, in seats."""
        return self.active + self.pending + self.idle

    @property
    def held(self) -> int:
        """Seats that somebody holds."""
        return self.active + self.pending

    @property
    def cells(self) -> list[str]:
        """A word for each seat; nothing when there are too many to show one by one."""
        if self.all > MOST_CELLS:
            return []
        return ["active"] * self.active + ["pending"] * self.pending + ["idle"] * self.idle
