"""The log: append-only, gapless, chained, free of personal data, and telling causes."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, transaction
from uuid_utils.compat import uuid7

from applicants.models import Applicant
from pipeline.audit.verify import verify_job
from pipeline.domain.states import Outcome, Reason
from pipeline.models import Application, DecisionNote, Event
from pipeline.services.leaving import remove, withdraw
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE pipeline_event SET event = 'APPLIED'",
        "UPDATE pipeline_event SET data = data",
        "DELETE FROM pipeline_event",
    ],
)
def test_the_database_refuses_to_change_or_delete_what_was_logged(statement: str) -> None:
    job_id = factories.job()
    factories.application(job_id)

    with (
        pytest.raises(DatabaseError, match="append-only: UPDATE and DELETE"),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)

    assert factories.event_names(job_id) == ["JOB_CREATED", "JOB_OPENED", "APPLIED"]
    assert_line_is_sound(job_id)


@pytest.mark.usefixtures("truncate_is_refused")
@pytest.mark.parametrize(
    "statement", ["TRUNCATE pipeline_event", "TRUNCATE pipeline_event CASCADE"]
)
def test_the_database_refuses_to_empty_the_log(statement: str) -> None:
    job_id = factories.job()

    with pytest.raises(DatabaseError, match="append-only"), connection.cursor() as cursor:
        cursor.execute(statement)

    assert factories.event_names(job_id) == ["JOB_CREATED", "JOB_OPENED"]


def eventful_job() -> UUID:
    """A job whose log has nearly every kind of event."""
    job_id = factories.job(capacity=2, acknowledge_first_seat=True, max_decays=1)
    people = factories.applications(job_id, 4)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    remove(
        application_id=people[2].id,
        outcome=Outcome.REJECTED,
        actor=factories.RECRUITER,
        reason=Reason.NOT_A_MATCH,
    )
    factories.alter(job_id, capacity=3, policy={"penalty_places": 2})
    return job_id


def tamper(statement: str, **parameters: Any) -> None:
    """Do to the database what only someone with all power over it could."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(statement, parameters)
        assert cursor.rowcount > 0


CHANGES = {
    "event": "'WITHDRAWN'",
    "application_id": "gen_random_uuid()",
    "from_status": "'ACTIVE'",
    "to_status": "'INACTIVE'",
    "outcome": "'HIRED'",
    "actor_kind": "'SYSTEM'",
    "actor_id": "gen_random_uuid()",
    "cause_seq": "1",
    "policy_version": "7",
    "at": "at + interval '1 microsecond'",
    "effective_at": "effective_at - interval '1 microsecond'",
    "data": "data || '{\"decay_count\": 5}'",
    "prev_hash": "'\\x00'",
    "hash": "'\\x00'",
}


@pytest.mark.parametrize("column", CHANGES)
def test_a_changed_row_is_the_first_bad_one(column: str) -> None:
    job_id = eventful_job()

    change = f"{column} = {CHANGES[column]}"
    tamper(f"UPDATE pipeline_event SET {change} WHERE job_id = %(job)s AND seq = 4", job=job_id)

    verdict = verify_job(job_id)
    assert (verdict.chain, verdict.first_bad_seq) == ("broken", 4)
    assert not verdict.is_sound


@pytest.mark.parametrize("seq", [1, 4, "last"])
def test_a_missing_row_is_noticed(seq: int | str) -> None:
    job_id = eventful_job()
    missing = factories.row_of(job_id).seq if seq == "last" else seq

    tamper("DELETE FROM pipeline_event WHERE job_id = %(job)s AND seq = %(seq)s",
           job=job_id, seq=missing)  # fmt: skip

    verdict = verify_job(job_id)
    assert (verdict.chain, verdict.first_bad_seq) == ("broken", missing)


def test_an_inserted_row_is_noticed() -> None:
    job_id = eventful_job()
    columns = [f.column for f in Event._meta.concrete_fields if f.column not in ("id", "seq")]

    tamper(
        "UPDATE pipeline_event SET seq = -seq - 1 WHERE job_id = %(job)s AND seq >= 4", job=job_id
    )
    tamper("UPDATE pipeline_event SET seq = -seq WHERE job_id = %(job)s AND seq < 0", job=job_id)
    tamper(
        f"INSERT INTO pipeline_event (seq, {', '.join(columns)})"
        f" SELECT 4, {', '.join(columns)} FROM pipeline_event"
        " WHERE job_id = %(job)s AND seq = 3",
        job=job_id,
    )

    assert verify_job(job_id).first_bad_seq == 4


