"""The rules of random histories in which a job reserves seats for a group."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import rule

from pipeline.domain.states import ClaimState, GroupKind
from pipeline.models import GroupClaim
from pipeline.services.reserved import Reserve, decide_claim, reserve_seats
from tests.properties import reserved
from tests.properties.beside import Beside
from tests.properties.standing import Standing
from tests.support import factories

picks = st.integers(0, 9)
rarely = st.sampled_from([False, False, False, True])


class ReservedRules(Beside):
    """What can happen to a job's reserved seats, and to the people of its group."""

    @rule(
        seats=st.sampled_from([0, 1, 1, 2, 2, 3]),
        seconds=st.sampled_from([None, None, 31, 3_601, 86_401, -5]),
    )
    def company_reserves_seats(self, seats: int, seconds: int | None) -> None:
        until = None if seconds is None else self.clock() + timedelta(seconds=seconds)
        wanted = Reserve(seats, GroupKind.INTERNAL, until=until)
        self.do(
            lambda: reserve_seats(job_id=self.job_id, reserve=wanted, actor=factories.RECRUITER),
            lambda _: reserved.reserve(
                self.model, seats, (until and until + self.passed) if seats else None
            ),
        )

    @rule(which=picks, anyone=rarely, confirms=st.sampled_from([True, True, True, False]))
    def company_decides_who_is_of_the_group(self, which: int, anyone: bool, confirms: bool) -> None:
        among = self.model.people if anyone else self.live("WAITLIST")
        if who := self.pick(among, which):
            self.do(
                lambda: self.decides(who, confirms=confirms),
                lambda _: reserved.decide(self.model, who, confirms=confirms),
            )

    def decides(self, who: Standing, *, confirms: bool) -> None:
        """Have the person state it, and the company decide."""
        GroupClaim.objects.get_or_create(
            application_id=who.id,
            defaults={
                "job_id": self.job_id,
                "state": ClaimState.STATED,
                "kind": GroupKind.INTERNAL,
                "salt": bytes(32),
                "stated_at": self.clock(),
            },
        )
        decide_claim(application_id=who.id, confirms=confirms, actor=factories.RECRUITER)
