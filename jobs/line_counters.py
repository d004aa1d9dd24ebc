"""Properties that follow from the counters of a job's line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class LineCounters:
    """Properties that follow from the counters of a job's line: of its row and of a locked job."""

    __slots__ = ()

    if TYPE_CHECKING:
        capacity: Any
        active_count: Any
        pending_count: Any
        waitlist_count: Any
        unverified_count: Any
        draw_at: Any
        drawn_at: Any
        positions_to_fill: Any
        hired_count: Any
        reserved_seats: Any
        reserved_count: Any

    @property
    def seats_free(self) -> int:
        """Number of free seats that anyone can take.

        0 while a lowered capacity drains, and once the job is filled. Reserved ones do not count.
        """
        free = self.unheld_seats
        if not self.reserved_seats:
            return free
        others = self.active_count + self.pending_count - self.reserved_count
        return min(free, max(0, self.capacity - self.reserved_seats - others))

    @property
    def reserved_seats_free(self) -> int:
        """Number of free seats that only people of the job's group can take."""
        if not self.reserved_seats:
            return 0
        return min(self.unheld_seats, max(0, self.reserved_seats - self.reserved_count))

    @property
    def unheld_seats(self) -> int:
        """Number of free seats, reserved or not."""
        if self.positions_to_fill is not None and self.is_filled:
            return 0
        return max(0, self.capacity - self.active_count - self.pending_count)

    @property
    def positions_left(self) -> int | None:
        """Number of positions that are still to be filled; None if the job is open-ended."""
        if self.positions_to_fill is None:
            return None
        return max(0, self.positions_to_fill - self.hired_count)

    @property
    def is_filled(self) -> bool:
        """True once every position is filled. Then nobody is offered a seat."""
        return self.positions_to_fill is not None and self.hired_count >= self.positions_to_fill

    @property
    def awaits_draw(self) -> bool:
        """True until the order of the first line has been drawn by lot: nobody gets a seat."""
        return self.draw_at is not None and self.drawn_at is None

    @property
    def people_waiting(self) -> int:
        """Number of verified people on the waitlist, shown to everyone."""
        return self.waitlist_count - self.unverified_count
