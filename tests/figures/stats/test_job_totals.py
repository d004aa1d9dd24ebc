"""A job in numbers: against a history added up by hand, and against a slow computation."""

from __future__ import annotations

import random
from collections import Counter
from statistics import fmean, median
from typing import Any
from uuid import UUID

import pytest
from uuid_utils.compat import uuid7

from pipeline.domain.errors import JobNotFound, LineError
from pipeline.domain.states import Outcome, ReinstatementReason
from pipeline.figures.job import Durations, compute_share, read_totals
from pipeline.models import Application
from pipeline.services.jobs import close_job, open_job, pause_job
from pipeline.services.leaving import reinstate, remove, withdraw
from pipeline.services.turns import acknowledge
from tests.figures.stats.slow_totals import frees_a_seat, slow_answers, slow_idle, slow_promotions
from tests.support import factories
from tests.support.clock import let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)

NOTHING = Durations(None, None, None)
CLOSE = 2
"""Seconds that a test itself may take."""


def test_a_job_to_which_nobody_applied_has_no_rates() -> None:
    figures = read_totals(factories.job(open_now=False))

    assert set(figures.by_status.values()) == {0}
    assert set(figures.by_outcome.values()) == {0}
    assert (figures.to_promotion, figures.to_acknowledge) == (NOTHING, NOTHING)
    assert figures.acknowledgment_rate is None
    assert figures.conversion.applied_to_seated is None
    assert figures.conversion.seated_to_hired is None
    assert figures.conversion.applied_to_hired is None
    assert (figures.churn, figures.open_seconds) == (None, None)
    assert (figures.decay_events, figures.seats_freed, figures.seat_idle_seconds) == (0, 0, 0)


def test_an_open_job_without_applicants_is_idle_and_has_no_churn() -> None:
    job = factories.job(capacity=3)
    let_time_pass(job, 100)

    figures = read_totals(job)

    assert figures.churn == 0.0
    assert figures.seat_idle_seconds == pytest.approx(300, abs=3 * CLOSE)
    assert figures.seat_idle_while_waiting_seconds == 0


def test_there_are_no_figures_of_no_job() -> None:
    with pytest.raises(JobNotFound):
        read_totals(uuid7())


def test_a_history_added_up_by_hand() -> None:
    job = factories.job(capacity=1)
    let_time_pass(job, 50)  # the seat is idle: 50 s
    ann, ben, cleo = factories.applications(job, 3)
    let_time_pass(job, 100)
    remove(
        application_id=ann.id, outcome=Outcome.HIRED, actor=factories.RECRUITER
    )  # ben, after 100 s
    let_time_pass(job, 30)
    acknowledge(application_id=ben.id, actor=factories.owner_of(ben))  # after 30 s
    let_time_pass(job, 70)
    withdraw(application_id=ben.id, actor=factories.owner_of(ben))  # cleo, after 200 s
    let_time_pass(job, factories.WINDOW + 10)
    factories.settle_all()  # cleo decays 10 s late; cools down for 60 s, the seat is idle
    let_time_pass(job, factories.COOLDOWN)
    factories.settle_all()  # cleo again, 1 s after which
    let_time_pass(job, 40)
    acknowledge(application_id=cleo.id, actor=factories.owner_of(cleo))  # after 40 s

    figures = read_totals(job)

    assert {k: n for k, n in figures.by_status.items() if n} == {"ACTIVE": 1, "INACTIVE": 2}
    assert {k: n for k, n in figures.by_outcome.items() if n} == {"HIRED": 1, "WITHDRAWN": 1}
    assert spread(figures.to_promotion) == pytest.approx((150, 150, 190), abs=CLOSE)
    assert spread(figures.to_acknowledge) == pytest.approx((35, 35, 39), abs=CLOSE)
    assert (figures.acknowledged, figures.decay_events, figures.lapse_events) == (2, 1, 0)
    assert figures.acknowledgment_rate == 0.6667
    assert figures.conversion.applied_to_seated == 1.0
    assert figures.conversion.seated_to_hired == figures.conversion.applied_to_hired == 0.3333
    assert (figures.seats_freed, figures.churn) == (3, 3.0)
    assert figures.seat_idle_seconds == pytest.approx(50 + factories.COOLDOWN, abs=2 * CLOSE)
    assert figures.seat_idle_while_waiting_seconds == pytest.approx(factories.COOLDOWN, abs=CLOSE)


