"""Actual results beside those under other rules, with hand-made histories."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from jobs.models import Company
from pipeline.figures import idle_seats
from pipeline.figures.whatif import run as module
from pipeline.figures.whatif import simulation
from pipeline.figures.whatif.run import (
    KEY,
    WINDOWS,
    NotReproducible,
    compare_rules,
    read_what_if_log,
)
from pipeline.figures.whatif.simulation import Change
from pipeline.services.leaving import withdraw
from pipeline.services.turns import acknowledge, preaccept
from tasks.errors import Discard, Fatal
from tests.support import factories
from tests.support.busy_line import busy_job
from tests.support.clock import database_now, let_time_pass
from tests.support.handlers import Run
from tests.support.weeks import DAY, HOUR

pytestmark = pytest.mark.django_db(transaction=True)


def a_missed_offer(company: Company, late_seconds: int = 0) -> UUID:
    """One seat, three people: Ana leaves, Bo misses a day, then Cy confirms after an hour."""
    job = factories.job(
        company_id=company.id, acknowledgment_window_seconds=DAY, cooldown_seconds=HOUR
    )
    ana, _bo, cy = factories.applications(job, 3)
    let_time_pass(job, DAY)
    withdraw(application_id=ana.id, actor=factories.owner_of(ana))
    let_time_pass(job, DAY + late_seconds)
    factories.settle_all()
    let_time_pass(job, HOUR)
    acknowledge(application_id=cy.id, actor=factories.owner_of(cy))
    return job


def what_if(job: UUID, company: Company, **rules: Any) -> dict[str, Any]:
    result: dict[str, Any] = Run(KEY, {"job_id": str(job)} | rules, company.id).result
    return result


def test_a_shorter_window_loses_less_of_the_seat_and_the_next_gets_it_earlier(
    company: Company,
) -> None:
    job = a_missed_offer(company)

    found = what_if(job, company, acknowledgment_window_seconds=2 * HOUR)

    happened, tried = found["happened"]["seat_seconds"], found["what_if"]["seat_seconds"]
    assert happened["missed"] == pytest.approx(DAY, abs=5)
    assert tried["missed"] == pytest.approx(2 * HOUR, abs=5)
    assert (found["earlier"], found["later"]) == (1, 0)
    assert found["happened"]["misses"] == found["what_if"]["misses"] == 1


def test_a_window_that_is_shorter_than_an_answer_makes_it_a_miss(company: Company) -> None:
    job = a_missed_offer(company)

    found = what_if(job, company, acknowledgment_window_seconds=HOUR // 2)

    assert found["what_if"]["misses"] > found["happened"]["misses"]


def test_with_more_seats_people_get_one_at_once(company: Company) -> None:
    job = a_missed_offer(company)

    found = what_if(job, company, capacity=3)

    assert (found["earlier"], found["later"]) == (2, 0)
    assert found["what_if"]["median_wait_seconds"] == 0


def test_the_sweep_has_a_run_for_each_window(company: Company) -> None:
    job = a_missed_offer(company)

    found = what_if(job, company)

    assert [run["window_seconds"] for run in found["windows"]] == list(WINDOWS)
    day = next(run for run in found["windows"] if run["window_seconds"] == DAY)
    assert {name: day[name] for name in found["what_if"]} == found["what_if"]


def test_what_happened_is_what_the_ledger_of_idle_seats_says(company: Company) -> None:
    job = busy_job(4, steps=80, company_id=company.id)

    found = what_if(job, company)["happened"]["seat_seconds"]

    row = factories.row_of(job)
    ledger = idle_seats.read_job(row, weeks=26, zone="UTC").total
    assert found == pytest.approx(ledger.seconds(), abs=row.capacity * 10)


def test_a_yes_in_advance_answers_no_offer_from_before_it_was_given(company: Company) -> None:
    """Bo said yes on the second day. Offered a seat at once, he answers as people usually do."""
    job = factories.job(
        company_id=company.id, acknowledge_first_seat=True, acknowledgment_window_seconds=DAY
    )
    ana, bo = factories.applications(job, 2)
    let_time_pass(job, 6 * HOUR)
    acknowledge(application_id=ana.id, actor=factories.owner_of(ana))
    let_time_pass(job, DAY)
    until = database_now() + timedelta(days=7)
    preaccept(application_id=bo.id, accept_until=until, actor=factories.owner_of(bo))
    withdraw(application_id=ana.id, actor=factories.owner_of(ana))
    log = read_what_if_log(job)

    run = simulation.Simulation(log, Change(log[0].at, {}, capacity=2))
    run.run(log[-1].at + timedelta(days=1))

    confirmed = [e.at for e in run.events if e.application_id == bo.id and e.to_status == "ACTIVE"]
    assert confirmed[0] - factories.fresh(bo).applied_at == pytest.approx(
        timedelta(hours=6), abs=timedelta(seconds=5)
    )


def test_changes_count_from_the_chosen_days_on(company: Company) -> None:
    job = a_missed_offer(company)

    found = what_if(job, company, days=1, acknowledgment_window_seconds=2 * HOUR)

    # The offer was made before: a change of rules never touches a running deadline.
    assert (found["earlier"], found["later"]) == (0, 0)


def test_a_cancelled_run_has_no_result(company: Company) -> None:
    job = a_missed_offer(company)

    run = Run(KEY, {"job_id": str(job)}, company.id, cancelled_after=2)

    assert run.result is None
    assert run.said


def test_another_company_s_job_and_a_long_log_are_refused(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = a_missed_offer(company)

    with pytest.raises(Fatal):
        Run(KEY, {"job_id": str(job)}, factories.company().id)
    monkeypatch.setattr(module, "MOST_EVENTS", 3)
    with pytest.raises(Discard, match="too many"):
        what_if(job, company)


def test_a_worker_that_was_late_long_ago_changes_nothing_now(company: Company) -> None:
    """Bo's offer was settled three hours late; the same rules, tried later, move nobody."""
    job = a_missed_offer(company, late_seconds=3 * HOUR)
    let_time_pass(job, 9 * DAY)

    found = what_if(job, company, days=7)

    assert (found["earlier"], found["later"]) == (0, 0)
    assert found["happened"] == found["what_if"]


