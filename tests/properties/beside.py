"""A job and its model: both perform every action, and the results are compared."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID

from pipeline.domain.errors import LineError
from pipeline.line import lock
from pipeline.line.event_log import LogEntry
from pipeline.models import Application, Event
from pipeline.services.joining import apply
from tests.properties.both import Both
from tests.properties.comparison import assert_log_agrees, assert_rows_agree
from tests.properties.model import Model
from tests.properties.planned import Refused
from tests.properties.standing import Standing
from tests.support import factories
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound


class Beside:
    """A job and its model. `passed` is how much time a test has let pass, in all.

    The job's line is in the database and in memory.
    """

    job_id: UUID
    model: Model
    both: Both
    passed: timedelta
    patches: ExitStack
    agrees = False
    # The most seats held at any instant of the change under way.
    most = 0

    def begin(self, capacity: int, policy: dict[str, Any]) -> None:
        """Create the job, open, and its model."""
        self.patches, self.passed = ExitStack(), timedelta()
        self.set_stage()
        self.job_id = self.create_job(capacity, policy)
        self.model = Model(capacity, policy, self.events()[0].at)
        for event in self.events():
            self.model.now = event.at
            opened = event.event == "JOB_OPENED"
            before, self.model.status = ("DRAFT", "OPEN") if opened else (None, "DRAFT")
            self.model.write(event.event, before=before, after=self.model.status)

    def set_stage(self) -> None:
        """Keep the lines in memory too."""
        self.both = Both()
        self.patches.enter_context(patch.object(lock, "DATABASE", self.both))

    def create_job(self, capacity: int, policy: dict[str, Any]) -> UUID:
        return factories.job(capacity=capacity, **policy)

    def new_person(self) -> UUID:
        return factories.applicant().id

    def events(self, *, after: int = 0) -> list[Event] | list[LogEntry]:
        """Return the job's log, after that seq."""
        return factories.events(self.job_id, after=after)

    def clock(self) -> datetime:
        """Return the time that the job goes by."""
        return database_now()

    def do(self, verb: Callable[[], Any], expected: Callable[[Any], None]) -> None:
        """Let the services do something, then the model at the very same time, and compare."""
        earlier, seq, self.most = self.clock(), len(self.model.log), self.model.held()
        answer, refusal, wanted = None, None, None
        try:
            answer = verb()
        except LineError as error:
            refusal = type(error).__name__
        self.agrees = False
        try:
            self.settle_model(self.moment(seq, earlier) + self.passed)
            expected(answer)
        except Refused as error:
            wanted = str(error)
        assert refusal == wanted
        self.compare(seq)
        self.agrees = True

    def compare(self, seq: int) -> None:
        """Compare the line, and its log after that seq, with the model."""
        job, people = factories.row_of(self.job_id), Application.objects.filter(job_id=self.job_id)
        assert_log_agrees(self.events(after=seq), self.model, self.passed, after=seq)
        assert_rows_agree(job, people, self.model, self.passed)
        assert_line_is_sound(
            self.job_id,
            most_seats=max(self.most, self.model.capacity),
            with_log=len(self.model.log) > seq,  # nothing is new in it otherwise
        )
        self.both.assert_rows_are_the_same(self.job_id)

    def settle_model(self, until: datetime) -> None:
        self.model.now = until
        self.model.settle()
        # It may have filled a seat that this change then takes away from the capacity.
        self.most = max(self.most, self.model.held())

    def moment(self, seq: int, earlier: datetime) -> datetime:
        """Return the time of the change after that seq; if it left no trace, `earlier`."""
        moments = {event.at for event in self.events(after=seq)} or {earlier}
        assert len(moments) == 1, "one change has one time"
        assert earlier <= max(moments) <= self.clock()
        return max(moments)

    def pick(self, among: list[Standing], which: int) -> Standing | None:
        return among[which % len(among)] if among else None

    def applies(self, person: UUID, *, company: bool = False, verified: bool = True) -> None:
        actor = factories.RECRUITER if company else factories.as_applicant(person)
        how = {"name": "Someone", "actor": actor, "verified": verified}

        def expected(answer: Application | None) -> None:
            new = answer.id if answer else UUID(int=0)
            self.model.apply(new, person, verified=verified, company=company)

        self.do(lambda: apply(job_id=self.job_id, applicant_id=person, **how), expected)

    def wait(self, seconds: float) -> None:
        """Let time pass for both."""
        let_time_pass(self.job_id, seconds)
        self.both.let_time_pass(self.job_id, timedelta(seconds=seconds))
        self.passed += timedelta(seconds=seconds)
        self.model.passed = self.passed

    def live(self, *statuses: str) -> list[Standing]:
        """Return the people in one of those statuses; in any but INACTIVE, if none is given."""
        wanted = statuses or ("WAITLIST", "PENDING_ACKNOWLEDGMENT", "ACTIVE")
        return [who for who in self.model.people if who.status in wanted]
