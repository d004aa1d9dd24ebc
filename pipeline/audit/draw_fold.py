"""Fold of a draw by lot: it recomputes the draw from its seed, and with it each person's place."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from pipeline.domain.draw import ALGORITHM, draw_seed, drawn_order
from pipeline.domain.states import ActorKind, EventType, Status
from pipeline.line.event_log import logged_time, parse_logged_time
from pipeline.models import Event


class DrawFold:
    """Draw of a job according to its log so far. Each check returns the fault, or nothing."""

    def __init__(self, job_id: UUID) -> None:
        self.job_id = job_id
        self.draw_at: datetime | None = None
        self.drawn_at: datetime | None = None
        self._seq = 0
        self._to_place: list[UUID] = []

    @property
    def is_unfinished(self) -> bool:
        """Tell whether the draw still has people to place."""
        return bool(self._to_place)

    def check_job_event(self, event: Event, waiting: Collection[UUID], *, is_open: bool) -> str:
        """Check a job's event: the announced time stays once the job is open, the draw comes once.

        `waiting`: everyone on the waitlist. `is_open`: people could join before this event.
        """
        announced = parse_logged_time(event.data.get("draw_at"))
        if self._to_place:
            return "it comes before everyone has been placed by the draw"
        if is_open and announced != self.draw_at:
            return "the time of the draw changed after the job had opened"
        self.draw_at = announced
        if event.event != EventType.DRAWN:
            return ""
        seed, data = draw_seed(bytes(event.prev_hash), logged_time(event.at)), event.data
        if announced is None or self.drawn_at is not None or not is_open:
            return "nothing is to be drawn"
        if event.effective_at != announced or event.at < announced:
            return "the order was drawn at another time than announced"
        if event.actor_kind != ActorKind.SYSTEM or data["algorithm"] != ALGORITHM:
            return "the order was drawn otherwise than announced"
        if data["seed"] != seed.hex() or data["drawn"] != len(waiting):
            return "its seed is not that of the hash before it, or not everyone takes part"
        self.drawn_at, self._seq = event.at, event.seq
        self._to_place = drawn_order(seed, self.job_id, waiting)[::-1]
        return ""

    def check_application_event(self, event: Event, next_ticket: int) -> str:
        """Check an application's event: no seat before the draw, and the drawn places after it."""
        if event.event == EventType.PLACED:
            due = self._to_place.pop() if self._to_place else None
            if event.application_id != due or event.cause_seq != self._seq:
                return "the draw places someone else here"
            if event.data["ticket"] != next_ticket or event.effective_at != self.draw_at:
                return "its place is not the next one of the draw"
        elif self._to_place:
            return "it comes before everyone has been placed by the draw"
        if self.draw_at is None or self.drawn_at is not None:
            return ""
        if event.to_status is not None and Status(event.to_status).holds_seat:
            return "it gives a seat before the draw"
        if event.event == EventType.APPLIED and event.at >= self.draw_at:
            return "it lets someone into the draw after its time"
        return ""
