"""Receipts around a reserved seat: who was passed by it can prove that it was one, and how many."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.audit.receipts import issue_receipt
from pipeline.domain.states import GroupKind
from pipeline.services.reserved import Reserve, reserve_seats
from tests.support import factories
from tests.support.receipts import Folder, whole_log

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_reserved_seat_is_a_named_reason_and_nobody_is_named_as_one_of_the_group(
    tmp_path: Path,
) -> None:
    job = factories.job(capacity=2)
    reserve = Reserve(1, GroupKind.DISABILITY, code="CODE")
    reserve_seats(job_id=job, reserve=reserve, actor=factories.RECRUITER)
    _seated, me = factories.applications(job, 2)
    factories.application(job, group_code="CODE")
    factories.application(job, group_code="")
    log = whole_log(job)

    code, said = Folder(tmp_path).verify(issue_receipt(me.id), log=log)

    assert code == 0, said
    assert "the seat is reserved for people of a group: DISABILITY" in said
    assert {row["event"] for row in log} >= {"ANSWERED", "PROMOTED", "RESERVE_CHANGED"}
    assert "GROUP_NOTED" not in str(log)
    assert "claim" not in str(log)
    assert "DISABILITY" not in str([row for row in log if row["application"]])
