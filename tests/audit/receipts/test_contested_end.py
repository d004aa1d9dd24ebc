"""Receipts of people whose end was contested: the place that came back is proved."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.audit.receipts import issue_receipt
from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.states import Outcome
from pipeline.models import Application, Event
from pipeline.services.contests import answer_contest, contest
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.receipts import Folder, whole_log

pytestmark = pytest.mark.django_db(transaction=True)


def take_back(application: Application) -> None:
    """Reject someone, who asks to look again and is right."""
    who = {"application_id": application.id}
    remove(**who, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    asked = contest(**who, text="It was not me.", actor=factories.owner_of(application))
    answer_contest(
        **who,
        contest_id=asked.id,
        answer=ContestAnswer.CHANGED,
        reason=ContestReason.OUR_ERROR,
        actor=factories.RECRUITER,
    )


def test_a_decision_taken_back_is_proved_to_everybody_in_line(tmp_path: Path) -> None:
    folder, job = Folder(tmp_path), factories.job()
    seated, first, second = factories.applications(job, 3)
    before = issue_receipt(first.id)

    take_back(first)
    take_back(seated)
    log = whole_log(job)

    for receipts in ([before, issue_receipt(first.id)], [issue_receipt(second.id)]):
        code, said = folder.verify(*receipts, log=log)
        assert code == 0, said
    back = Event.objects.filter(application_id=first.id, event="REINSTATED").get().seq
    assert f"event {back} gave someone a former place back, ahead of you" in said
    assert "OUR_ERROR" not in str(log)
    assert {row["event"] for row in log} >= {"LEFT", "NOTED", "REINSTATED"}
    assert not any("CONTEST" in row["event"] for row in log)


def test_a_receipt_after_a_contest_says_that_it_ended(tmp_path: Path) -> None:
    folder, job = Folder(tmp_path), factories.job()
    _seated, waits = factories.applications(job, 2)
    who = {"application_id": waits.id}
    remove(**who, outcome=Outcome.REMOVED, actor=factories.RECRUITER)
    contest(**who, text="Please look again.", actor=factories.owner_of(waits))

    receipt = issue_receipt(waits.id)

    assert (receipt["status"], receipt["position"]) == ("INACTIVE", None)
    code, said = folder.verify(receipt, log=whole_log(job))
    assert code == 0, said
