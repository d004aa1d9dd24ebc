"""A receipt of someone who passed a turn: others were promoted for that reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.audit.receipts import issue_receipt
from pipeline.models import Application, Event
from pipeline.services.turns import pass_next, pass_offer
from tests.support import factories
from tests.support.applicants import leave
from tests.support.receipts import Folder, whole_log

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("before", [True, False], ids=["before the offer", "while it is open"])
@pytest.mark.parametrize("first_seat", [True, False], ids=["on applying", "in line"])
def test_a_turn_that_i_passed_is_a_named_reason(
    tmp_path: Path, before: bool, first_seat: bool
) -> None:
    seated, me, _second = factories.applications(factories.job(acknowledge_first_seat=True), 3)
    if first_seat and not before:
        me = seated
    actor = factories.owner_of(me)
    if before:
        pass_next(application_id=me.id, wanted=True, actor=actor)
    if me != seated:
        leave(Application.objects.get(id=seated.id))
    if not before:
        pass_offer(application_id=me.id, actor=actor)
    passed = Event.objects.get(application_id=me.id, event="PASSED").seq

    code, said = Folder(tmp_path).verify(issue_receipt(me.id), log=whole_log(me.job_id))

    assert code == 0, said
    assert f"event {passed}: you passed a turn" in said
    assert f"your cool-down after event {passed} had not ended" in said
