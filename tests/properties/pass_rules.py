"""The rules of random histories in which people pass a turn."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from pipeline.services.turns import pass_next, pass_offer
from tests.properties.beside import Beside
from tests.properties.passes import ask_to_pass, pass_an_offer
from tests.support import factories

picks = st.integers(0, 9)
rarely = st.sampled_from([False, False, False, True])


class PassRules(Beside):
    """What can happen to the turns of people in line."""

    @rule(which=picks, anyone=rarely, wanted=st.sampled_from([True, True, False]))
    def asks_to_pass(self, which: int, anyone: bool, wanted: bool) -> None:
        if who := self.pick(self.model.people if anyone else self.live("WAITLIST"), which):
            actor = factories.as_applicant(who.person)
            self.do(
                lambda: pass_next(application_id=who.id, wanted=wanted, actor=actor),
                lambda _: ask_to_pass(self.model, who, wanted=wanted),
            )

    @rule(which=picks, anyone=rarely)
    def passes_an_offer(self, which: int, anyone: bool) -> None:
        if who := self.pick(self.model.people if anyone else self.model.pending(), which):
            actor = factories.as_applicant(who.person)
            self.do(
                lambda: pass_offer(application_id=who.id, actor=actor),
                lambda _: pass_an_offer(self.model, who),
            )
