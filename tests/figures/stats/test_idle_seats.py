"""The ledger of idle seats, by hand-made histories and by adding up the log slowly."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from random import Random
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Company
from pipeline.figures import idle_seats as module
from pipeline.figures import series
from pipeline.figures.idle_seats import IdleSeatLedger, IdleSeats, MissedOffer, SeatState
from pipeline.models import Event
from tests.support import factories
from tests.support.busy_line import busy_job
from tests.support.clock import let_time_pass
from tests.support.weeks import last_week, two_weeks

BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def at(minutes: float) -> datetime:
    return BEGIN + minutes * MINUTE


def test_each_cause_gets_its_own_part() -> None:
    states = [
        SeatState(at(0), "OPEN", 2, 1, 1, 3),  # one in review, one on offer, to be missed
        SeatState(at(10), "OPEN", 2, 1, 0, 1),  # the one who missed is in a cool-down
        SeatState(at(15), "OPEN", 2, 1, 0, 0),  # nobody waits
        SeatState(at(22), "PAUSED", 2, 1, 0, 0),
        SeatState(at(25), "CLOSED", 2, 1, 0, 0),  # no longer counts
    ]

    (found,) = module.fold(states, [MissedOffer(at(0), at(10))], [at(0), at(60)])

    assert found == IdleSeatLedger(25 * MINUTE, 10 * MINUTE, 5 * MINUTE, 7 * MINUTE, 3 * MINUTE)
    assert found.seats == 50 * MINUTE


def test_an_offer_that_is_missed_after_the_span_is_lost_for_its_part_of_it() -> None:
    states = [SeatState(at(0), "OPEN", 1, 0, 1, 0), SeatState(at(90), "OPEN", 1, 0, 0, 0)]
    missed = [MissedOffer(at(0), at(90))]

    first, second = module.fold(states, missed, [at(30), at(60), at(120)])

    assert first == IdleSeatLedger(missed=30 * MINUTE)
    assert second == IdleSeatLedger(missed=30 * MINUTE, nobody=30 * MINUTE)


def test_seats_that_drain_are_those_that_are_held() -> None:
    states = [SeatState(at(0), "OPEN", 1, 3, 0, 2)]

    (found,) = module.fold(states, [], [at(0), at(10)])

    assert found == IdleSeatLedger(used=30 * MINUTE)


def test_before_the_first_event_there_are_no_seats() -> None:
    first, second = module.fold(
        [SeatState(at(10), "OPEN", 1, 0, 0, 0)], [], [at(0), at(10), at(20)]
    )

    assert (first, second) == (IdleSeatLedger(), IdleSeatLedger(nobody=10 * MINUTE))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.django_db(transaction=True)
def test_random_histories_give_what_adding_up_slowly_gives(seed: int) -> None:
    job = busy_job(seed, steps=80)
    edges = _edges_of(job, Random(seed))

    found = module.fold(*module._read_states({job: 1})[job], edges)

    assert found == _slow_ledgers(factories.events(job), edges)


@pytest.mark.parametrize("seed", range(8, 14))
@pytest.mark.django_db(transaction=True)
def test_use_and_losses_add_up_to_seats_times_time(seed: int) -> None:
    job = busy_job(seed, steps=80)
    edges = _edges_of(job, Random(seed))

    found = module.fold(*module._read_states({job: 1})[job], edges)

    for ledger, (start, end) in zip(found, pairwise(edges), strict=True):
        parts = (ledger.used, ledger.missed, ledger.cooldown, ledger.nobody, ledger.paused)
        assert all(part >= timedelta(0) for part in parts)
        assert sum(parts, timedelta(0)) == _seats_times_time(factories.events(job), start, end)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.django_db(transaction=True)
def test_reading_from_a_later_row_on_gives_the_same(seed: int) -> None:
    job = busy_job(seed, steps=80)
    log = factories.events(job)
    middle = log[len(log) // 2]
    edges = [middle.at, log[-1].at + MINUTE]

    whole, part = (
        module.fold(*module._read_states({job: first})[job], edges) for first in (1, middle.seq)
    )

    assert whole == part


@pytest.mark.django_db(transaction=True)
def test_a_week_of_a_report_agrees_with_its_other_figures(company: Company) -> None:
    job = two_weeks(company)

    found, figures = (
        module.read_week(factories.row_of(job), last_week()),
        series.read_week(job, last_week()),
    )

    assert found
    assert figures
    spent = figures["seat_seconds"]
    assert found.missed.total_seconds() == pytest.approx(86_400, abs=5)
    lost_or_used = found.used + found.missed
    assert lost_or_used.total_seconds() == pytest.approx(spent["review"] + spent["offered"])
    assert found.nobody.total_seconds() == pytest.approx(spent["nobody"])


@pytest.mark.django_db(transaction=True)
def test_people_who_are_not_verified_do_not_count_as_waiting() -> None:
    job = factories.job(capacity=1)
    factories.application(job, verified=False)
    let_time_pass(job, 600)

    total = _of_job(job).total

    assert total.cooldown == timedelta(0)
    assert total.nobody >= timedelta(seconds=600)


@pytest.mark.django_db(transaction=True)
def test_a_company_s_ledger_is_that_of_its_jobs_added_up(company: Company) -> None:
    one, other = (busy_job(seed, company_id=company.id) for seed in (1, 2))
    factories.job(company_id=company.id, open_now=False)
    busy_job(3)  # of another company

    found = module.read_company(company.id, weeks=8, zone="UTC")

    assert {job.id for job, _ in found.jobs} == {one, other}
    by_job = sum((ledger for _, ledger in found.jobs), IdleSeatLedger())
    assert found.total == by_job
    now_and_then = [_of_job(job).total for job in (one, other)]
    assert found.total.missed == sum((each.missed for each in now_and_then), timedelta(0))
    assert not found.is_cut


@pytest.mark.django_db(transaction=True)
def test_of_long_logs_only_the_last_events_are_read(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = busy_job(1, company_id=company.id)
    monkeypatch.setattr(module, "MOST_EVENTS", 5)

    assert _of_job(job).is_cut
    assert module.read_company(company.id, weeks=8, zone="UTC").is_cut
    assert module.read_week(factories.row_of(job), last_week()) is None


@pytest.mark.django_db(transaction=True)
def test_the_number_of_queries_does_not_grow_with_the_jobs(company: Company) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            module.read_company(company.id, weeks=8, zone="UTC")
        return len(captured)

    factories.job(company_id=company.id)
    one = queries()
    for _ in range(3):
        factories.job(company_id=company.id)

    assert queries() == one == 4


def _of_job(job: UUID) -> IdleSeats:
    return module.read_job(factories.row_of(job), weeks=8, zone="UTC")


def _edges_of(job: UUID, chance: Random) -> list[datetime]:
    log = factories.events(job)
    start, end = log[0].at - MINUTE, log[-1].at + 90 * MINUTE
    between = sorted(start + (end - start) * chance.random() for _ in range(3))
    return [start, *between, end]


def _slow_ledgers(log: list[Event], edges: list[datetime]) -> list[IdleSeatLedger]:
    """Add up every pair of neighbouring events and every offer, one span after another."""
    return [_slow_ledger(log, start, end) for start, end in pairwise(edges)]


def _slow_ledger(log: list[Event], start: datetime, end: datetime) -> IdleSeatLedger:
    spent = dict.fromkeys(("held", "cooldown", "nobody", "paused", "missed"), timedelta(0))
    status, capacity = "", 0
    running: list[tuple[datetime, datetime]] = []
    for event, until in zip(log, [*(each.at for each in log[1:]), end], strict=True):
        if event.application_id is None:
            status, capacity = event.data["status"], event.data["capacity"]
        span = max(timedelta(0), min(until, end) - max(event.at, start))
        if status not in ("OPEN", "PAUSED"):
            continue
        running.append((event.at, until))
        held = event.data["active"] + event.data["pending"]
        waiting = event.data["waiting"] - event.data.get("unverified", 0)
        why = "paused" if status == "PAUSED" else "cooldown" if waiting else "nobody"
        spent["held"] += span * held
        spent[why] += span * max(0, capacity - held)
    for event in log:
        if event.event in ("DECAYED", "LAPSED") and event.from_status == "PENDING_ACKNOWLEDGMENT":
            own = [each for each in log if each.application_id == event.application_id]
            offered = [
                each.at
                for each in own
                if each.seq < event.seq and each.event in ("PROMOTED", "APPLIED")
            ][-1]
            for since, until in running:
                begin, finish = max(since, offered, start), min(until, event.at, end)
                spent["missed"] += max(timedelta(0), finish - begin)
    held = spent.pop("held")
    return IdleSeatLedger(held - spent["missed"], **spent)


def _seats_times_time(log: list[Event], start: datetime, end: datetime) -> timedelta:
    whole, status, capacity = timedelta(0), "", 0
    for event, until in zip(log, [*(each.at for each in log[1:]), end], strict=True):
        if event.application_id is None:
            status, capacity = event.data["status"], event.data["capacity"]
        if status in ("OPEN", "PAUSED"):
            span = max(timedelta(0), min(until, end) - max(event.at, start))
            whole += span * max(capacity, event.data["active"] + event.data["pending"])
    return whole
