"""A second implementation of the rules of a line, in memory and as plain as possible.

No hints and no counters are kept: the order is a list, and beside each person stands how many later
newcomers may still pass them. Tickets are compared only for a place that is given back.
Written from the rules, not from the code. Times are handed in; `id` only breaks ties.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from tests.properties.contested import give_back
from tests.properties.drawn import draw_if_due
from tests.properties.passes import pass_that_opened
from tests.properties.planned import Planned, Refused, change_planned
from tests.properties.positions import hire
from tests.properties.quiet import after_running
from tests.properties.reserved import (
    can_take,
    check_capacity,
    end_if_due,
    open_free,
    reserved_free,
    take_or_leave,
)
from tests.properties.standing import Standing
from tests.properties.wishes import promote


@dataclass
class Model:
    """A job's line, and the log that it should have."""

    capacity: int
    policy: dict[str, Any]
    now: datetime
    passed: timedelta = timedelta()
    status: str = "OPEN"
    version: int = 1
    next_ticket: int = 1
    closed_at: datetime | None = None
    closed_by: int | None = None
    people: list[Standing] = field(default_factory=list)
    queue: list[Standing] = field(default_factory=list)
    log: list[tuple[Any, ...]] = field(default_factory=list)
    lines: list[dict[str, Any]] = field(default_factory=list)
    opened: list[int] = field(default_factory=list)
    plans: list[Planned] = field(default_factory=list)
    draw_at: datetime | None = None
    drawn_at: datetime | None = None
    to_place: int = 0
    positions: int | None = None
    hired: int = 0
    closes_at: datetime | None = None
    exceptions: int = 0
    reserve: int = 0
    reserved_until: datetime | None = None
    # How many turns one change passes, how many it has passed, and whether more are left; then the
    # seat is free until the next one, which goes on from the last pass.
    most_passes: int = 1_000
    walked: int = 0
    stopped: bool = False
    last_pass: int | None = None
    # The lot of an application in the draw that is the event of that seq: the seed is the log's.
    lot: Callable[[int, UUID], str] | None = None

    @property
    def awaits_draw(self) -> bool:
        return self.draw_at is not None and self.drawn_at is None

    @property
    def is_filled(self) -> bool:
        return self.hired == self.positions

    def held(self) -> int:
        return sum(p.status in ("ACTIVE", "PENDING_ACKNOWLEDGMENT") for p in self.people)

    def free(self) -> int:
        return 0 if self.is_filled else max(0, self.capacity - self.held())

    def pending(self) -> list[Standing]:
        mine = [p for p in self.people if p.status == "PENDING_ACKNOWLEDGMENT"]
        return sorted(mine, key=lambda p: (p.deadline, p.id))

    def write(self, event: str, who: Standing | None = None, **more: Any) -> int:
        seq = len(self.log) + 1
        before, after = more.get("before"), more.get("after")
        effective = more.get("effective") or self.now
        about = (who.id, who.outcome) if who else (None, None)
        self.log.append(
            (event, *about, before, after, more.get("cause"), effective, self.version, self.now)
        )
        self.lines.append(self.line())
        return seq

    def line(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "capacity": self.capacity,
            "policy": dict(self.policy),
            "version": self.version,
            "awaits_draw": self.awaits_draw or self.to_place > 0,
            "people": {p.id: copy(p) for p in self.people if p.status != "INACTIVE"},
            "order": [p.id for p in self.queue],
        }

    # One application

    def step(self, who: Standing, event: str, to: str, **more: Any) -> int:
        before, held, has_reserved = who.status, self.free(), reserved_free(self)
        if who in self.queue:
            self.queue.remove(who)
        take_or_leave(who, before, to, bool(has_reserved))
        if event != "DEADLINE_EXTENDED":
            who.deadline, who.extended, who.since = None, False, self.now
            who.extended_by = {}
            joins_at = self.next_ticket + self.policy["penalty_places"] * who.misses
            if to == "PENDING_ACKNOWLEDGMENT" or (to == "ACTIVE" and before is None):
                place = (joins_at, len(self.log) + 1) if who.tie is None else (who.ticket, who.tie)
                who.before_offer = place
        who.ticket = who.tie = who.not_before = who.accept_until = None
        who.pass_next = False
        who.status, who.last_event = to, event
        if to == "WAITLIST":
            self.enqueue(who)
        elif to == "INACTIVE":
            who.outcome, who.ended_at = more.pop("outcome"), self.now
        elif to == "PENDING_ACKNOWLEDGMENT" and event != "DEADLINE_EXTENDED":
            self.offer(who)
        seq = self.write(event, who, before=before, after=to, **more)
        if self.free() > held:
            self.opened.append(seq)
        return seq

    def enqueue(self, who: Standing) -> None:
        who.tie = len(self.log) + 1
        places = who.to_be_passed_by = self.policy["penalty_places"] * who.misses
        who.ticket = self.next_ticket + places
        if who.misses:
            ahead = [p for p in self.queue if p.to_be_passed_by <= places]
            self.queue.insert(len(ahead), who)
            return
        self.next_ticket += 1
        passed = [p for p in self.queue if p.to_be_passed_by > 0]
        self.queue.insert(len(self.queue) - len(passed), who)
        for person in passed:
            person.to_be_passed_by -= 1

    def offer(self, who: Standing) -> None:
        who.promoted_at, who.eligible_at, who.passed_at = self.now, None, None
        who.deadline = after_running(self, self.now, self.policy["acknowledgment_window_seconds"])

    def verify(self, who: Standing) -> None:
        if who.verify_by is None:
            return
        if who.status != "WAITLIST":
            raise Refused("IllegalMove")
        who.verify_by, who.last_event = None, "VERIFIED"
        self.fill(self.write("VERIFIED", who, before="WAITLIST", after="WAITLIST"))

    def miss(self, who: Standing) -> None:
        deadline, most = who.deadline, self.policy["max_decays"]
        who.misses += 1
        who.eligible_at = self.now + timedelta(seconds=self.policy["cooldown_seconds"])
        who.given_back, who.miss_place = False, who.before_offer
        if most is not None and who.misses > most:
            self.end(who, "LAPSED", "LAPSED", effective=deadline)
            who.miss = who.end
        else:
            who.miss = self.step(who, "DECAYED", "WAITLIST", effective=deadline)

    def end(self, who: Standing, event: str, outcome: str, **more: Any) -> None:
        who.end_place = who.before_offer if who.tie is None else (who.ticket, who.tie)
        who.end = self.step(who, event, "INACTIVE", outcome=outcome, **more)

    def eligible(self) -> list[Standing]:
        proved = [p for p in self.queue if p.verify_by is None]
        ends = [max(filter(None, (p.eligible_at, p.not_before)), default=self.now) for p in proved]
        return [p for p, end in zip(proved, ends, strict=True) if end <= self.now]

    def fill(self, cause: int | None = None) -> None:
        if self.status != "OPEN" or self.awaits_draw or self.stopped:
            return
        while takers := [p for p in self.eligible() if self.free() and can_take(self, p)]:
            who = takers[0]
            if who.pass_next and self.walked >= self.most_passes:
                self.stopped, self.last_pass = True, pass_that_opened(self)
                return
            self.walked += who.pass_next
            promote(self, who, self.opened.pop(0) if self.opened else cause)

    def settle(self) -> None:
        self.opened = [self.last_pass] if self.last_pass and self.free() else []
        self.walked, self.stopped, self.last_pass = 0, False, None
        if self.status != "CLOSED":
            closing = self.closes_at if self.closes_at and self.closes_at <= self.now else None
            for _, _, who in sorted(self.overdue(closing or self.now)):
                if who.status == "WAITLIST":
                    self.end(who, "LAPSED", "LAPSED", effective=who.verify_by)
                else:
                    self.miss(who)
            if closing:
                self.close(effective=closing)
            else:
                end_if_due(self)
                change_planned(self)
                self.fill(draw_if_due(self))
        self.opened = []

    def close(self, **more: Any) -> None:
        before, self.status = self.status, "CLOSED"
        self.closed_at, self.closed_by, self.plans = self.now, len(self.log) + 1, []
        self.write("JOB_CLOSED", before=before, after="CLOSED", **more)

    def overdue(self, until: datetime) -> list[tuple[datetime, UUID, Standing]]:
        moments = [(p.deadline, p) for p in self.pending()] + [(p.verify_by, p) for p in self.queue]
        return [(moment, p.id, p) for moment, p in moments if moment and moment <= until]

    def close_out(self, most: int) -> None:
        for who in (self.pending() + self.queue)[:most]:
            self.end(
                who, "CLOSED_OUT", "JOB_CLOSED", cause=self.closed_by, effective=self.closed_at
            )

    # What people do

    def apply(self, id: UUID, person: UUID, *, verified: bool, company: bool) -> None:
        before = [p for p in self.people if p.person == person]
        if self.status != "OPEN":
            raise Refused("JobNotOpen")
        live = next((p for p in before if p.status != "INACTIVE"), None)
        if live and verified and live.verify_by:
            self.verify(live)
            return
        if live:
            raise Refused("AlreadyApplied")
        decided = [p for p in before if p.outcome in ("REJECTED", "HIRED") and not p.verify_by]
        if decided and not company:
            raise Refused("AlreadyDecided")
        who = Standing(id, person, self.now)
        known = [p for p in before if not p.verify_by]
        who.misses = max([p.misses for p in known], default=0)
        who.passes = max([p.passes for p in known], default=0)
        ends = [p for p in known if p.eligible_at and p.eligible_at > self.now]
        last = max(ends, key=lambda p: p.eligible_at or self.now, default=who)
        who.eligible_at, who.passed_at = last.eligible_at, last.passed_at
        self.people.append(who)
        if not verified:
            who.verify_by = self.now + timedelta(hours=24)
        no_seat = not verified or self.awaits_draw or not open_free(self)
        if no_seat or any(can_take(self, p) for p in self.eligible()) or who.eligible_at:
            self.step(who, "APPLIED", "WAITLIST")
        elif not self.policy["acknowledge_first_seat"]:
            self.step(who, "APPLIED", "ACTIVE")
        else:
            self.step(who, "APPLIED", "PENDING_ACKNOWLEDGMENT")

    def acknowledge(self, who: Standing) -> None:
        if who.status == "ACTIVE":
            return
        if who.last_event in ("DECAYED", "LAPSED"):
            raise Refused("AcknowledgmentExpired")
        if who.status != "PENDING_ACKNOWLEDGMENT" or self.status == "CLOSED":
            raise Refused("IllegalMove")
        who.acknowledged_at = self.now
        self.step(who, "ACKNOWLEDGED", "ACTIVE")

    def withdraw(self, who: Standing) -> None:
        if who.outcome == "WITHDRAWN":
            return
        if who.status == "INACTIVE":
            raise Refused("IllegalMove")
        self.end(who, "WITHDRAWN", "WITHDRAWN")
        self.fill()

    def remove(self, who: Standing, outcome: str) -> None:
        if outcome == "HIRED":
            hire(self, who, "ASK")
            return
        if who.status == "INACTIVE":
            raise Refused("IllegalMove")
        self.end(who, "REMOVED", outcome)
        self.fill()

    def reinstate(self, who: Standing) -> None:
        if who.given_back and who.status != "INACTIVE":
            return
        stands = who.status == "WAITLIST" or who.outcome == "LAPSED"
        if not stands or who.verify_by or self.status == "CLOSED":
            raise Refused("IllegalMove")
        others = [p for p in self.people if p.person == who.person and p is not who]
        if who.miss and any(p.status != "INACTIVE" for p in others):
            raise Refused("AlreadyApplied")
        later = [p for p in others if p.applied_at > who.applied_at and not p.verify_by]
        if later or not who.miss:
            raise Refused("NotReinstatable")
        give_back(self, who)

    def extend(self, who: Standing, seconds: int) -> None:
        if who.last_event in ("DECAYED", "LAPSED"):
            raise Refused("AcknowledgmentExpired")
        if who.deadline is None or who.extended_by.get("system") or self.status == "CLOSED":
            raise Refused("IllegalMove")
        self.give_time(who, "system", after_running(self, who.deadline, seconds))

    def extend_for_company(self, who: Standing, until: datetime) -> None:
        if who.last_event in ("DECAYED", "LAPSED"):
            raise Refused("AcknowledgmentExpired")
        if who.deadline is None or self.status == "CLOSED":
            raise Refused("IllegalMove")
        if until == who.deadline:
            return
        is_over = who.extended_by.get("company", 0) == 5
        if until < who.deadline or until > self.now + timedelta(days=30) or is_over:
            raise Refused("NotExtendable")
        self.give_time(who, "company", until)

    def give_time(self, who: Standing, giver: str, until: datetime) -> None:
        who.deadline, who.extended = until, True
        who.extended_by = who.extended_by | {giver: who.extended_by.get(giver, 0) + 1}
        self.step(who, "DEADLINE_EXTENDED", "PENDING_ACKNOWLEDGMENT")

    # What companies do

    def alter(self, capacity: int | None, policy: dict[str, Any]) -> None:
        if self.status == "CLOSED":
            raise Refused("IllegalJobMove")
        check_capacity(self, capacity or self.capacity)
        if self.policy | policy != self.policy:
            self.policy, self.version = self.policy | policy, self.version + 1
            self.write("POLICY_CHANGED")
        if capacity not in (None, self.capacity):
            self.capacity = capacity or self.capacity
            self.fill(self.write("CAPACITY_CHANGED"))

    def go(self, to: str) -> None:
        if to == self.status:
            return
        if self.status == "CLOSED":
            raise Refused("IllegalJobMove")
        if to == "CLOSED":
            self.close()
            return
        before, self.status = self.status, to
        event = {"OPEN": "JOB_RESUMED", "PAUSED": "JOB_PAUSED"}[to]
        self.fill(self.write(event, before=before, after=to))
