"""When a job is due next, which only its row says: too late is noticed, too early is harmless."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest

from pipeline.audit.verify import verify_job
from pipeline.line import settle
from pipeline.models import Application
from pipeline.services.jobs import close_job
from pipeline.services.settling import settle_next_due
from tests.audit.test_reconciliation import an_unverified_person, job_with_all_kinds, tamper
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.lottery import lottery
from tests.support.planned_seats import planned
from tests.support.sandboxes import advance, sandbox

pytestmark = pytest.mark.django_db(transaction=True)


def _cooling_down_beside_a_free_seat() -> UUID:
    job_id = factories.job(acknowledge_first_seat=True)
    factories.applications(job_id, 1)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    return job_id


def _unverified() -> UUID:
    job_id = factories.job()
    factories.applications(job_id, 1)
    an_unverified_person(job_id)
    return job_id


def _planned_seats() -> UUID:
    job_id = factories.job()
    planned(job_id)
    return job_id


def _sandbox() -> UUID:
    company = sandbox()
    job_id = factories.job(company_id=company.id, acknowledge_first_seat=True)
    advance(company, 3_600)
    factories.applications(job_id, 1)
    return job_id


def _being_closed_out() -> UUID:
    job_id = factories.job(acknowledge_first_seat=True)
    factories.applications(job_id, 4)
    close_job(job_id=job_id, actor=factories.RECRUITER)
    return job_id


@pytest.mark.parametrize(
    "made",
    [
        job_with_all_kinds,
        _cooling_down_beside_a_free_seat,
        _unverified,
        _planned_seats,
        lottery,
        _sandbox,
        _being_closed_out,
    ],
)
def test_a_job_that_would_be_settled_too_late_is_noticed(made: Callable[[], UUID]) -> None:
    job_id = made()
    due = factories.row_of(job_id).next_due_at
    assert due
    assert verify_job(job_id).is_sound

    tamper("jobs_job", "next_due_at", "next_due_at - interval '1 second'", "id = %s", job_id)
    assert verify_job(job_id).is_sound, "earlier costs only a look"
    for later in ("next_due_at + interval '2 seconds'", "NULL"):
        tamper("jobs_job", "next_due_at", later, "id = %s", job_id)
        [said] = verify_job(job_id).differences
        assert said.startswith("job: next_due_at is ")
        assert said.endswith(f", later than {due}")


def test_a_closed_job_without_people_is_due_for_nothing() -> None:
    job_id = factories.job()
    planned(job_id)
    close_job(job_id=job_id, actor=factories.RECRUITER)

    assert factories.row_of(job_id).next_due_at is None
    assert verify_job(job_id).is_sound


def test_a_closed_job_that_is_closed_out_in_parts_is_sound_though_an_offer_is_overdue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settle, "SLICE", 1)
    job_id = factories.job(acknowledge_first_seat=True, capacity=3)
    factories.applications(job_id, 4)
    close_job(job_id=job_id, actor=factories.RECRUITER)
    let_time_pass(job_id, factories.WINDOW + 1)

    left = []
    while settle_next_due():
        left.append(Application.objects.filter(job_id=job_id, ended_at=None).count())
        assert verify_job(job_id).is_sound

    assert left == [3, 2, 1, 0]
