"""Random histories over the real services beside the plain model, on a line in memory.

Without a database, ten times as many, each day others; with --long, a hundred times as many. That
the database gives the same answers to the rules as the memory does is checked by the histories that
go through both (`tests.properties.both`).
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test

from jobs.models import JobStatus
from pipeline.domain.errors import IllegalMove, ReserveRefused
from pipeline.domain.states import Move, Status
from pipeline.line.admission import give_missed_place_back, offer_free_seat
from pipeline.line.event_log import LogEntry
from pipeline.line.misses import DECIDED
from pipeline.line.moves import make_move
from pipeline.line.settle import settle_due
from pipeline.line.write import write
from pipeline.services.contests import find_lost_place
from tests.properties.comparison import assert_log_agrees, assert_rows_agree
from tests.properties.contested import look_again
from tests.properties.planned import Refused
from tests.properties.stage import Stage
from tests.properties.standing import Standing
from tests.properties.test_random_histories import QUICK, History, picks, rarely
from tests.support import factories
from tests.support.invariants import assert_rows_are_sound, seat_is_idle

TICK = timedelta(milliseconds=1)
# Each of these runs a part of the histories, so that several processes share them.
PARTS = 6


class HistoryInMemory(History):
    """One job in memory, everything that can happen to its line, and the model beside it."""

    stage: Stage

    def set_stage(self) -> None:
        self.claims: dict[UUID, bool] = {}
        self.stage = Stage()
        self.patches.enter_context(self.stage.set())

    def create_job(self, capacity: int, policy: dict[str, Any]) -> UUID:
        return self.stage.create_job(capacity, policy)

    def begin(self, capacity: int, policy: dict[str, Any]) -> None:
        super().begin(capacity, policy)
        self.model.line = dict  # no past is looked at

    def new_person(self) -> UUID:
        return uuid4()

    def events(self, *, after: int = 0) -> list[LogEntry]:
        return self.stage.line.log[after:]

    def clock(self) -> datetime:
        return self.stage.now

    def wait(self, seconds: float) -> None:
        self.stage.now += timedelta(seconds=seconds)

    def do(self, verb: Any, expected: Any) -> None:
        self.stage.now += TICK
        super().do(verb, expected)

    def compare(self, seq: int) -> None:
        job, rows = self.stage.line.job, list(self.stage.line.rows.values())
        assert_log_agrees(self.events(after=seq), self.model, after=seq)
        assert_rows_agree(job, rows, self.model)
        seats = max(self.most, self.model.capacity)
        assert_rows_are_sound(job, rows, self.stage.line.plans, most_seats=seats)
        assert self.model.stopped or not seat_is_idle(job, rows)

    @rule(which=picks, anyone=rarely)
    def company_gives_a_place_back_after_an_end(self, which: int, anyone: bool) -> None:
        ended = [who for who in self.model.people if who.outcome in DECIDED]
        if who := self.pick(self.model.people if anyone else ended, which):
            self.do(lambda: self.looks_again(who), lambda _: self.expect_another_look(who))

    def looks_again(self, who: Standing) -> None:
        job = self.stage.lock_job_of(who.id)
        settle_due(job)
        application = job.application(who.id)
        if application.outcome not in DECIDED or not application.is_verified:
            raise IllegalMove(status=application.status, move=Move.REINSTATE)
        place = find_lost_place(job, application)
        give_missed_place_back(job, application, place, actor=factories.RECRUITER, facts={})
        write(job, commit=True)

    def expect_another_look(self, who: Standing) -> None:
        if who.outcome not in ("REMOVED", "REJECTED") or who.verify_by:
            raise Refused("IllegalMove")
        look_again(self.model, who)

    def decides(self, who: Standing, *, confirms: bool) -> None:
        """Decide as the service does, which reads the statement in the database."""
        job = self.stage.lock_job_of(who.id)
        settle_due(job)
        application = job.application(who.id)
        if application.status != Status.WAITLIST or job.status is JobStatus.CLOSED:
            raise IllegalMove(status=application.status, move=Move.NOTE_GROUP)
        if not job.reserved_seats:
            raise ReserveRefused(why="")
        if self.claims.get(who.id) == confirms:
            return
        self.claims[who.id] = application.is_member = confirms
        entry = make_move(job, application, Move.NOTE_GROUP, actor=factories.RECRUITER)
        if application.is_verified:
            offer_free_seat(job, application, cause_seq=entry.seq)
        write(job, commit=True)

    @rule(settled=st.booleans())
    def time_passes_until_something_is_due(self, settled: bool) -> None:
        if due := self.stage.line.job.next_due_at:
            self.wait(max(0, (due - self.stage.now).total_seconds()))
            if settled:
                self.settles(touch=False)

    def leave(self) -> None: ...

    # Not of the line: texts of contests, and the past in the database.

    def somebody_asks_to_look_again(self) -> None: ...

    def company_looks_again(self) -> None: ...

    def somebody_looks_back(self) -> None: ...

    def replay_of_all_is_the_line(self) -> None: ...


@pytest.mark.slow
@pytest.mark.long_with_option
@pytest.mark.parametrize("part", range(PARTS))
def test_random_histories_in_memory_go_as_the_rules_say(part: int, long_seconds: int) -> None:
    """To repeat those of another day, set HISTORIES_OF to the number in the name of the machine."""
    day = os.environ.get("HISTORIES_OF") or datetime.now(UTC).toordinal()
    histories = type(f"Of{day}Part{part}", (HistoryInMemory,), {})  # each name draws others
    many = (100 if long_seconds else 10) * QUICK.max_examples

    run_state_machine_as_test(histories, settings=settings(QUICK, max_examples=many // PARTS))
