"""The table of moves, pair by pair: first the table itself, then under the lock of a real job."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Any

import pytest
from django.db import transaction

from jobs.models import Job
from pipeline.audit.verify import verify_job
from pipeline.domain.errors import IllegalMove
from pipeline.domain.states import DECISIONS, SYSTEM, VERIFY_WITHIN, Move, Outcome, Status
from pipeline.domain.verbs import EVENTS, MOVES, status_after
from pipeline.line.admission import give_missed_place_back
from pipeline.line.lock import lock_job_of
from pipeline.line.misses import read_last_miss, read_waiting_place
from pipeline.line.moves import make_move
from pipeline.line.settle import fill_seats
from pipeline.line.write import write
from pipeline.models import Application, Event
from pipeline.services.leaving import remove, withdraw
from tests.support import factories
from tests.support.clock import let_time_pass

LEGAL = """
-                       SEAT         ACTIVE                  APPLIED            -
-                       OFFER        PENDING_ACKNOWLEDGMENT  APPLIED            -
-                       QUEUE        WAITLIST                APPLIED            -
WAITLIST                VERIFY       WAITLIST                VERIFIED           -
WAITLIST                EXPIRE       INACTIVE                LAPSED             LAPSED
WAITLIST                PROMOTE      PENDING_ACKNOWLEDGMENT  PROMOTED           -
PENDING_ACKNOWLEDGMENT  ACKNOWLEDGE  ACTIVE                  ACKNOWLEDGED       -
PENDING_ACKNOWLEDGMENT  EXTEND       PENDING_ACKNOWLEDGMENT  DEADLINE_EXTENDED  -
PENDING_ACKNOWLEDGMENT  DECAY        WAITLIST                DECAYED            -
PENDING_ACKNOWLEDGMENT  LAPSE        INACTIVE                LAPSED             LAPSED
WAITLIST                REINSTATE    WAITLIST                REINSTATED         -
INACTIVE                REINSTATE    WAITLIST                REINSTATED         -
WAITLIST                PLACE        WAITLIST                PLACED             -
WAITLIST                MOVE_AHEAD   WAITLIST                MOVED_AHEAD        -
WAITLIST                DEFER        WAITLIST                DEFERRED           -
WAITLIST                PREACCEPT    WAITLIST                PREACCEPTED        -
WAITLIST                ASK_PASS     WAITLIST                PASS_ASKED         -
WAITLIST                PASS         WAITLIST                PASSED             -
PENDING_ACKNOWLEDGMENT  PASS         WAITLIST                PASSED             -
WAITLIST                WITHDRAW     INACTIVE                WITHDRAWN          WITHDRAWN
PENDING_ACKNOWLEDGMENT  WITHDRAW     INACTIVE                WITHDRAWN          WITHDRAWN
ACTIVE                  WITHDRAW     INACTIVE                WITHDRAWN          WITHDRAWN
WAITLIST                REMOVE       INACTIVE                REMOVED            REMOVED
PENDING_ACKNOWLEDGMENT  REMOVE       INACTIVE                REMOVED            REMOVED
ACTIVE                  REMOVE       INACTIVE                REMOVED            REMOVED
WAITLIST                REJECT       INACTIVE                REMOVED            REJECTED
PENDING_ACKNOWLEDGMENT  REJECT       INACTIVE                REMOVED            REJECTED
ACTIVE                  REJECT       INACTIVE                REMOVED            REJECTED
ACTIVE                  HIRE         INACTIVE                REMOVED            HIRED
WAITLIST                CLOSE_OUT    INACTIVE                CLOSED_OUT         JOB_CLOSED
PENDING_ACKNOWLEDGMENT  CLOSE_OUT    INACTIVE                CLOSED_OUT         JOB_CLOSED
INACTIVE                CONTEST      INACTIVE                CONTESTED          -
INACTIVE                ANSWER_CONTEST  INACTIVE             CONTEST_ANSWERED   -
WAITLIST                CHANGE_ANSWERS  WAITLIST             ANSWERS_CHANGED    -
ACTIVE                  CHANGE_ANSWERS  ACTIVE               ANSWERS_CHANGED    -
ACTIVE                  ASK_QUESTION    ACTIVE               QUESTION_ASKED     -
WAITLIST                NOTE_GROUP      WAITLIST             GROUP_NOTED        -
"""
ROWS = [[None if word == "-" else word for word in row.split()] for row in LEGAL.split("\n") if row]
EXPECTED = {(status, move): tuple(rest) for status, move, *rest in ROWS}
PAIRS = list(product([None, *Status], Move))
ILLEGAL = [pair for pair in PAIRS if pair not in EXPECTED]


def ids(pair: tuple[Any, ...]) -> str:
    return " ".join(str(word) for word in pair)


WISHES = (Move.DEFER, Move.PREACCEPT, Move.ASK_PASS)
# Moves of which one needs the other half of all applications.
OF_UNVERIFIED = {"VERIFY", "EXPIRE"}
OF_VERIFIED = set("SEAT OFFER PROMOTE ACKNOWLEDGE EXTEND REINSTATE DEFER PREACCEPT".split())
OF_VERIFIED |= {"ASK_PASS", "PASS", "CONTEST", "ANSWER_CONTEST", "CHANGE_ANSWERS"}
OF_VERIFIED |= {"ASK_QUESTION", "MOVE_AHEAD"}


@pytest.mark.parametrize("verified", [True, False, None])
@pytest.mark.parametrize("pair", EXPECTED, ids=ids)
def test_a_move_fits_only_an_application_that_is_verified_or_is_not(
    pair: tuple[Any, Any], verified: bool | None
) -> None:
    status, move = pair
    wrong = {True: OF_UNVERIFIED, False: OF_VERIFIED, None: set()}[verified]
    before = Status(status) if status else None

    if move in wrong:
        with pytest.raises(IllegalMove):
            status_after(before, Move(move), verified=verified)
    else:
        assert status_after(before, Move(move), verified=verified) == EXPECTED[pair][0]


@pytest.mark.parametrize(
    ("move", "word"),
    [
        (Move.ASK_PASS, "passed"),
        (Move.DEFER, "deferred"),
        (Move.EXTEND, "extended"),
        (Move.HIRE, "hired"),
        (Move.MOVE_AHEAD, "moved ahead"),
        (Move.REINSTATE, "reinstated"),
        (Move.VERIFY, "verified"),
        (Move.WITHDRAW, "withdrawn"),
    ],
)
def test_a_refused_move_is_named_in_a_sentence(move: Move, word: str) -> None:
    refusal = IllegalMove(status=Status.INACTIVE, move=move)

    assert str(refusal) == f"An application that is INACTIVE cannot be {word}."


def test_an_address_is_to_be_verified_within_a_day() -> None:
    assert timedelta(days=1) == VERIFY_WITHIN


@pytest.mark.parametrize("pair", PAIRS, ids=ids)
def test_the_table_knows_exactly_the_moves_of_the_rules(pair: tuple[Status | None, Move]) -> None:
    if pair in EXPECTED:
        to, event, _ = EXPECTED[pair]
        assert (status_after(*pair), EVENTS[pair[1]]) == (to, event)
    else:
        assert pair not in MOVES
        with pytest.raises(IllegalMove) as refusal:
            status_after(*pair)
        assert refusal.value.facts == {"status": pair[0], "move": pair[1]}


OF_UNVERIFIED = (Move.VERIFY, Move.EXPIRE)


def someone(status: str | None, *, verified: bool = True) -> Application:
    """An application in that status; for None, one that has ended, about to be made anew."""
    job_id = factories.job(acknowledge_first_seat=status == Status.PENDING_ACKNOWLEDGMENT)
    if status == Status.WAITLIST:
        factories.application(job_id)
    person = factories.application(job_id, verified=verified)
    if status == Status.INACTIVE:
        withdraw(application_id=person.id, actor=factories.owner_of(person))
    assert factories.fresh(person).status == status
    return person


def somebody_who_missed(status: str | None) -> Application:
    """One in that status whose last event is a miss; someone else was offered the seat."""
    most = 0 if status == Status.INACTIVE else 3
    job_id = factories.job(acknowledge_first_seat=True, max_decays=most)
    missed, _next = factories.applications(job_id, 2)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    assert factories.fresh(missed).status == status
    return missed


def state_of(job_id: Any) -> tuple[Any, ...]:
    rows = Application.objects.filter(job_id=job_id).order_by("id").values()
    return list(rows), Job.objects.filter(id=job_id).values()[0], Event.objects.count()


# Only a draw places anyone, only some ends are contested, and an exception and a statement have
# rows of their own: see tests/services/test_lottery.py, test_contest.py, test_move_ahead.py and
# test_reserved_seats.py.
ELSEWHERE = {"PLACE", "CONTEST", "ANSWER_CONTEST", "MOVE_AHEAD", "NOTE_GROUP"}
LIVE_PAIRS = [pair for pair in EXPECTED if pair[0] and pair[1] not in ELSEWHERE]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("pair", LIVE_PAIRS, ids=ids)
def test_a_legal_move_leaves_its_status_its_event_and_its_outcome(pair: tuple[str, str]) -> None:
    back = pair[1] == Move.REINSTATE
    person = (
        somebody_who_missed(pair[0])
        if back
        else someone(pair[0], verified=pair[1] not in OF_UNVERIFIED)
    )

    with transaction.atomic():
        job = lock_job_of(person.id)
        facts = {"reason": "UNVERIFIED"} if pair[1] == Move.EXPIRE else {}
        row = job.application(person.id)
        if back:
            facts = {"reason": "OUR_ERROR"}
            give_missed_place_back(
                job, row, read_last_miss(row), actor=factories.RECRUITER, facts=facts
            )
        else:
            passes, waits = pair[1] == Move.PASS, pair[0] == Status.WAITLIST
            wishes = pair[1] in WISHES or (passes and not waits)
            wishes = wishes or pair[1] == Move.CHANGE_ANSWERS
            actor = factories.owner_of(person) if wishes else SYSTEM
            actor = factories.RECRUITER if pair[1] == Move.ASK_QUESTION else actor
            row.pass_next = pair[1] == Move.ASK_PASS or (passes and waits)
            if pair[1] == Move.EXTEND and row.acknowledge_by:
                row.acknowledge_by += timedelta(hours=1)
            if passes and waits:
                make_move(job, row, Move.ASK_PASS, actor=factories.owner_of(person))
            elif passes:
                row.ticket, row.tie = read_waiting_place(row)
                job.head_ticket = min(job.head_ticket, row.ticket)
            make_move(job, row, Move(pair[1]), actor=actor, facts=facts)
        fill_seats(job)
        write(job)

    to, name, outcome = EXPECTED[pair]
    row, event = factories.fresh(person), factories.events(person.job_id)[-1]
    assert (row.status, event.event, row.outcome) == (to, name, outcome)
    assert (event.from_status, event.to_status, event.outcome) == (pair[0], to, outcome)
    verdict = verify_job(person.job_id)
    assert (verdict.chain, verdict.differences) == ("ok", [])


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("pair", [pair for pair in ILLEGAL if pair[0]], ids=ids)
def test_an_illegal_move_changes_nothing(pair: tuple[Status, Move]) -> None:
    person = someone(pair[0])
    before = state_of(person.job_id)

    with transaction.atomic():
        job = lock_job_of(person.id)
        with pytest.raises(IllegalMove):
            make_move(job, job.application(person.id), pair[1])
        write(job)

    assert state_of(person.job_id) == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("verified", "move"),
    [
        (True, Move.VERIFY),
        (True, Move.EXPIRE),
        (False, Move.PROMOTE),
        (False, Move.REINSTATE),
        (False, Move.DEFER),
        (False, Move.PREACCEPT),
        (False, Move.ASK_PASS),
        (False, Move.PASS),
    ],
)
def test_only_the_unverified_are_verified_or_expire_and_nobody_unverified_is_promoted(
    verified: bool, move: Move
) -> None:
    person = someone(Status.WAITLIST, verified=verified)
    before = state_of(person.job_id)

    with transaction.atomic():
        job = lock_job_of(person.id)
        with pytest.raises(IllegalMove):
            make_move(job, job.application(person.id), move)
        write(job)

    assert state_of(person.job_id) == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("status", "outcome"), list(product(Status, DECISIONS)), ids=str)
def test_a_company_decides_only_as_the_table_says(status: Status, outcome: Outcome) -> None:
    person = someone(status)
    before = state_of(person.job_id)
    decide = {"application_id": person.id, "outcome": outcome, "actor": factories.RECRUITER}

    if (status, DECISIONS[outcome]) in EXPECTED:
        remove(**decide)

        assert factories.status_of(person) == outcome
    else:
        with pytest.raises(IllegalMove):
            remove(**decide)

        assert state_of(person.job_id) == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("outcome", DECISIONS)
def test_who_was_removed_cannot_withdraw_and_who_withdrew_may_again(outcome: Outcome) -> None:
    removed, left = someone(Status.ACTIVE), someone(Status.INACTIVE)
    remove(application_id=removed.id, outcome=outcome, actor=factories.RECRUITER)
    before = state_of(left.job_id)

    with pytest.raises(IllegalMove):
        withdraw(application_id=removed.id, actor=factories.owner_of(removed))
    withdraw(application_id=left.id, actor=factories.owner_of(left))

    assert factories.statuses(removed, left) == [outcome, "WITHDRAWN"]
    assert state_of(left.job_id) == before