def test_two_rows_that_changed_places_are_noticed() -> None:
    job_id = eventful_job()

    swap = "UPDATE pipeline_event SET seq = %(to)s WHERE job_id = %(job)s AND seq = %(of)s"
    for of, to in ((4, -1), (5, 4), (-1, 5)):
        tamper(swap, job=job_id, of=of, to=to)

    assert verify_job(job_id).first_bad_seq == 4


def test_a_history_that_was_rewritten_as_a_whole_does_not_know_a_hash_noted_before() -> None:
    job_id = eventful_job()
    noted = (4, bytes(factories.events(job_id)[3].hash).hex())
    assert verify_job(job_id, noted=noted).known is True

    let_time_pass(job_id, 1)  # moves and chains the log anew, as a forger would

    verdict = verify_job(job_id, noted=noted)
    assert (verdict.chain, verdict.replay_matches, verdict.known) == ("ok", True, False)


@pytest.mark.parametrize("noted", [(4, "00" * 32), (4_000, "00" * 32), (0, "")])
def test_a_hash_that_was_never_given_out_is_not_known(noted: tuple[int, str]) -> None:
    assert verify_job(eventful_job(), noted=noted).known is False


def test_a_chain_survives_the_erasure_of_a_person_and_holds_nothing_personal() -> None:
    job_id = factories.job()
    person = factories.applicant(email="zoe.lovelace@example.org", name="Zoe Lovelace")
    application = factories.application(job_id, person)
    decision = {"outcome": Outcome.REJECTED, "reason": Reason.OTHER, "note": "was late twice"}
    remove(application_id=application.id, actor=factories.RECRUITER, **decision)

    log = json.dumps(list(Event.objects.filter(job_id=job_id).values()), default=str).lower()
    DecisionNote.objects.get(application_id=application.id, text="was late twice").delete()
    Applicant.objects.filter(id=person.id).update(email="erased", name="")
    Application.objects.filter(id=application.id).update(name="")

    assert not [word for word in ("zoe", "lovelace", "example.org", "late twice") if word in log]
    assert factories.events(job_id)[-1].data["reason"] == "OTHER"
    assert verify_job(job_id).is_sound


def test_a_cascade_reads_as_a_tree() -> None:
    job_id = factories.job(capacity=2, acknowledge_first_seat=True)
    holders, waiting = factories.applications(job_id, 2), factories.applications(job_id, 3)
    let_time_pass(job_id, factories.WINDOW)
    seq = factories.row_of(job_id).seq

    factories.settle_all()

    told = [(e.event, e.application_id, e.cause_seq) for e in factories.events(job_id, after=seq)]
    assert told == [
        ("DECAYED", holders[0].id, None),
        ("DECAYED", holders[1].id, None),
        ("PROMOTED", waiting[0].id, seq + 1),
        ("PROMOTED", waiting[1].id, seq + 2),
    ]


def test_who_did_it_stands_in_the_log() -> None:
    job_id = factories.job()
    person, other = factories.applications(job_id, 2)

    withdraw(application_id=person.id, actor=factories.owner_of(person))

    withdrawn, promoted = factories.events(job_id)[-2:]
    assert (withdrawn.actor_kind, withdrawn.actor_id) == ("APPLICANT", person.applicant_id)
    assert (promoted.actor_kind, promoted.actor_id) == ("SYSTEM", None)
    assert (promoted.application_id, promoted.cause_seq) == (other.id, withdrawn.seq)


def test_times_never_fall_even_if_the_clock_goes_back() -> None:
    job_id = factories.job()
    let_time_pass(job_id, -3_600)
    ahead = factories.row_of(job_id).last_event_at

    person = factories.application(job_id)

    assert factories.events(job_id)[-1].at == person.applied_at == ahead
    assert ahead - Application.objects.get(id=person.id).applied_at == timedelta()
    assert_line_is_sound(job_id)


def test_logs_of_two_jobs_do_not_touch() -> None:
    first, second = factories.job(), factories.job()
    factories.application(first)
    factories.application(second)

    tamper("UPDATE pipeline_event SET actor_id = %(who)s WHERE job_id = %(job)s AND seq = 3",
           job=first, who=uuid7())  # fmt: skip

    assert [verify_job(first).chain, verify_job(second).chain] == ["broken", "ok"]
