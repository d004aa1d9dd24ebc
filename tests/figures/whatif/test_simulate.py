"""Under the rules that were, a simulation comes out as the log has it; under others, not."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

import pytest

from pipeline.figures.whatif.run import read_what_if_log
from pipeline.figures.whatif.simulation import Change, Simulation
from tests.support import factories
from tests.support.busy_line import busy_job
from tests.support.clock import let_time_pass
from tests.support.planned_seats import planned

pytestmark = pytest.mark.django_db(transaction=True)

# How a review or an offer ended is not simulated, only that and when.
_ENDS = {"REMOVED": "END", "WITHDRAWN": "END"}


def logged(job: UUID) -> list[tuple[Any, ...]]:
    found = []
    for event in read_what_if_log(job):
        data = event.data
        place: tuple[Any, ...] = (None, None, None, 0)
        if event.application_id:
            deadline = data.get("deadline")
            place = (
                data.get("ticket"),
                data.get("tie"),
                deadline and datetime.fromisoformat(deadline),
                data["decay_count"],
            )
        kind = _ENDS.get(event.event, event.event)
        to = event.to_status if event.application_id else None
        found.append((event.seq, event.at, event.application_id, kind, to, *place))
    return found


def simulated(job: UUID) -> list[tuple[Any, ...]]:
    log = read_what_if_log(job)
    events = Simulation(log).run(log[-1].at)
    return [
        (*each[:3], _ENDS.get(each.event, str(each.event)), each.to_status, *each[5:])
        for each in events
    ]


@pytest.mark.parametrize("seed", range(24))
def test_under_the_rules_that_were_everything_comes_out_as_it_was(seed: int) -> None:
    job = busy_job(seed, steps=90)

    assert simulated(job) == logged(job)


@pytest.mark.parametrize("seats", [1, -1])
def test_planned_seats_change_between_misses_and_promotions(seats: int) -> None:
    job = factories.job(capacity=4, acknowledge_first_seat=True)
    factories.applications(job, 8)
    planned(job, seats, times=3)
    for _ in range(3):
        let_time_pass(job, 7 * 86_400 + factories.WINDOW)
        factories.settle_all()
        factories.application(job)

    assert simulated(job) == logged(job)


def test_with_other_rules_it_comes_out_differently() -> None:
    """The control of the test above: the simulation follows its rules, not the log."""
    log = read_what_if_log(busy_job(1, steps=90))
    same, other = Simulation(log), Simulation(log, Change(log[0].at, {"penalty_places": 7}, 9))

    assert same.run(log[-1].at) != other.run(log[-1].at)
