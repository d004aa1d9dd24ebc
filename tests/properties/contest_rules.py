"""The rules of random histories in which people ask to look again, and the company answers."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from pipeline.domain.contests import REASONS_OF, ContestAnswer
from pipeline.models import Contest
from pipeline.services.contests import answer_contest, contest
from tests.properties.beside import Beside
from tests.properties.contested import answer, ask
from tests.support import factories

picks = st.integers(0, 9)
rarely = st.sampled_from([False, False, False, True])


class ContestRules(Beside):
    """What can happen to a job's ended applications."""

    @rule(which=picks, anyone=rarely)
    def somebody_asks_to_look_again(self, which: int, anyone: bool) -> None:
        ended = [who for who in self.model.people if who.status == "INACTIVE" and not who.asks]
        if who := self.pick(self.model.people if anyone else ended, which):
            actor = factories.as_applicant(who.person)
            self.do(
                lambda: contest(application_id=who.id, text="Why?", actor=actor),
                lambda _: ask(self.model, who),
            )

    @rule(which=picks, anyone=rarely, changed=st.booleans())
    def company_looks_again(self, which: int, anyone: bool, changed: bool) -> None:
        asked = [who for who in self.model.people if who.contested]
        if who := self.pick(asked if anyone else [w for w in asked if w.asks], which):
            last = Contest.objects.filter(application_id=who.id).latest("seq")
            said = ContestAnswer.CHANGED if changed else ContestAnswer.UPHELD
            self.do(
                lambda: answer_contest(
                    contest_id=last.id,
                    application_id=who.id,
                    answer=said,
                    reason=REASONS_OF[said][0],
                    actor=factories.RECRUITER,
                ),
                lambda _: answer(self.model, who, changed=changed),
            )