def test_a_line_that_would_never_rest_is_given_up(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, "MOST_SIMULATED_EVENTS", 10)

    with pytest.raises(Discard, match="too often"):
        what_if(a_missed_offer(company), company, acknowledgment_window_seconds=60)


def test_a_log_that_the_rules_do_not_lead_to_is_refused(company: Company) -> None:
    log = read_what_if_log(a_missed_offer(company))
    forged = [row._replace(data=row.data | {"ticket": 99}) for row in log]
    end = log[-1].at + timedelta(hours=1)

    with pytest.raises(NotReproducible):
        compare_rules(
            forged,
            Change(log[0].at, {}),
            end,
            tell=lambda _done, _all: None,
            is_cancelled=lambda: False,
        )


def test_a_run_leaves_out_the_quiet_hours_in_the_zone_of_each_person(company: Company) -> None:
    night = (datetime.now(ZoneInfo("Asia/Tokyo")) + timedelta(hours=hours) for hours in (-1, 4))
    begins, ends = (at.strftime("%H:00") for at in night)
    job = factories.job(
        company_id=company.id,
        acknowledge_first_seat=True,
        acknowledgment_window_seconds=HOUR,
        quiet_from=begins,
        quiet_to=ends,
    )
    factories.application(job, factories.applicant(time_zone="Asia/Tokyo"))
    log = read_what_if_log(job)
    offered_at = log[-1].at

    run = simulation.Simulation(log, Change(log[0].at, {}))
    run.run(offered_at + timedelta(days=1))

    deadline = datetime.fromisoformat(log[-1].data["deadline"])
    misses = [each.at for each in run.events if each.event in ("DECAYED", "LAPSED")]
    assert deadline - offered_at > timedelta(hours=3)
    assert misses[0] == deadline
