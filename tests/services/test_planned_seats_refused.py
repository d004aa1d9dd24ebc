"""Plans of seats that are refused, and plans made twice."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from pipeline.domain.errors import PlanRefused, TooManyPlannedSeats
from pipeline.models import PlannedSeats
from pipeline.services import jobs as planning
from pipeline.services.jobs import SeatPlan, plan_seats
from tests.support import factories
from tests.support.clock import database_now
from tests.support.planned_seats import planned
from tests.support.sandboxes import DAY

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    "wrong",
    [
        {"seats": 0},
        {"seats": 10_001},
        {"seats": -1},  # of one
        {"seats": 9_999, "times": 2},  # together too many
        {"seconds": -1},
        {"seconds": 800 * DAY},
        {"times": 0},
        {"times": 105},
        {"zone": "Mars/Olympus"},
    ],
    ids=str,
)
def test_a_plan_out_of_range_is_refused(wrong: dict[str, int]) -> None:
    job_id = factories.job(capacity=1)

    with pytest.raises(PlanRefused):
        planned(job_id, **wrong)

    assert not PlannedSeats.objects.exists()


def test_a_job_has_a_limited_number_of_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MOST_PLANS", 2)
    job_id = factories.job()
    planned(job_id)
    planned(job_id)

    with pytest.raises(TooManyPlannedSeats):
        planned(job_id)


def test_planning_again_under_the_same_id_plans_once() -> None:
    job_id, planned_id = factories.job(), uuid4()
    plan = SeatPlan(1, database_now() + timedelta(days=1))

    made = [
        plan_seats(job_id=job_id, plan=plan, planned_id=planned_id, actor=factories.RECRUITER)
        for _ in range(2)
    ]

    assert {each.id for each in made} == {planned_id}
    assert PlannedSeats.objects.count() == 1
