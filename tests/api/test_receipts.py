"""Receipts and the log without names, over the API."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobs.models import Company
from tests.support import factories
from tests.support.callers import key_of, person
from tests.support.receipts import Folder

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_receipt_and_every_page_of_the_log_are_verified(company: Company, tmp_path: Path) -> None:
    applicant, caller = person()
    job = factories.job(company_id=company.id)
    factories.application(job)
    mine = factories.application(job, applicant)
    factories.applications(job, 3)

    receipt = caller.get(f"/applications/{mine.id}/receipt").json()
    rows, cursor = [], ""
    while cursor is not None:
        page = caller.get(f"/applications/{mine.id}/log?limit=2{cursor and f'&cursor={cursor}'}")
        rows += page.json()["data"]
        cursor = page.json()["next_cursor"]

    code, said = Folder(tmp_path).verify(receipt, log=rows)
    assert code == 0, said
    assert len(rows) == receipt["seq"] == 7
    assert receipt["position"] == 1


def test_the_log_can_start_after_an_event(company: Company) -> None:
    mine = factories.application(factories.job(company_id=company.id))
    key = key_of(company.id)

    page = key.get(f"/applications/{mine.id}/log?after_seq=2").json()

    assert [row["seq"] for row in page["data"]] == [3]
    assert page["next_cursor"] is None
