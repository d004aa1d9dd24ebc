"""Random histories in a sandbox: its clock is moved, and a first order may be drawn by lot.

Beside the model as the others, which let the rows go into the past: a draw would not fit its seed.
"""

from __future__ import annotations

import os
from datetime import datetime, timedelta
from hashlib import sha256
from math import ceil
from typing import Any
from uuid import UUID

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule, run_state_machine_as_test

from jobs.models import Company
from pipeline.line.clock import read_company_clock
from pipeline.models import Event
from tests.figures.whatif.test_simulate import logged, simulated
from tests.properties.drawn_policies import capacities, policies
from tests.properties.model import Model
from tests.properties.saved_receipts import SavedReceipts
from tests.properties.test_random_histories import QUICK, THOROUGH, History, picks
from tests.support import factories
from tests.support.lottery import lottery
from tests.support.sandboxes import advance, sandbox

# The longest step of the clock where nobody who misses offers ever leaves the line.
LONGEST_OF_CYCLES = 600


class SandboxHistory(History):
    """One job of a sandbox, everything that can happen to it, and the model beside it."""

    company: Company
    receipts: SavedReceipts
    draws_after: int | None

    @initialize(
        capacity=capacities,
        policy=policies,
        people=st.integers(0, 6),
        draws_after=st.sampled_from([None, 31, 601, 3_601]),
    )
    def create(
        self, capacity: int, policy: dict[str, Any], people: int, draws_after: int | None
    ) -> None:
        self.company, self.draws_after = sandbox(), draws_after
        self.receipts = SavedReceipts()
        super().create(capacity, policy, people)

    def create_job(self, capacity: int, policy: dict[str, Any]) -> UUID:
        where: dict[str, Any] = {"company_id": self.company.id, "capacity": capacity}
        if self.draws_after is None:
            return factories.job(**where, **policy)
        return lottery(seconds=self.draws_after, **where, **policy)

    def begin(self, capacity: int, policy: dict[str, Any]) -> None:
        super().begin(capacity, policy)
        self.model.draw_at = factories.row_of(self.job_id).draw_at
        self.model.lot = self.lot

    def lot(self, seq: int, application_id: UUID) -> str:
        """Return the lot of an application by the published rule, from the seed in the log."""
        seed = bytes.fromhex(Event.objects.get(job_id=self.job_id, seq=seq).data["seed"])
        opaque = sha256(f"{self.job_id}:{application_id}".encode()).hexdigest()[:32]
        return sha256(seed + opaque.encode()).hexdigest()

    def clock(self) -> datetime:
        return read_company_clock(self.company.id).now

    def moment(self, seq: int, earlier: datetime) -> datetime:
        """Return the time of the change after that seq.

        Events that it settled first are earlier.
        """
        new = factories.events(self.job_id, after=seq)
        moved = [event.at for event in new if event.event == "CLOCK_ADVANCED"]
        return (moved or [event.at for event in new] or [earlier])[-1]

    def settle_model(self, until: datetime) -> None:
        """Settle each instant at which something is due, at its own time."""
        while (at := next_instant(self.model)) and at <= until:
            super().settle_model(max(at, self.model.log[-1][-1]))
        self.model.now, self.model.opened = until, []  # later promotions have other causes

    def wait(self, seconds: float) -> None:
        """Move the clock, by whole seconds."""
        whole = ceil(max(1, seconds))
        if self.model.policy["max_decays"] is None:
            whole = min(whole, LONGEST_OF_CYCLES)
        self.do(lambda: advance(self.company, whole), lambda _: self.clock_is_moved(whole))

    def clock_is_moved(self, seconds: int) -> None:
        if self.model.status == "CLOSED":
            self.model.close_out(len(self.model.people))
        self.model.write("CLOCK_ADVANCED")
        last = factories.events(self.job_id)[-1].at
        self.settle_model(max(self.model.now + timedelta(seconds=seconds), last))
        if self.model.status == "CLOSED":  # at one of these instants
            self.model.close_out(len(self.model.people))

    @rule()
    def the_time_of_the_draw_comes(self) -> None:
        if self.model.awaits_draw and self.model.draw_at:
            self.wait((self.model.draw_at - self.clock()).total_seconds())

    @rule(which=picks)
    def somebody_saves_a_receipt(self, which: int) -> None:
        if who := self.pick(self.model.people, which):
            self.receipts.save(who.id)

    def teardown(self) -> None:
        super().teardown()
        if self.agrees:
            self.receipts.assert_all_hold(self.job_id, of_sandbox=True)
            if self.draws_after is None:  # what-ifs know no draw
                assert simulated(self.job_id) == logged(self.job_id)


def next_instant(model: Model) -> datetime | None:
    """Return when the next thing is due in an open or paused job."""
    if model.status == "CLOSED":
        return None
    moments = [who.deadline for who in model.pending()] + [who.verify_by for who in model.queue]
    moments += [plan.at for plan in model.plans] + [model.closes_at]
    if model.awaits_draw:
        moments.append(model.draw_at)
    elif model.status == "OPEN" and model.free():
        proved = [who for who in model.queue if who.verify_by is None]
        ends = [end for who in proved for end in (who.eligible_at, who.not_before) if end]
        moments += [end for end in ends if end > model.now]
    return min((each for each in moments if each), default=None)


@pytest.mark.slow
@pytest.mark.in_turns(2)
@pytest.mark.django_db(transaction=True)
def test_random_histories_of_a_sandbox_go_as_the_rules_say() -> None:
    """For a longer run set THOROUGH to a number of histories."""
    quick = "THOROUGH" not in os.environ
    run_state_machine_as_test(SandboxHistory, settings=QUICK if quick else THOROUGH)
