"""The rules of random histories in which positions are filled and the job closes at a date."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import rule

from pipeline.domain.states import IfLast, Outcome
from pipeline.services.jobs import JobChanges, update_job
from pipeline.services.leaving import remove
from tests.properties.beside import Beside
from tests.properties.positions import announce_closing, change_positions, hire
from tests.support import factories

picks = st.integers(0, 9)


class PositionRules(Beside):
    """What can happen to the positions and dates of a job."""

    @rule(which=picks, if_last=st.sampled_from(IfLast))
    def company_hires(self, which: int, if_last: IfLast) -> None:
        if who := self.pick(self.live("ACTIVE"), which):
            ending = {"outcome": Outcome.HIRED, "if_last": if_last, "actor": factories.RECRUITER}
            self.do(
                lambda: remove(application_id=who.id, **ending),
                lambda _: hire(self.model, who, if_last.value),
            )

    @rule(positions=st.sampled_from([None, 1, 1, 2, 3]))
    def company_changes_positions(self, positions: int | None) -> None:
        changes = JobChanges(hiring={"positions_to_fill": positions})
        self.do(
            lambda: update_job(job_id=self.job_id, changes=changes, actor=factories.RECRUITER),
            lambda _: change_positions(self.model, positions),
        )

    @rule(seconds=st.sampled_from([None, None, None, 61, 3_601, 172_801]))
    def company_announces_the_closing(self, seconds: int | None) -> None:
        at = None if seconds is None else self.clock() + timedelta(seconds=seconds)
        changes = JobChanges(hiring={"closes_at": at})
        self.do(
            lambda: update_job(job_id=self.job_id, changes=changes, actor=factories.RECRUITER),
            lambda _: announce_closing(self.model, at and at + self.passed),
        )
