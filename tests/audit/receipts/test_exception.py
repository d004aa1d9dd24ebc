"""Receipts around an exception: those passed and the one moved can prove it, with its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.audit.receipts import issue_receipt
from pipeline.domain.states import ExceptionReason
from pipeline.models import Application
from pipeline.services.exceptions import move_ahead
from tests.support import factories
from tests.support.applicants import leave
from tests.support.receipts import Folder, whole_log

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("which", [1, 3], ids=["passed", "moved"])
def test_an_exception_is_a_named_reason_for_who_was_passed_and_for_who_was_moved(
    tmp_path: Path, which: int
) -> None:
    people = factories.applications(factories.job(), 4)
    before = issue_receipt(people[which].id)
    reason = ExceptionReason.LEGAL_DUTY
    move_ahead(application_id=people[3].id, reason=reason, actor=factories.RECRUITER)
    moved = factories.row_of(people[0].job_id).seq
    leave(Application.objects.get(id=people[0].id))
    receipt = issue_receipt(people[which].id)

    code, said = Folder(tmp_path).verify(before, receipt, log=whole_log(people[0].job_id))

    assert code == 0, said
    if which == 1:
        assert f"event {moved} moved someone from behind you to the front by an exception" in said
        assert "LEGAL_DUTY" in said
    else:
        assert f"event {moved}: the company moved you to the front by an exception" in said
