"""Under the rules that were, a simulation comes out as the log has it; under others, not."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from pipeline.figures.whatif.run import read_what_if_log
from pipeline.figures.whatif.simulation import Change, LoggedEvent, Simulation
from pipeline.line.event_log import LogEntry
from tests.support import factories
from tests.support.busy_line import busy_job
from tests.support.clock import let_time_pass
from tests.support.planned_seats import planned

pytestmark = pytest.mark.django_db(transaction=True)

# What the log says besides is about the decisions of people, and their reasons.
REPLAYED = (
    "status capacity policy ticket tie deadline decay_count eligible_at not_before accept_until"
    " passes_used pass_next passed_at verify_by active pending waiting unverified next_ticket"
    " time_zone planned_seats_id places accepted_until"
).split()


def told(event: LogEntry | LoggedEvent) -> tuple[Any, ...]:
    data = {name: event.data[name] for name in REPLAYED if name in event.data}
    statuses = (event.from_status, event.to_status) if event.application_id else ()
    return event.seq, event.at, event.application_id, event.event, statuses, event.outcome, data


def logged(job: UUID) -> list[tuple[Any, ...]]:
    return [told(event) for event in read_what_if_log(job)]


def simulated(job: UUID) -> list[tuple[Any, ...]]:
    log = read_what_if_log(job)
    return [told(event) for event in Simulation(log).run(log[-1].at)]


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