def test_churn_is_per_week() -> None:
    job = factories.job(capacity=2)
    for person in factories.applications(job, 2):
        withdraw(application_id=person.id, actor=factories.owner_of(person))
    let_time_pass(job, 4 * 7 * 24 * 3_600)

    assert read_totals(job).churn == pytest.approx(0.5, abs=0.001)

    close_job(job_id=job, actor=factories.RECRUITER)
    let_time_pass(job, 4 * 7 * 24 * 3_600)  # does not count: the job has ended

    assert read_totals(job).churn == pytest.approx(0.5, abs=0.001)


@pytest.mark.parametrize("seed", range(4))
def test_a_random_history_gives_what_a_slow_computation_gives(seed: int) -> None:
    job = random_history(random.Random(seed))

    figures = read_totals(job)

    log = factories.events(job)
    people = list(Application.objects.filter(job_id=job))
    counted = Counter(person.status for person in people)
    assert {k: n for k, n in figures.by_status.items() if n} == dict(counted)
    ended = Counter(person.outcome for person in people if person.outcome)
    assert {k: n for k, n in figures.by_outcome.items() if n} == dict(ended)
    assert spread(figures.to_promotion) == approximately(slow_promotions(log))
    assert spread(figures.to_acknowledge) == approximately(slow_answers(log))
    names = Counter(event.event for event in log)
    assert figures.decay_events == names["DECAYED"]
    assert figures.lapse_events == names["LAPSED"]
    ran_out = names["DECAYED"] + names["LAPSED"]
    answered = names["ACKNOWLEDGED"]
    assert figures.acknowledgment_rate == compute_share(answered, answered + ran_out)
    seated = {event.application_id for event in log if event.to_status == "ACTIVE"}
    hired = sum(event.outcome == "HIRED" for event in log)
    conversion = figures.conversion
    assert (conversion.applied, conversion.seated, conversion.hired) == (
        len(people),
        len(seated),
        hired,
    )
    assert figures.seats_freed == sum(frees_a_seat(event) for event in log)
    idle, with_people = slow_idle(log, figures.now)
    assert figures.seat_idle_seconds == pytest.approx(idle, abs=1)
    assert figures.seat_idle_while_waiting_seconds == pytest.approx(with_people, abs=1)


@pytest.mark.parametrize("people", [0, 20])
def test_they_cost_one_query_however_long_the_log(
    people: int, django_assert_num_queries: Any
) -> None:
    job = factories.job()
    factories.applications(job, people)

    with django_assert_num_queries(1):
        read_totals(job)


# A history, and the same numbers computed slowly


def random_history(chance: random.Random) -> UUID:
    job = factories.job(capacity=2, max_decays=1)
    people = factories.applications(job, 3)
    for _ in range(40):
        act = chance.choice(
            ["apply", "apply", "wait", "answer", "answer", "leave", "decide", "job", "back"]
        )
        try:
            if act == "apply":
                people.append(factories.application(job))
            elif act == "wait":
                let_time_pass(job, chance.choice([5, 61, 700]))
                factories.settle_all()
            elif act == "job":
                change_job(job, chance)
            else:
                move(act, chance.choice(people), chance)
        except LineError:
            pass
    return job


def change_job(job: UUID, chance: random.Random) -> None:
    if chance.random() < 0.5:
        factories.alter(job, capacity=chance.randint(1, 4))
    else:
        pause_job(job_id=job, actor=factories.RECRUITER)
        let_time_pass(job, 20)
        open_job(job_id=job, actor=factories.RECRUITER)


def move(act: str, person: Application, chance: random.Random) -> None:
    if act == "answer":
        offered = Application.objects.filter(
            job_id=person.job_id, status="PENDING_ACKNOWLEDGMENT"
        ).first()
        person = offered or person
        acknowledge(application_id=person.id, actor=factories.owner_of(person))
    elif act == "back":
        reason = ReinstatementReason.OUR_ERROR
        reinstate(application_id=person.id, reason=reason, actor=factories.RECRUITER)
    elif act == "leave":
        withdraw(application_id=person.id, actor=factories.owner_of(person))
    else:
        outcome = chance.choice([Outcome.HIRED, Outcome.REJECTED, Outcome.REMOVED])
        remove(application_id=person.id, outcome=outcome, actor=factories.RECRUITER)


def spread(durations: Durations) -> tuple[float | None, ...]:
    return durations.average, durations.median, durations.p90


def approximately(numbers: list[float]) -> Any:
    if not numbers:
        return None, None, None
    ordered = sorted(numbers)
    place = 0.9 * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    p90 = ordered[low] + (place - low) * (ordered[high] - ordered[low])
    return pytest.approx((fmean(ordered), median(ordered), p90), abs=0.001)
