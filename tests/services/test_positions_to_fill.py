"""Positions to fill: hiring counts, the last one asks, and a filled job offers no seat."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError

from jobs.models import Job
from pipeline.audit.verify import verify_job
from pipeline.domain.errors import (
    IllegalMove,
    LastPosition,
    LineError,
    PositionsBelowHired,
    PositionsFilled,
)
from pipeline.domain.states import IfLast, Outcome
from pipeline.models import Application
from pipeline.selectors.timelines import read_event_trees
from pipeline.services.jobs import JobChanges, close_job, open_job, pause_job, update_job
from pipeline.services.leaving import remove
from pipeline.services.settling import settle
from tests.figures.whatif.test_simulate import logged, simulated
from tests.support import factories
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)

OFFERED = "PENDING_ACKNOWLEDGMENT"


def job_to_fill(positions: int | None, *, capacity: int = 1, **more: Any) -> UUID:
    return factories.job(
        capacity=capacity, hiring={"positions_to_fill": positions} if positions else {}, **more
    )


def hire(person: Application, if_last: IfLast = IfLast.ASK) -> Application:
    return remove(
        application_id=person.id,
        outcome=Outcome.HIRED,
        actor=factories.RECRUITER,
        if_last=if_last,
    )


def change(job_id: UUID, positions: int | None) -> None:
    changes = JobChanges(hiring={"positions_to_fill": positions})
    update_job(job_id=job_id, changes=changes, actor=factories.RECRUITER)


def positions_of(job_id: UUID) -> tuple[int | None, int]:
    job = factories.row_of(job_id)
    return job.positions_to_fill, job.hired_count


def assert_sound(job_id: UUID) -> None:
    assert_line_is_sound(job_id)
    assert verify_job(job_id).is_sound


def test_an_open_ended_job_hires_any_number_and_its_log_says_nothing_of_positions() -> None:
    job_id = job_to_fill(None, capacity=2)
    first, second, third = factories.applications(job_id, 3)

    hire(first)
    hire(second)

    assert positions_of(job_id) == (None, 2)
    assert factories.statuses(third) == [OFFERED]
    assert not any({"hired", "positions_to_fill"} & e.data.keys() for e in factories.events(job_id))
    assert_sound(job_id)


def test_hiring_before_the_last_position_goes_on_as_ever() -> None:
    job_id = job_to_fill(2)
    first, second = factories.applications(job_id, 2)

    hire(first)

    assert positions_of(job_id) == (2, 1)
    assert factories.statuses(second) == [OFFERED]
    assert_sound(job_id)


def test_the_last_position_asks_what_follows_and_changes_nothing_before() -> None:
    job_id = job_to_fill(1)
    first, second = factories.applications(job_id, 2)
    seq = factories.row_of(job_id).seq

    with pytest.raises(LastPosition):
        hire(first)

    assert factories.row_of(job_id).seq == seq
    assert factories.statuses(first, second) == ["ACTIVE", "WAITLIST"]


def test_hire_and_close_closes_the_job_and_releases_everybody_without_a_seat() -> None:
    job_id = job_to_fill(1, capacity=2)
    first, other, waiting = factories.applications(job_id, 3)

    hire(first, IfLast.CLOSE)
    settle(job_id=job_id)

    assert factories.statuses(first, other, waiting) == ["HIRED", "ACTIVE", "JOB_CLOSED"]
    hired, closed, released = factories.events(job_id)[-3:]
    assert [hired.event, closed.event, released.event] == ["REMOVED", "JOB_CLOSED", "CLOSED_OUT"]
    assert closed.data["filled_by_seq"] == hired.seq
    assert released.cause_seq == closed.seq
    page = read_event_trees(job_id, before=None, limit=20)
    assert [tree.event.event for tree in page.rows][:2] == ["JOB_CLOSED", "REMOVED"]
    assert_sound(job_id)


def test_hire_and_go_on_adds_a_position_first_and_the_line_goes_on() -> None:
    job_id = job_to_fill(1)
    first, second = factories.applications(job_id, 2)

    hire(first, IfLast.GO_ON)

    assert positions_of(job_id) == (2, 1)
    assert factories.statuses(second) == [OFFERED]
    assert factories.event_names(job_id)[-3:] == ["POSITIONS_CHANGED", "REMOVED", "PROMOTED"]
    promoted, hired = factories.events(job_id)[-1], factories.events(job_id)[-2]
    assert promoted.cause_seq == hired.seq
    assert_sound(job_id)


def test_what_follows_the_last_position_has_no_effect_before_it() -> None:
    job_id = job_to_fill(3, capacity=2)
    first, second = factories.applications(job_id, 2)

    hire(first, IfLast.CLOSE)
    assert positions_of(job_id) == (3, 1)
    hire(second, IfLast.CLOSE)
    assert positions_of(job_id) == (3, 2)

    assert factories.row_of(job_id).status == "OPEN"


def test_nobody_is_offered_a_seat_of_a_filled_job_and_newcomers_wait() -> None:
    job_id = job_to_fill(1, capacity=2)
    first, other, waiting = factories.applications(job_id, 3)

    hire(first, IfLast.STAY)
    newcomer = factories.application(job_id)
    remove(application_id=other.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    settle(job_id=job_id)

    assert factories.row_of(job_id).seats_free == 0
    assert factories.statuses(waiting, newcomer) == ["WAITLIST", "WAITLIST"]
    assert_sound(job_id)


@pytest.mark.parametrize("positions", [2, None], ids=["one more", "open-ended"])
def test_more_positions_offer_the_free_seats_at_once(positions: int | None) -> None:
    job_id = job_to_fill(1, capacity=2)
    first, _, waiting = factories.applications(job_id, 3)
    hire(first, IfLast.STAY)

    change(job_id, positions)

    changed, promoted = factories.events(job_id)[-2:]
    assert [changed.event, promoted.event] == ["POSITIONS_CHANGED", "PROMOTED"]
    assert promoted.cause_seq == changed.seq
    assert factories.statuses(waiting) == [OFFERED]
    assert_sound(job_id)


def test_positions_can_be_as_few_as_people_hired_and_not_fewer() -> None:
    job_id = job_to_fill(None, capacity=2)
    first, second, third = factories.applications(job_id, 3)
    hire(first)
    hire(second)

    with pytest.raises(PositionsBelowHired):
        change(job_id, 1)
    change(job_id, 2)

    assert positions_of(job_id) == (2, 2)
    assert factories.statuses(third) == [OFFERED]  # an offer stands
    assert_sound(job_id)


@pytest.mark.parametrize("if_last", [IfLast.ASK, IfLast.CLOSE, IfLast.STAY])
def test_a_filled_job_hires_nobody_else(if_last: IfLast) -> None:
    job_id = job_to_fill(1, capacity=2)
    first, second = factories.applications(job_id, 2)
    hire(first, IfLast.STAY)

    with pytest.raises(PositionsFilled):
        hire(second, if_last)

    assert factories.statuses(second) == ["ACTIVE"]


def test_a_filled_job_that_goes_on_gets_a_position_more() -> None:
    job_id = job_to_fill(1, capacity=2)
    first, second = factories.applications(job_id, 2)
    hire(first, IfLast.STAY)

    hire(second, IfLast.GO_ON)

    assert positions_of(job_id) == (2, 2)
    assert_sound(job_id)


def test_a_closed_job_fills_its_positions_without_a_question_and_gets_more_on_demand() -> None:
    job_id = job_to_fill(1, capacity=3)
    first, second, third = factories.applications(job_id, 3)
    close_job(job_id=job_id, actor=factories.RECRUITER)

    hire(first)
    with pytest.raises(PositionsFilled):
        hire(second)
    change(job_id, 2)
    hire(second)
    hire(third, IfLast.GO_ON)

    assert positions_of(job_id) == (3, 3)
    assert_sound(job_id)


def test_a_paused_job_is_closed_by_its_last_position_too() -> None:
    job_id = job_to_fill(1)
    first, second = factories.applications(job_id, 2)
    pause_job(job_id=job_id, actor=factories.RECRUITER)

    hire(first, IfLast.CLOSE)
    settle(job_id=job_id)

    assert factories.statuses(second) == ["JOB_CLOSED"]
    assert_sound(job_id)


def test_a_filled_job_that_was_paused_resumes_without_an_offer() -> None:
    job_id = job_to_fill(1)
    first, second = factories.applications(job_id, 2)
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    hire(first, IfLast.STAY)

    open_job(job_id=job_id, actor=factories.RECRUITER)

    assert factories.statuses(second) == ["WAITLIST"]
    assert_sound(job_id)


def test_a_person_without_a_seat_is_refused_for_that_and_not_for_the_position() -> None:
    job_id = job_to_fill(1)
    _, waiting = factories.applications(job_id, 2)

    with pytest.raises(IllegalMove):
        hire(waiting)


def test_repeating_a_request_that_filled_the_last_position_is_harmless() -> None:
    job_id = job_to_fill(1)
    [person] = factories.applications(job_id, 1)
    request: dict[str, Any] = {
        "application_id": person.id,
        "outcome": Outcome.HIRED,
        "actor": factories.RECRUITER,
        "request_id": person.applicant_id,
        "if_last": IfLast.GO_ON,
    }
    remove(**request)
    seq = factories.row_of(job_id).seq

    remove(**request)

    assert (factories.row_of(job_id).seq, positions_of(job_id)) == (seq, (2, 1))


def test_a_what_if_runs_a_past_with_positions_again() -> None:
    job_id = job_to_fill(2, capacity=2)
    people = factories.applications(job_id, 5)
    hire(people[0])
    hire(people[1], IfLast.GO_ON)
    change(job_id, None)
    change(job_id, 3)
    close = [person for person in people[2:4] if factories.status_of(person) == OFFERED]
    assert len(close) == 2

    assert simulated(job_id) == logged(job_id)


def test_a_what_if_runs_a_past_again_that_ended_with_the_last_position() -> None:
    job_id = job_to_fill(1, capacity=2)
    first, *_ = factories.applications(job_id, 4)
    hire(first, IfLast.CLOSE)
    settle(job_id=job_id)

    assert simulated(job_id) == logged(job_id)


def test_the_database_refuses_more_people_hired_than_positions() -> None:
    job_id = job_to_fill(1)

    with pytest.raises(IntegrityError, match="job_hired_within_positions"):
        Job.objects.filter(id=job_id).update(hired_count=2)


def test_changing_nothing_leaves_no_event() -> None:
    job_id = job_to_fill(2)
    seq = factories.row_of(job_id).seq

    change(job_id, 2)

    assert factories.row_of(job_id).seq == seq


def test_every_refusal_about_positions_says_what_to_do() -> None:
    refusals: list[LineError] = [
        LastPosition(),
        PositionsFilled(positions=1_000),
        PositionsBelowHired(hired=3, positions=2),
    ]

    assert [str(each).split(". ")[0] for each in refusals] == [
        "This fills the last position of the job",
        "All positions of this job are filled (1,000)",
        "This job has hired 3 already, so it cannot have 2 to fill",
    ]


def test_the_change_that_fills_a_job_offers_no_more_seats() -> None:
    job_id = job_to_fill(5)
    first, *_ = factories.applications(job_id, 4)
    hire(first)

    changes = JobChanges(capacity=3, hiring={"positions_to_fill": 1})
    update_job(job_id=job_id, changes=changes, actor=factories.RECRUITER)

    waiting = Application.objects.filter(job_id=job_id).exclude(id=first.id).order_by("id")
    statuses = list(waiting.values_list("status", flat=True))
    assert statuses == [OFFERED, "WAITLIST", "WAITLIST"]
    assert_sound(job_id)
