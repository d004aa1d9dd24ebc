"""Random histories over the real services, step by step beside a plain model of the rules."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

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
from pipeline.domain.states import Outcome, ReinstatementReason
from pipeline.line import settle as line_settle
from pipeline.services.jobs import (
    JobChanges,
    SeatPlan,
    cancel_seats,
    close_job,
    open_job,
    pause_job,
    plan_seats,
    update_job,
)
from pipeline.services.joining import verify
from pipeline.services.leaving import reinstate, remove, withdraw
from pipeline.services.settling import seconds_until_settlement, settle, settle_next_due
from pipeline.services.turns import acknowledge, extend_deadline, extend_offer
from tests.properties.comparison import (
    assert_archive_agrees,
    assert_passed_people_agree,
    assert_replay_agrees,
)
from tests.properties.contest_rules import ContestRules
from tests.properties.drawn_policies import capacities, changes, policies
from tests.properties.exception_rules import ExceptionRules
from tests.properties.pass_rules import PassRules
from tests.properties.planned import Planned, cancel, plan
from tests.properties.position_rules import PositionRules
from tests.properties.reserved_rules import ReservedRules
from tests.properties.standing import Standing
from tests.properties.wishes import SERVICES, moments, names, wish
from tests.support import factories

QUICK = settings(
    max_examples=24,
    stateful_step_count=40,
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

picks = st.integers(0, 9)
rarely = st.sampled_from([False, False, False, True])
SLICE = 3


class History(
    ContestRules,
    ExceptionRules,
    PassRules,
    PositionRules,
    ReservedRules,
    RuleBasedStateMachine,
):
    """One job, everything that can happen to it, and the model beside it."""

    replayed = 0

    def __init__(self) -> None:
        super().__init__()
        self.planned: list[UUID] = []

    @initialize(
        capacity=capacities,
        policy=policies,
        people=st.integers(0, 6),
        most_passes=st.sampled_from([1, 2, 1_000]),
    )
    def create(
        self, capacity: int, policy: dict[str, Any], people: int, most_passes: int = 1_000
    ) -> None:
        self.begin(capacity, policy)
        self.patches.enter_context(patch.object(line_settle, "MOST_PASSES", most_passes))
        self.model.most_passes = most_passes
        for _ in range(people):
            self.applies(self.new_person(), company=True)

    @rule(people=st.integers(1, 4), verified=st.booleans())
    def new_people_apply(self, people: int, verified: bool) -> None:
        for _ in range(people):
            self.applies(self.new_person(), verified=verified)

    @rule(which=picks, verified=st.booleans(), company=st.booleans())
    def somebody_applies_again(self, which: int, verified: bool, company: bool) -> None:
        ended = [who for who in self.model.people if who.status == "INACTIVE"]
        if who := self.pick(ended or self.model.people, which):
            self.applies(who.person, verified=verified, company=company)

    @rule(which=picks, anyone=rarely)
    def acknowledges(self, which: int, anyone: bool) -> None:
        among = self.model.people if anyone else self.model.pending()
        if who := self.pick(among, which):
            actor = factories.as_applicant(who.person)
            self.do(
                lambda: acknowledge(application_id=who.id, actor=actor),
                lambda _: self.model.acknowledge(who),
            )

    @rule(which=picks, anyone=rarely)
    def proves_the_address(self, which: int, anyone: bool) -> None:
        unverified = [who for who in self.live("WAITLIST") if who.verify_by]
        if who := self.pick(self.model.people if anyone else unverified, which):
            actor = factories.as_applicant(who.person)
            self.do(
                lambda: verify(application_id=who.id, actor=actor),
                lambda _: self.model.verify(who),
            )

    @rule(which=picks, verified=st.booleans(), company=st.booleans())
    def somebody_unverified_applies_again(self, which: int, verified: bool, company: bool) -> None:
        unverified = [who for who in self.live("WAITLIST") if who.verify_by]
        if who := self.pick(unverified, which):
            self.applies(who.person, verified=verified, company=company)

    @rule(which=picks, anyone=rarely)
    def withdraws(self, which: int, anyone: bool) -> None:
        if who := self.pick(self.model.people if anyone else self.live(), which):
            self.leaves(who)

    @rule(which=picks, one_more=st.booleans())
    def a_seat_is_given_up(self, which: int, one_more: bool) -> None:
        for _ in range(1 + one_more):
            if who := self.pick(self.live("ACTIVE", "PENDING_ACKNOWLEDGMENT"), which):
                self.leaves(who)

    @rule(which=picks, people=st.integers(2, 5))
    def several_pass_the_same_seat(self, which: int, people: int) -> None:
        self.new_people_apply(people, verified=True)
        for number, _ in enumerate(self.model.queue[:people]):
            self.asks_to_pass(number, anyone=False, wanted=True)
        self.a_seat_is_given_up(which, one_more=False)

    def leaves(self, who: Standing) -> None:
        actor = factories.as_applicant(who.person)
        self.do(
            lambda: withdraw(application_id=who.id, actor=actor),
            lambda _: self.model.withdraw(who),
        )

    @rule(which=picks, outcome=st.sampled_from(["REMOVED", "REJECTED", "HIRED"]))
    def company_removes(self, which: int, outcome: str) -> None:
        if who := self.pick(self.model.people, which):
            ending = {"outcome": Outcome(outcome), "actor": factories.RECRUITER}
            self.do(
                lambda: remove(application_id=who.id, **ending),
                lambda _: self.model.remove(who, outcome),
            )

    @rule(which=picks, anyone=rarely)
    def company_gives_a_place_back(self, which: int, anyone: bool) -> None:
        missed = [who for who in self.model.people if who.last_event in ("DECAYED", "LAPSED")]
        if who := self.pick(self.model.people if anyone else missed, which):
            how = {"reason": ReinstatementReason.OUR_ERROR, "actor": factories.RECRUITER}
            self.do(
                lambda: reinstate(application_id=who.id, **how),
                lambda _: self.model.reinstate(who),
            )

    @rule(which=picks, anyone=rarely, seconds=moments, name=names)
    def wishes(self, which: int, anyone: bool, seconds: int | None, name: str) -> None:
        if who := self.pick(self.model.people if anyone else self.live("WAITLIST"), which):
            until = None if seconds is None else self.clock() + timedelta(seconds=seconds)
            given = {"actor": factories.as_applicant(who.person), name: until}
            self.do(
                lambda: SERVICES[name](application_id=who.id, **given),
                lambda _: wish(self.model, who, name, until and until + self.passed),
            )

    @rule(which=picks, anyone=rarely, seconds=st.sampled_from([1, 30, 60]))
    def deadline_is_extended(self, which: int, anyone: bool, seconds: int) -> None:
        among = self.model.people if anyone else self.model.pending()
        if who := self.pick(among, which):
            self.do(
                lambda: extend_deadline(application_id=who.id, seconds=seconds),
                lambda _: self.model.extend(who, seconds),
            )

    @rule(
        which=picks,
        anyone=rarely,
        seconds=st.sampled_from([-1, 0, 1, 1, 60, 3_600, 86_400, 2_592_000]),
        times=st.sampled_from([1, 1, 2, 6]),
    )
    def company_gives_more_time(self, which: int, anyone: bool, seconds: int, times: int) -> None:
        among = self.model.people if anyone else self.model.pending()
        if who := self.pick(among, which):
            for number in range(1, times + 1):
                stands = who.deadline or self.model.now
                until = stands + timedelta(seconds=seconds * number)
                self.do(
                    lambda until=until: extend_offer(
                        application_id=who.id,
                        acknowledge_by=until - self.passed,
                        actor=factories.RECRUITER,
                    ),
                    lambda _, until=until: self.model.extend_for_company(who, until),
                )

    @rule(capacity=st.none() | capacities, policy=st.just({}) | st.just({}) | changes)
    def company_alters(self, capacity: int | None, policy: dict[str, Any]) -> None:
        alteration = JobChanges(capacity=capacity, policy=policy)
        if capacity or policy:
            self.do(
                lambda: update_job(
                    job_id=self.job_id, changes=alteration, actor=factories.RECRUITER
                ),
                lambda _: self.model.alter(capacity, policy),
            )

    @rule(
        seats=st.sampled_from([-2, -1, 1, 1, 2]),
        seconds=st.sampled_from([30, 61, 3_601]),
        times=st.sampled_from([1, 1, 2, 4]),
    )
    def company_plans_seats(self, seats: int, seconds: int, times: int) -> None:
        first_at, id = self.clock() + timedelta(seconds=seconds), uuid4()
        self.do(
            lambda: plan_seats(
                job_id=self.job_id,
                plan=SeatPlan(seats, first_at, "UTC", times),
                planned_id=id,
                actor=factories.RECRUITER,
            ),
            lambda _: plan(self.model, Planned(first_at + self.passed, id, seats, times)),
        )
        self.planned.append(id)

    @rule(which=picks)
    def company_cancels_planned_seats(self, which: int) -> None:
        if self.planned:
            id = self.planned[which % len(self.planned)]
            known = [each for each in self.model.plans if each.id == id]
            gone = Planned(self.clock(), id, 0, 0)
            self.do(
                lambda: cancel_seats(job_id=self.job_id, planned_id=id, actor=factories.RECRUITER),
                lambda _: cancel(self.model, known[0] if known else gone),
            )

    @rule(to=st.sampled_from(["OPEN"] * 7 + ["PAUSED"] * 2 + ["CLOSED"]))
    def company_opens_pauses_or_closes(self, to: str) -> None:
        verb = {"OPEN": open_job, "PAUSED": pause_job, "CLOSED": close_job}[to]
        self.do(
            lambda: verb(job_id=self.job_id, actor=factories.RECRUITER), lambda _: self.model.go(to)
        )

    @rule(seconds=st.sampled_from([0.3, 1, 29, 31, 61, 600, 3_601, 86_401, 604_801]))
    def time_passes(self, seconds: float) -> None:
        self.wait(seconds)

    @rule(settled=st.booleans())
    def time_passes_until_something_is_due(self, settled: bool) -> None:
        if seconds := seconds_until_settlement():
            self.wait(round(seconds, 6))
            if settled:
                self.settles(touch=False)
            assert_archive_agrees(self.job_id)

    @rule(touch=st.booleans(), people=st.integers(0, 3))
    def an_offer_runs_out_and_new_people_come(self, touch: bool, people: int) -> None:
        if pending := self.model.pending():
            left = pending[0].deadline - self.passed - self.clock()
            self.wait(max(0, left.total_seconds()))
            self.settles(touch)
            self.new_people_apply(people, verified=True)

    @rule(touch=st.booleans())
    def settles(self, touch: bool) -> None:
        is_closed = self.model.status == "CLOSED"  # not by this settlement
        with patch.object(line_settle, "SLICE", SLICE):
            self.do(
                (lambda: settle(job_id=self.job_id)) if touch else settle_next_due,
                lambda _: self.model.close_out(SLICE) if is_closed else None,
            )

    @rule(at=st.floats(0, 1))
    def somebody_looks_back(self, at: float) -> None:
        seq = 1 + int(at * (len(self.model.log) - 1))
        assert_replay_agrees(self.job_id, self.model, self.passed, seq)

    @invariant()
    def replay_of_all_is_the_line(self) -> None:
        if hasattr(self, "model") and len(self.model.log) > self.replayed:
            self.replayed = len(self.model.log)
            assert_replay_agrees(self.job_id, self.model, self.passed, self.replayed)
            assert_passed_people_agree(self.job_id, self.model)

    def teardown(self) -> None:
        """Every history that went well ends with the job closed, and everyone closed out."""
        if not hasattr(self, "patches"):
            return
        with self.patches:
            if self.agrees:
                self.company_opens_pauses_or_closes("CLOSED")
                while self.live("WAITLIST", "PENDING_ACKNOWLEDGMENT"):
                    self.settles(touch=False)
        self.leave()

    def leave(self) -> None:
        """Let no other history settle this job."""
        Job.objects.filter(id=self.job_id).update(next_due_at=None)


@pytest.mark.slow
@pytest.mark.in_turns(2)
@pytest.mark.django_db(transaction=True)
def test_random_histories_go_as_the_rules_say() -> None:
    """For a longer run set THOROUGH to a number of histories."""
    run_state_machine_as_test(History, settings=THOROUGH if "THOROUGH" in os.environ else QUICK)
