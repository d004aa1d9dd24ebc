"""The rules of random histories in which a company moves people to the front."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import rule

from pipeline.domain.states import ExceptionReason
from pipeline.services.exceptions import move_ahead
from tests.properties import exceptions
from tests.properties.beside import Beside
from tests.support import factories

picks = st.integers(0, 9)
rarely = st.sampled_from([False, False, False, True])


class ExceptionRules(Beside):
    """What can happen to the order of a job's line besides what its rules say."""

    @rule(which=picks, anyone=rarely)
    def company_moves_someone_ahead(self, which: int, anyone: bool) -> None:
        if who := self.pick(self.model.people if anyone else self.model.queue[::-1], which):
            how = {"reason": ExceptionReason.LEGAL_DUTY, "actor": factories.RECRUITER}
            self.do(
                lambda: move_ahead(application_id=who.id, **how),
                lambda _: exceptions.move_ahead(self.model, who),
            )
