"""Random histories over the real services, step by step beside a plain model of the rules."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from jobs.models import Job
from pipeline.errors import LineError
from pipeline.line import close_out
from pipeline.models import Application, Event
from pipeline.services.acknowledge import acknowledge
from pipeline.services.alter import Alteration, alter_job
from pipeline.services.apply import apply
from pipeline.services.extend import extend_deadline
from pipeline.services.lifecycle import close_job, open_job, pause_job
from pipeline.services.remove import remove
from pipeline.services.settle import seconds_until_due, settle, settle_next_due
from pipeline.services.withdraw import withdraw
from pipeline.states import Outcome
from tests import make
from tests.clock import database_now, let_time_pass
from tests.properties.comparison import (
    assert_log_agrees,
    assert_replay_agrees,
    assert_rows_agree,
)
from tests.properties.model import Model, Refused, Standing
from tests.sound import assert_line_is_sound

QUICK = settings(
    max_examples=40,
    stateful_step_count=50,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
THOROUGH = settings(
    QUICK,
    max_examples=int(os.environ.get("THOROUGH", "0")) or 1,
    stateful_step_count=70,
    derandomize=False,
    print_blob=True,
    phases=[Phase.generate, Phase.shrink],
)

VALUES = {
    "acknowledgment_window_seconds": [60, 90],
    "acknowledge_first_seat": [False, True],
    "penalty_places": [0, 1, 2, 5],
    "max_decays": [0, 1, 3, None],
    "cooldown_seconds": [1, 30, 3_600],
}
policies = st.fixed_dictionaries({name: st.sampled_from(of) for name, of in VALUES.items()})
changes = st.fixed_dictionaries({}, optional={n: st.sampled_from(of) for n, of in VALUES.items()})
capacities = st.integers(1, 4)
picks = st.integers(0, 9)
rarely = st.sampled_from([False, False, False, True])
SLICE = 3


class History(RuleBasedStateMachine):
    """One job, everything that can happen to it, and the model beside it."""

    @initialize(capacity=capacities, policy=policies, people=st.integers(0, 5))
    def create(self, capacity: int, policy: dict[str, Any], people: int) -> None:
        self.job_id = make.job(capacity=capacity, **policy)
        self.passed = timedelta()
        self.model = Model(capacity, policy, make.row_of(self.job_id).created_at)
        for event in make.events(self.job_id):
            self.model.now = event.at
            opened = event.event == "JOB_OPENED"
            before, self.model.status = ("DRAFT", "OPEN") if opened else (None, "DRAFT")
            self.model.write(event.event, before=before, after=self.model.status)
        for _ in range(people):
            self.applies(make.applicant().id, company=True)

    def do(self, verb: Callable[[], Any], expected: Callable[[Any], None]) -> None:
        """Let the services do something, then the model at the very same time, and compare."""
        earlier, seq, held = database_now(), len(self.model.log), self.model.held()
        answer, refusal, wanted = None, None, None
        try:
            answer = verb()
        except LineError as error:
            refusal = type(error).__name__
        self.model.now = self.moment(seq, earlier) + self.passed
        try:
            self.model.settle()
            expected(answer)
        except Refused as error:
            wanted = str(error)
        assert refusal == wanted
        assert_log_agrees(self.job_id, self.model, self.passed, after=seq)
        assert_rows_agree(self.job_id, self.model, self.passed)
        assert_line_is_sound(self.job_id, most_seats=max(held, self.model.capacity))

    def moment(self, seq: int, earlier: datetime) -> datetime:
        """When the change that came after that seq was made; if it left no trace, `earlier`."""
        new = Event.objects.filter(job_id=self.job_id, seq__gt=seq)
        moments = set(new.values_list("at", flat=True)) or {earlier}
        assert len(moments) == 1, "one change has one time"
        assert earlier <= max(moments) <= database_now()
        return max(moments)

    def pick(self, among: list[Standing], which: int) -> Standing | None:
        return among[which % len(among)] if among else None

    def applies(self, person: UUID, *, company: bool = False, verified: bool = True) -> None:
        actor = make.RECRUITER if company else make.as_applicant(person)
        how = {"name": "Somebody", "actor": actor, "verified": verified}

        def expected(answer: Application | None) -> None:
            new = answer.id if answer else UUID(int=0)
            self.model.apply(new, person, verified=verified, company=company)

        self.do(lambda: apply(job_id=self.job_id, applicant_id=person, **how), expected)

    @rule(people=st.integers(1, 3), verified=st.booleans())
    def new_people_apply(self, people: int, verified: bool) -> None:
        for _ in range(people):
            self.applies(make.applicant().id, verified=verified)

    @rule(which=picks, verified=st.booleans(), company=st.booleans())
    def somebody_applies_again(self, which: int, verified: bool, company: bool) -> None:
        ended = [who for who in self.model.people if who.status == "INACTIVE"]
        if who := self.pick(ended or self.model.people, which):
            self.applies(who.person, verified=verified, company=company)

    @rule(which=picks, anybody=rarely)
    def acknowledges(self, which: int, anybody: bool) -> None:
        among = self.model.people if anybody else self.model.pending()
        if who := self.pick(among, which):
            actor = make.as_applicant(who.person)
            self.do(
                lambda: acknowledge(application_id=who.id, actor=actor),
                lambda _: self.model.acknowledge(who),
            )

    @rule(which=picks, anybody=rarely)
    def withdraws(self, which: int, anybody: bool) -> None:
        live = [who for who in self.model.people if who.status != "INACTIVE"]
        if who := self.pick(self.model.people if anybody else live, which):
            actor = make.as_applicant(who.person)
            self.do(
                lambda: withdraw(application_id=who.id, actor=actor),
                lambda _: self.model.withdraw(who),
            )

    @rule(which=picks, outcome=st.sampled_from(["REMOVED", "REJECTED", "HIRED"]))
    def company_removes(self, which: int, outcome: str) -> None:
        if who := self.pick(self.model.people, which):
            ending = {"outcome": Outcome(outcome), "actor": make.RECRUITER}
            self.do(
                lambda: remove(application_id=who.id, **ending),
                lambda _: self.model.remove(who, outcome),
            )

    @rule(which=picks, anybody=rarely, seconds=st.sampled_from([1, 30, 60]))
    def deadline_is_extended(self, which: int, anybody: bool, seconds: int) -> None:
        among = self.model.people if anybody else self.model.pending()
        if who := self.pick(among, which):
            self.do(
                lambda: extend_deadline(application_id=who.id, seconds=seconds),
                lambda _: self.model.extend(who, seconds),
            )

    @rule(capacity=st.none() | capacities, policy=changes)
    def company_alters(self, capacity: int | None, policy: dict[str, Any]) -> None:
        alteration = Alteration(capacity=capacity, policy=policy)
        if capacity or policy:
            self.do(
                lambda: alter_job(job_id=self.job_id, alteration=alteration, actor=make.RECRUITER),
                lambda _: self.model.alter(capacity, policy),
            )

    @rule(to=st.sampled_from(["OPEN"] * 7 + ["PAUSED"] * 2 + ["CLOSED"]))
    def company_opens_pauses_or_closes(self, to: str) -> None:
        verb = {"OPEN": open_job, "PAUSED": pause_job, "CLOSED": close_job}[to]
        self.do(lambda: verb(job_id=self.job_id, actor=make.RECRUITER), lambda _: self.model.go(to))

    @rule(seconds=st.sampled_from([0.3, 1, 29, 31, 61, 600, 3_601]))
    def time_passes(self, seconds: float) -> None:
        let_time_pass(self.job_id, seconds)
        self.passed += timedelta(seconds=seconds)

    @rule(settled=st.booleans())
    def time_passes_until_something_is_due(self, settled: bool) -> None:
        seconds = seconds_until_due()
        if seconds:
            self.time_passes(round(seconds, 6))
            if settled:
                self.settles(touch=False)

    @rule(touch=st.booleans())
    def settles(self, touch: bool) -> None:
        with patch.object(close_out, "SLICE", SLICE):
            self.do(
                (lambda: settle(job_id=self.job_id)) if touch else settle_next_due,
                lambda _: self.model.close_out(SLICE) if self.model.status == "CLOSED" else None,
            )

    @rule(at=st.floats(0, 1))
    def somebody_looks_back(self, at: float) -> None:
        seq = 1 + int(at * (len(self.model.log) - 1))
        assert_replay_agrees(self.job_id, self.model, self.passed, seq)

    @invariant()
    def replay_of_all_is_the_line(self) -> None:
        if hasattr(self, "model"):
            assert_replay_agrees(self.job_id, self.model, self.passed, len(self.model.log))

    def teardown(self) -> None:
        """No other example's worker finds this job due."""
        if hasattr(self, "job_id"):
            Job.objects.filter(id=self.job_id).update(next_due_at=None)


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_random_histories_go_as_the_rules_say() -> None:
    run_state_machine_as_test(History, settings=QUICK)


@pytest.mark.skipif("THOROUGH" not in os.environ, reason="set THOROUGH to a number of histories")
@pytest.mark.django_db(transaction=True)
def test_many_more_random_histories_go_as_the_rules_say() -> None:
    run_state_machine_as_test(History, settings=THOROUGH)
