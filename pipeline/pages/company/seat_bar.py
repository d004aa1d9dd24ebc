"""Bar that shows how a job's seats are used. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from jobs.models import Job

MOST_CELLS = 24  # with more seats than this, the bar has no separate cell for each


@dataclass(frozen=True, slots=True)
class SeatBar:
    """Seats by use. While a lowered capacity drains, more seats are held than exist."""

    active: int
    pending: int
    idle: int
    over: int  # seats held above the capacity

    @classmethod
    def of(cls, job: Job) -> SeatBar:
        """Build the bar of a job."""
        held = job.active_count + job.pending_count
        over = max(0, held - job.capacity)
        return cls(job.active_count, job.pending_count, job.seats_free, over)

    @property
    def all(self) -> int:
        """Length of the bar, in seats."""
        return self.active + self.pending + self.idle

    @property
    def held(self) -> int:
        """Seats taken."""
        return self.active + self.pending

    @property
    def cells(self) -> list[str]:
        """Class of each seat's cell; empty when there are too many seats."""
        if self.all > MOST_CELLS:
            return []
        return ["active"] * self.active + ["pending"] * self.pending + ["idle"] * self.idle
