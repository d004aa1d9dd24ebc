"""Several people acting at the same moment, on real connections."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import Any
from uuid import UUID

import pytest
from django.db import OperationalError

from pipeline.line.turns import Turns
from pipeline.models import Application
from pipeline.services.jobs import close_job
from pipeline.services.joining import apply
from pipeline.services.leaving import withdraw
from pipeline.services.settling import settle, settle_next_due
from pipeline.services.turns import acknowledge
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.together import held_lock, kinds, take_alone, together

pytestmark = pytest.mark.django_db(transaction=True)


def applying(job_id: UUID, person: Any, **how: Any) -> partial[Application]:
    who = {
        "applicant_id": person.id,
        "name": "Someone",
        "actor": factories.as_applicant(person.id),
    }
    return partial(apply, job_id=job_id, **who, **how)


def withdrawing(person: Application) -> partial[Application]:
    return partial(withdraw, application_id=person.id, actor=factories.owner_of(person))


def acknowledging(person: Application) -> partial[Application]:
    return partial(acknowledge, application_id=person.id, actor=factories.owner_of(person))


@pytest.fixture(params=["sharing turns", "each alone"])
def turns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the threads of one process, and as processes that do not know of each other."""
    if request.param == "each alone":
        monkeypatch.setattr(Turns, "take_turn", take_alone)


@pytest.mark.usefixtures("turns")
@pytest.mark.parametrize("round_number", range(5))
def test_of_eight_who_apply_at_once_for_one_seat_exactly_one_gets_it(round_number: int) -> None:
    job_id = factories.job(capacity=1)

    answers = together([applying(job_id, factories.applicant()) for _ in range(8)])

    assert sorted(answer.status for answer in answers) == ["ACTIVE"] + ["WAITLIST"] * 7
    assert sorted(answer.ticket for answer in answers if answer.ticket) == list(range(1, 8))
    assert_line_is_sound(job_id)


@pytest.mark.usefixtures("turns")
def test_a_person_who_applies_eight_times_at_once_applies_once() -> None:
    job_id, person = factories.job(capacity=10), factories.applicant()

    answers = together([applying(job_id, person)] * 8)

    assert kinds(answers) == ["AlreadyApplied"] * 7 + ["Application"]
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("round_number", range(5))
def test_six_holders_can_leave_at_once_and_the_next_six_move_up_in_order(round_number: int) -> None:
    job_id = factories.job(capacity=6)
    holders, waiting = factories.applications(job_id, 6), factories.applications(job_id, 12)

    answers = together([withdrawing(holder) for holder in holders])

    assert [answer.outcome for answer in answers] == ["WITHDRAWN"] * 6
    promoted = [e.application_id for e in factories.events(job_id) if e.event == "PROMOTED"]
    assert promoted == [person.id for person in waiting[:6]]
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("round_number", range(15))
def test_who_acknowledges_and_withdraws_at_once_has_left(round_number: int) -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person, waiting = factories.applications(job_id, 2)

    taken, left = together([acknowledging(person), withdrawing(person)])

    assert left.outcome == "WITHDRAWN"
    assert kinds([taken])[0] in ("Application", "IllegalMove")
    acknowledged = "ACKNOWLEDGED" in factories.event_names(job_id)
    assert acknowledged == isinstance(taken, Application)
    assert factories.statuses(person, waiting) == ["WITHDRAWN", "PENDING_ACKNOWLEDGMENT"]
    assert_line_is_sound(job_id)


def test_of_eight_late_acknowledgements_at_once_all_are_refused_and_one_miss_is_logged() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person, waiting = factories.applications(job_id, 2)
    let_time_pass(job_id, factories.WINDOW)

    answers = together([acknowledging(person)] * 8)

    assert kinds(answers) == ["AcknowledgmentExpired"] * 8
    assert factories.event_names(job_id).count("DECAYED") == 1
    assert factories.fresh(person).decay_count == 1
    assert factories.line(job_id) == [person.id]
    assert factories.status_of(waiting) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job_id)


def test_several_workers_share_the_due_jobs_and_settle_each_once() -> None:
    jobs = [factories.job(acknowledge_first_seat=True) for _ in range(12)]
    for job_id in jobs:
        factories.application(job_id)
        let_time_pass(job_id, factories.WINDOW)

    def work() -> list[UUID]:
        settled = []
        while step := settle_next_due():
            settled.append(step.job_id)
        return settled

    answers = together([work] * 4)

    assert sorted(chain(*answers)) == sorted(jobs)
    for job_id in jobs:
        assert factories.event_names(job_id).count("DECAYED") == 1
        assert_line_is_sound(job_id)


def test_a_worker_passes_over_a_job_that_somebody_else_has_locked() -> None:
    jobs = [factories.job(acknowledge_first_seat=True) for _ in range(2)]
    for job_id in jobs:
        factories.application(job_id)
        let_time_pass(job_id, factories.WINDOW)

    with held_lock(jobs[0]):
        first, second = settle_next_due(), settle_next_due()

    assert first is not None
    assert (first.job_id, second) == (jobs[1], None)
    assert factories.settle_all() == 1


def test_a_worker_an_applicant_and_a_newcomer_meet_at_the_deadline() -> None:
    for _ in range(5):
        job_id = factories.job(acknowledge_first_seat=True)
        person, waiting = factories.applications(job_id, 2)
        let_time_pass(job_id, factories.WINDOW)

        newcomer = applying(job_id, factories.applicant())
        answers = together([partial(settle, job_id=job_id), acknowledging(person), newcomer])

        assert kinds(answers[1:2]) == ["AcknowledgmentExpired"]
        assert factories.event_names(job_id).count("DECAYED") == 1
        assert factories.statuses(person, waiting) == ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
        assert answers[2].status == "WAITLIST"
        assert_line_is_sound(job_id)


def test_seats_that_are_added_while_people_apply_are_filled_in_order() -> None:
    job_id = factories.job(capacity=1)
    factories.application(job_id)
    more_seats = partial(factories.alter, job_id, capacity=4)

    together([more_seats, *(applying(job_id, factories.applicant()) for _ in range(6))])

    row = factories.row_of(job_id)
    assert (row.active_count + row.pending_count, row.waitlist_count) == (4, 3)
    assert_line_is_sound(job_id)


def test_nobody_is_left_waiting_in_a_job_that_closes_while_people_apply() -> None:
    job_id = factories.job(capacity=1)
    factories.application(job_id)
    closing = partial(close_job, job_id=job_id, actor=factories.RECRUITER)

    answers = together([closing, *(applying(job_id, factories.applicant()) for _ in range(6))])
    factories.settle_all()

    assert set(kinds(answers[1:])) <= {"Application", "JobNotOpen"}
    left = {factories.status_of(a) for a in answers[1:] if isinstance(a, Application)}
    assert left <= {"JOB_CLOSED"}
    assert_line_is_sound(job_id)


def test_who_gets_no_lock_in_time_is_refused_and_nothing_has_changed() -> None:
    job_id = factories.job()
    person = factories.applicant()

    with held_lock(job_id):
        [answer] = together([applying(job_id, person)])

    assert isinstance(answer, OperationalError)
    assert "lock timeout" in str(answer)
    assert factories.event_names(job_id) == ["JOB_CREATED", "JOB_OPENED"]
    assert factories.application(job_id, person).status == "ACTIVE"
