"""Planned seats beside reserved ones: no plan closes a reserved seat."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pipeline.audit.verify import verify_job
from pipeline.domain.errors import ReserveRefused
from pipeline.models import PlannedSeats
from pipeline.services.jobs import cancel_seats
from tests.support import factories
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.planned_seats import WEEK, job_with_skipped_change, planned, reserve
from tests.support.sandboxes import advance, sandbox

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_plan_that_would_close_reserved_seats_is_refused() -> None:
    job_id = factories.job(capacity=5)
    reserve(job_id, 3)
    planned(job_id, -1)

    with pytest.raises(ReserveRefused, match="fewer seats than are reserved"):
        planned(job_id, -1, times=2, seconds=700)

    assert PlannedSeats.objects.count() == 1


def test_a_plan_may_close_seats_that_others_open_before_it_or_that_are_no_longer_reserved() -> None:
    job_id = factories.job(capacity=3)
    reserve(job_id, 3, until=database_now() + timedelta(seconds=3_600))
    planned(job_id, 1, seconds=60)
    planned(job_id, -1, seconds=120)
    planned(job_id, -2, seconds=3_700)

    let_time_pass(job_id, 4_000)
    factories.settle_all()

    assert factories.row_of(job_id).capacity == 1
    assert "SEATS_KEPT" not in factories.event_names(job_id)
    assert verify_job(job_id).is_sound


def test_a_reserve_that_a_plan_contradicts_is_refused_but_one_that_ends_before_is_not() -> None:
    job_id = factories.job(capacity=5)
    reserve(job_id, 2)
    planned(job_id, -3, seconds=3_600)

    with pytest.raises(ReserveRefused):
        reserve(job_id, 3)

    assert factories.row_of(job_id).reserved_seats == 2
    reserve(job_id, 5, until=database_now() + timedelta(seconds=1_800))
    assert factories.row_of(job_id).reserved_seats == 5


def test_fewer_seats_with_which_a_plan_would_close_reserved_ones_are_refused() -> None:
    job_id = factories.job(capacity=6)
    reserve(job_id, 3)
    planned(job_id, -2)

    with pytest.raises(ReserveRefused, match="planned"):
        factories.alter(job_id, capacity=4)

    factories.alter(job_id, capacity=5)
    assert factories.row_of(job_id).capacity == 5


def test_a_change_that_would_all_the_same_close_reserved_seats_is_skipped_and_said() -> None:
    job_id = factories.job(capacity=4)
    people = factories.applications(job_id, 2)

    plan = job_with_skipped_change(job_id)

    job = factories.row_of(job_id)
    assert (job.capacity, job.reserved_seats) == (4, 3)
    last = factories.events(job_id)[-1]
    assert (last.event, last.actor_kind) == ("SEATS_KEPT", "SYSTEM")
    assert last.effective_at == PlannedSeats.objects.get(id=plan.id).first_at
    assert (last.data["planned_seats_id"], last.data["planned_seats"]) == (str(plan.id), -2)
    assert factories.statuses(*people) == ["ACTIVE", "ACTIVE"]
    assert_line_is_sound(job_id)
    reserve(job_id, 1)  # the plan's next week is possible again
    let_time_pass(job_id, WEEK)
    factories.settle_all()
    assert factories.row_of(job_id).capacity == 2
    assert not PlannedSeats.objects.exists()
    assert verify_job(job_id).is_sound


def test_in_a_sandbox_the_change_is_skipped_at_its_instant() -> None:
    company = sandbox()
    job_id = factories.job(company_id=company.id, capacity=3)
    reserve(job_id, 3)
    opening = planned(job_id, 1, seconds=60)
    planned(job_id, -1, seconds=120)
    cancel_seats(job_id=job_id, planned_id=opening.id, actor=factories.RECRUITER)

    advance(company, 86_400)

    kept = next(each for each in factories.events(job_id) if each.event == "SEATS_KEPT")
    assert kept.at == kept.effective_at
    assert verify_job(job_id).is_sound
