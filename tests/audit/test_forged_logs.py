"""Forged logs whose hashes fit but whose events cannot follow each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction

from jobs.models import Job
from pipeline.audit.verify import TURNS, verify_job
from pipeline.domain.errors import VerifierBusy
from pipeline.domain.states import Move, ReinstatementReason
from pipeline.line.event_log import GENESIS, chained_hash
from pipeline.line.lock import lock_job_of
from pipeline.line.moves import make_move
from pipeline.line.write import write
from pipeline.models import Application, Event
from pipeline.services.jobs import close_job, pause_job
from pipeline.services.joining import verify
from pipeline.services.leaving import reinstate, withdraw
from pipeline.services.turns import acknowledge
from tasks.advisory_locks import VERIFY_TURN
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import let_time_pass
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)


def forge(job_id: UUID, event: str, change: Callable[[Event], Any]) -> int:
    """Change the last event of that kind, and rebuild the chain and the row; return its seq."""
    head, forged = GENESIS, 0
    rows = factories.events(job_id)
    target = [row for row in rows if row.event == event][-1]
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for row in rows:
            if row.seq == target.seq:
                change(row)
                forged = row.seq
            row.prev_hash, row.hash = head, chained_hash(head, row)
            head = row.hash
            row.save()
        Job.objects.filter(id=job_id).update(chain_head=head)
    return forged


def first_bad_seq(job_id: UUID) -> int | None:
    verdict = verify_job(job_id)
    assert verdict.chain == "broken"
    assert verdict.differences
    return verdict.first_bad_seq


def test_a_log_that_was_only_chained_anew_is_sound() -> None:
    job_id = factories.job()
    factories.applications(job_id, 2)

    forge(job_id, "APPLIED", lambda row: None)

    assert verify_job(job_id).is_sound


def test_an_emptied_log_is_broken_from_the_first_row_on() -> None:
    job_id = factories.job()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        Event.objects.filter(job_id=job_id).delete()
    Job.objects.filter(id=job_id).update(seq=0, chain_head=GENESIS)

    assert first_bad_seq(job_id) == 1


def set_data(**values: Any) -> Callable[[Event], None]:
    return lambda row: row.data.update(values)


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.data.pop("decay_count"),
        lambda row: row.data.pop("next_ticket"),
        set_data(eligible_at="soon"),
        set_data(waiting=7),
        lambda row: setattr(row, "data", []),
        lambda row: setattr(row, "to_status", "SOMEWHERE"),
        lambda row: setattr(row, "from_status", "ACTIVE"),
        lambda row: setattr(row, "outcome", "HIRED"),
    ],
)
def test_an_application_event_that_cannot_be_is_named(change: Callable[[Event], Any]) -> None:
    job_id = factories.job()
    factories.applications(job_id, 2)

    seq = forge(job_id, "APPLIED", change)

    assert first_bad_seq(job_id) == seq


@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("PROMOTED", set_data(verify_by="2026-01-01T00:00:00.000000Z")),
        ("VERIFIED", set_data(verify_by="2026-01-01T00:00:00.000000Z")),
        ("VERIFIED", set_data(ticket=7)),
        ("VERIFIED", set_data(unverified=1)),
        ("VERIFIED", lambda row: setattr(row, "event", "APPLIED")),
        ("APPLIED", lambda row: row.data.pop("verify_by")),
        ("APPLIED", set_data(unverified=0)),
        ("APPLIED", lambda row: row.data.pop("unverified")),
    ],
)
def test_a_seat_without_a_proof_of_the_address_is_named(
    event: str, change: Callable[[Event], Any]
) -> None:
    job_id = factories.job()
    person = factories.application(job_id, verified=False)
    verify(application_id=person.id, actor=factories.owner_of(person))
    assert verify_job(job_id).is_sound

    seq = forge(job_id, event, change)

    assert first_bad_seq(job_id) == seq


@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("ACKNOWLEDGED", set_data(via_key="no id")),
        ("ACKNOWLEDGED", set_data(via_key=None)),
        ("ACKNOWLEDGED", lambda row: setattr(row, "actor_kind", "COMPANY")),
        ("PROMOTED", set_data(via_key=str(uuid4()))),
        ("APPLIED", set_data(via_key=str(uuid4()))),
    ],
)
def test_an_act_through_a_key_is_an_applicants_own(
    event: str, change: Callable[[Event], Any]
) -> None:
    job_id = factories.job()
    first, second = factories.applications(job_id, 2)
    withdraw(application_id=first.id, actor=factories.owner_of(first))
    actor = replace(factories.owner_of(second), via_key=uuid4())
    acknowledge(application_id=second.id, actor=actor)
    assert verify_job(job_id).is_sound

    seq = forge(job_id, event, change)

    assert first_bad_seq(job_id) == seq


def test_a_lapse_says_its_reason_only_if_the_application_was_unverified() -> None:
    unverified, missed = factories.job(), factories.job(acknowledge_first_seat=True, max_decays=0)
    factories.application(unverified, verified=False)
    factories.application(missed)
    for job_id in (unverified, missed):
        let_time_pass(job_id, 24 * 3_600)
    factories.settle_all()

    forged = [
        forge(unverified, "LAPSED", lambda row: row.data.pop("reason")),
        forge(missed, "LAPSED", set_data(reason="UNVERIFIED")),
    ]

    assert [first_bad_seq(unverified), first_bad_seq(missed)] == forged


def test_a_log_from_before_verification_is_sound() -> None:
    job_id = factories.job()
    factories.application(job_id)

    forge(job_id, "APPLIED", lambda row: row.data.pop("unverified"))

    assert verify_job(job_id).is_sound


@pytest.mark.parametrize(
    "change",
    [
        set_data(status="DRAFT"),
        set_data(status="CLOSED"),
        set_data(policy={}),
        set_data(policy={"penalty_places": -1}),
        lambda row: row.data.pop("capacity"),
        lambda row: setattr(row, "event", "JOB_CLOSED"),
        lambda row: setattr(row, "event", "CAPACITY_CHANGED"),
        lambda row: setattr(row, "event", "JOB_CREATED"),
        lambda row: setattr(row, "from_status", "DRAFT"),
        lambda row: setattr(row, "to_status", None),
    ],
)
def test_a_job_event_that_cannot_be_is_named(change: Callable[[Event], Any]) -> None:
    job_id = factories.job()
    pause_job(job_id=job_id, actor=factories.RECRUITER)

    seq = forge(job_id, "JOB_PAUSED", change)

    assert first_bad_seq(job_id) == seq


def test_a_closed_job_does_not_open_again() -> None:
    job_id = factories.job()
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    close_job(job_id=job_id, actor=factories.RECRUITER)

    def resume(row: Event) -> None:
        row.event, row.from_status, row.to_status = "JOB_RESUMED", "PAUSED", "OPEN"
        row.data["status"] = "OPEN"

    forge(job_id, "JOB_PAUSED", lambda row: None)
    forge(job_id, "JOB_CLOSED", resume)

    assert not verify_job(job_id).is_sound


def test_only_so_many_are_verified_in_turn_and_the_command_needs_no_turn() -> None:
    job_id = factories.job()

    with transaction.atomic(), connection.cursor() as cursor:
        for turn in range(TURNS):
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [VERIFY_TURN, turn])
        refused, verified = together(
            [partial(verify_job, job_id, in_turn=True), partial(verify_job, job_id)]
        )

    assert isinstance(refused, VerifierBusy)
    assert verified.is_sound
    assert verify_job(job_id, in_turn=True).is_sound


@pytest.fixture
def given_back() -> UUID:
    """A job in which a miss was given back while someone else holds the seat."""
    job_id = factories.job(acknowledge_first_seat=True)
    missed, _next, _third = factories.applications(job_id, 3)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    reason = ReinstatementReason.OUR_ERROR
    reinstate(application_id=missed.id, reason=reason, actor=factories.RECRUITER)
    return job_id


def test_a_place_that_was_given_back_is_sound(given_back: UUID) -> None:
    forge(given_back, "REINSTATED", lambda row: None)

    assert verify_job(given_back).is_sound


@pytest.mark.parametrize(
    "change",
    [
        set_data(ticket=0),
        set_data(tie=1),
        set_data(decay_count=1),
        set_data(eligible_at="2126-01-01T00:00:00.000000Z"),
        lambda row: setattr(row, "cause_seq", None),
        lambda row: setattr(row, "cause_seq", 3),
        lambda row: setattr(row, "event", "VERIFIED"),
    ],
)
def test_a_reinstatement_that_gives_back_anything_else_is_named(
    given_back: UUID, change: Callable[[Event], Any]
) -> None:
    seq = forge(given_back, "REINSTATED", change)

    assert first_bad_seq(given_back) == seq


@pytest.mark.parametrize("event", ["APPLIED", "DECAYED"])
def test_whoever_comes_into_the_line_ahead_of_its_end_is_named(event: str) -> None:
    job_id = factories.job(capacity=1)
    factories.applications(job_id, 3)
    if event == "DECAYED":
        leave(Application.objects.get(job_id=job_id, status="ACTIVE"))
        let_time_pass(job_id, factories.WINDOW)
        factories.settle_all()
    assert verify_job(job_id).is_sound

    seq = forge(job_id, event, set_data(ticket=-1))

    assert first_bad_seq(job_id) == seq


def test_a_place_cannot_be_given_back_without_a_miss() -> None:
    job_id = factories.job()
    factories.applications(job_id, 2)
    _seated, waiting = Application.objects.filter(job_id=job_id).order_by("id")
    with transaction.atomic():
        job = lock_job_of(waiting.id)
        make_move(job, job.application(waiting.id), Move.REINSTATE, actor=factories.RECRUITER)
        write(job)

    assert first_bad_seq(job_id) == factories.row_of(job_id).seq
