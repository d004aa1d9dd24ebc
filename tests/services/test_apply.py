"""Applying: a free seat, the waitlist, one live application to a job, and refusals."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from uuid import UUID, uuid4

import pytest

from applicants.models import ERASED, Applicant
from pipeline.domain.errors import (
    AlreadyApplied,
    AlreadyDecided,
    ApplicantNotFound,
    CameBeforeOpening,
    JobNotFound,
    JobNotOpen,
    LineError,
)
from pipeline.domain.states import Outcome
from pipeline.line.arrivals import Arrival, Arrivals, thread_of_arrival
from pipeline.line.handover import Turn
from pipeline.line.peers import Peers
from pipeline.services import joining as applying
from pipeline.services.jobs import close_job, open_job, pause_job
from pipeline.services.joining import Request
from pipeline.services.leaving import remove, withdraw
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_verified_person_gets_the_free_seat_at_once() -> None:
    job_id = factories.job()

    person = factories.application(job_id)

    assert factories.status_of(person) == "ACTIVE"
    assert_line_is_sound(job_id)


def test_a_first_seat_is_only_on_offer_if_the_job_asks_for_it() -> None:
    job_id = factories.job(acknowledge_first_seat=True)

    person = factories.application(job_id)

    assert factories.status_of(person) == "PENDING_ACKNOWLEDGMENT"
    assert (person.acknowledge_by - person.applied_at).total_seconds() == factories.WINDOW
    assert_line_is_sound(job_id)


def test_who_comes_when_all_seats_are_taken_waits_at_the_back() -> None:
    job_id = factories.job(capacity=2)
    factories.applications(job_id, 2)

    first, second, third = factories.applications(job_id, 3)

    assert factories.statuses(first, second, third) == ["WAITLIST"] * 3
    assert factories.line(job_id) == [first.id, second.id, third.id]
    assert_line_is_sound(job_id)


@pytest.fixture
def arrive() -> Iterator[Callable[[UUID, int], Arrival]]:
    """Let this thread work on a request with a place, of which the first attempt came earlier."""
    peers = Peers(1)
    with ExitStack() as working:
        working.callback(peers.close)

        def arrive_again(job_id: UUID, ago_ns: int) -> Arrival:
            arrival = Arrivals(peers, 0).expect(job_id, time.monotonic_ns())
            arrival.take_place(time.time_ns() - ago_ns)
            working.enter_context(thread_of_arrival(arrival))
            return arrival

        yield arrive_again


@pytest.mark.parametrize("again", [False, True], ids=["opened", "resumed"])
def test_a_place_from_before_the_job_took_applications_is_lost(
    arrive: Callable[[UUID, int], Arrival], again: bool
) -> None:
    job_id = factories.job(open_now=False)
    open_job(job_id=job_id, actor=factories.RECRUITER)
    if again:
        pause_job(job_id=job_id, actor=factories.RECRUITER)
        time.sleep(0.01)
        middle = time.time_ns()
        time.sleep(0.01)
        open_job(job_id=job_id, actor=factories.RECRUITER)
    arrival = arrive(job_id, time.time_ns() - middle if again else 60_000_000_000)

    with pytest.raises(CameBeforeOpening):
        factories.application(job_id)

    assert (arrival.has_place, arrival.came_at) == (False, arrival.own_came_at)
    assert factories.status_of(factories.application(job_id)) == "ACTIVE", "as a newcomer"
    assert_line_is_sound(job_id)


def test_a_place_from_since_then_counts(arrive: Callable[[UUID, int], Arrival]) -> None:
    job_id = factories.job(open_now=False)
    open_job(job_id=job_id, actor=factories.RECRUITER)
    time.sleep(0.01)
    arrival = arrive(job_id, 0)

    assert factories.status_of(factories.application(job_id)) == "ACTIVE"
    assert arrival.has_place
    assert_line_is_sound(job_id)


def test_nobody_can_apply_twice_while_their_application_lives() -> None:
    job_id = factories.job()
    person = factories.applicant()
    factories.application(job_id, person)
    seq = factories.row_of(job_id).seq

    with pytest.raises(AlreadyApplied):
        factories.application(job_id, person)

    assert factories.row_of(job_id).seq == seq
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("outcome", [Outcome.REJECTED, Outcome.HIRED])
def test_who_was_decided_on_can_only_be_added_by_the_company(outcome: Outcome) -> None:
    job_id = factories.job()
    person = factories.applicant()
    decided = factories.application(job_id, person)
    remove(application_id=decided.id, outcome=outcome, actor=factories.RECRUITER)

    with pytest.raises(AlreadyDecided):
        factories.application(job_id, person)
    added = factories.application(job_id, person, actor=factories.RECRUITER)

    assert factories.statuses(decided, added) == [outcome, "ACTIVE"]


def test_who_was_removed_may_apply_again() -> None:
    job_id = factories.job()
    person = factories.applicant()
    removed = factories.application(job_id, person)
    remove(application_id=removed.id, outcome=Outcome.REMOVED, actor=factories.RECRUITER)

    again = factories.application(job_id, person)

    assert factories.statuses(removed, again) == ["REMOVED", "ACTIVE"]


@pytest.mark.parametrize("status", ["DRAFT", "PAUSED", "CLOSED"])
def test_a_job_that_is_not_open_takes_nobody(status: str) -> None:
    job_id = factories.job(open_now=status != "DRAFT")
    if status != "DRAFT":
        verb = pause_job if status == "PAUSED" else close_job
        verb(job_id=job_id, actor=factories.RECRUITER)

    with pytest.raises(JobNotOpen) as refusal:
        factories.application(job_id)

    assert refusal.value.facts == {"status": status}


def test_an_unknown_job_is_named_as_such() -> None:
    with pytest.raises(JobNotFound):
        factories.application(factories.applicant().id)


def test_a_refused_application_still_leaves_done_what_was_due() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    holder, waiting = factories.applications(job_id, 2)
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    let_time_pass(job_id, factories.WINDOW)

    with pytest.raises(LineError):
        factories.application(job_id)

    assert factories.statuses(holder, waiting) == ["WAITLIST", "WAITLIST"]
    assert factories.event_names(job_id)[-1] == "DECAYED"
    open_job(job_id=job_id, actor=factories.RECRUITER)
    assert factories.statuses(holder, waiting) == ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
    assert_line_is_sound(job_id)


def test_a_repeated_request_is_the_same_application_and_nobody_else_gets_its_id() -> None:
    job_id, new_id = factories.job(), uuid4()
    person = factories.applicant()
    made = [factories.application(job_id, person, application_id=new_id) for _ in range(2)]

    with pytest.raises(ValueError, match="two people"):
        factories.application(job_id, application_id=new_id)

    assert [each.id for each in made] == [new_id, new_id]
    assert factories.event_names(job_id).count("APPLIED") == 1
    assert_line_is_sound(job_id)


def test_an_erased_person_cannot_apply() -> None:
    person = factories.applicant()
    Applicant.objects.filter(id=person.id).update(email=f"{ERASED}{person.id}")

    with pytest.raises(ApplicantNotFound):
        factories.application(factories.job(), person)


def test_in_one_batch_a_person_takes_over_what_a_stranger_has_just_made() -> None:
    job_id, person = factories.job(), factories.applicant()
    actor = factories.as_applicant(person.id)
    turns = [
        Turn(Request(person.id, name, actor, verified, None, {}, None))
        for name, verified in [("Total Idiot", False), ("Ana Li", True)]
    ]

    applying._apply_all(job_id, turns)

    strangers, hers = (turn.result for turn in turns)
    assert strangers is hers
    assert (hers.name, factories.status_of(hers)) == ("Ana Li", "PENDING_ACKNOWLEDGMENT")
    assert factories.event_names(job_id)[2:] == ["APPLIED", "VERIFIED", "PROMOTED"]
    assert_line_is_sound(job_id)


def test_in_one_batch_a_returning_person_still_cools_down_when_another_gets_a_seat() -> None:
    job_id = factories.job(capacity=2, acknowledge_first_seat=True)
    missed = factories.application(job_id)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    withdraw(application_id=missed.id, actor=factories.owner_of(missed))
    other = factories.application(job_id, verified=False)
    turns = [
        Turn(Request(each.applicant_id, "Ana", factories.owner_of(each), True, None, {}, None))
        for each in (missed, other)
    ]

    applying._apply_all(job_id, turns)
    results = [turn.result for turn in turns]
    assert factories.statuses(*results) == ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
    let_time_pass(job_id, factories.COOLDOWN)
    factories.settle_all()

    assert factories.statuses(*results) == ["PENDING_ACKNOWLEDGMENT"] * 2
    assert_line_is_sound(job_id)
