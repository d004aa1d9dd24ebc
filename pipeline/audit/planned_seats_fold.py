"""Fold of planned changes to a job's number of seats."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from jobs.models import MAX_CAPACITY
from pipeline.domain.states import PLANNED_SEATS, ActorKind, EventType
from pipeline.models import MOST_TIMES, Event


class FoldedSeatsChange(NamedTuple):
    """Change of a job's number of seats by a plan."""

    seq: int
    effective_at: datetime
    before: int
    after: int

    @property
    def is_cut(self) -> bool:
        """Tell whether the limits of a job's seats may have cut the change."""
        return self.after in (1, MAX_CAPACITY)


class PlannedSeatsFold:
    """Planned changes according to a log so far. Each check returns the fault, or nothing."""

    def __init__(self) -> None:
        # What each plan has changed, oldest first, and every number of seats that the job has had.
        self.changes: dict[UUID, list[FoldedSeatsChange]] = {}
        self.capacities: set[int] = set()

    def check_job_event(self, event: Event, before: int) -> str:
        """Check that the system changes seats as planned: when due, by each plan's number.

        `before`: the number of seats before the event.
        """
        after = event.data["capacity"]
        self.capacities.add(after)
        planned = PLANNED_SEATS in event.data
        by_system = (
            event.event == EventType.CAPACITY_CHANGED and event.actor_kind == ActorKind.SYSTEM
        )
        if planned != by_system:
            return "the system changes seats as planned, and nobody else does"
        if not planned:
            return ""
        latest = max((each[-1].effective_at for each in self.changes.values()), default=None)
        done = self.changes.setdefault(UUID(event.data[PLANNED_SEATS]), [])
        done.append(FoldedSeatsChange(event.seq, event.effective_at, before, after))
        in_order = (latest or event.effective_at) <= event.effective_at <= event.at
        if not in_order or len(done) > MOST_TIMES:
            return "planned seats change in the order of their times, when due"
        whole = {each.after - each.before for each in done if not each.is_cut}
        cut = {each.after - each.before for each in done if each.is_cut}
        most = max([abs(each) for each in whole] or [MAX_CAPACITY])
        same_way = len({each > 0 for each in whole | cut}) == 1 and after != before
        if not same_way or len(whole) > 1 or any(abs(each) > most for each in cut):
            return "a plan changes the seats by one number, always the same"
        return ""

    def check_application_event(self, event: Event) -> str:
        """Check that the plan that a promotion names has opened its seat."""
        if PLANNED_SEATS not in event.data:
            return ""
        changes = self.changes.get(UUID(event.data[PLANNED_SEATS]), ())
        if event.cause_seq not in [each.seq for each in changes]:
            return "its seat was not opened by the plan that it names"
        return ""
