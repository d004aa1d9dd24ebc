"""A draw by lot in the numbers of a job: nothing before it is idle time, a place or a forecast."""

from __future__ import annotations

import pytest

from jobs.models import Company
from pipeline.figures import idle_seats
from pipeline.figures.series import read_position_history
from pipeline.figures.whatif.run import KEY
from tasks.errors import Discard
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.handlers import Run
from tests.support.lottery import draw, lottery

pytestmark = pytest.mark.django_db(transaction=True)


def test_seats_are_not_idle_before_the_draw() -> None:
    job_id = lottery(capacity=2, seconds=86_400)
    factories.application(job_id)
    let_time_pass(job_id, 80_000)

    assert idle_seats.read_job(factories.row_of(job_id), weeks=8, zone="UTC").total.seconds() == {
        "used": 0,
        "missed": 0,
        "cooldown": 0,
        "nobody": 0,
        "paused": 0,
    }
    let_time_pass(job_id, 6_401)
    factories.settle_all()
    let_time_pass(job_id, 100)
    after = idle_seats.read_job(factories.row_of(job_id), weeks=8, zone="UTC").total
    assert after.used.total_seconds() == pytest.approx(100, abs=20)
    assert after.nobody.total_seconds() == pytest.approx(100, abs=20)


def test_places_over_time_begin_with_the_draw() -> None:
    job_id = lottery(capacity=1)
    people = factories.applications(job_id, 5)

    draw(job_id)

    for each in people:
        steps = read_position_history(factories.fresh(each))
        assert steps
        assert steps[0].event == "PLACED"
    last = max(map(factories.fresh, people), key=lambda each: each.ticket or 0)
    assert (read_position_history(last) or [])[-1].position == 4


def test_a_lottery_is_not_run_again_under_other_rules(company: Company) -> None:
    job_id = lottery(company_id=company.id)

    with pytest.raises(Discard, match="drawn by lot"):
        _ = Run(KEY, {"job_id": str(job_id)}, company.id).result
