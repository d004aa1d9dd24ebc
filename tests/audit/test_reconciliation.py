"""Every difference between the live rows and the log is noticed."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.db import connection, transaction

from pipeline.audit.verify import verify_job
from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.errors import JobNotFound
from pipeline.models import Application, Contest, PlannedSeats
from pipeline.services.contests import answer_contest, contest
from pipeline.services.jobs import close_job
from pipeline.services.joining import apply
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.contests import rejected_application
from tests.support.planned_seats import WEEK, job_with_skipped_change, planned

pytestmark = pytest.mark.django_db(transaction=True)

JOB = {
    "status": "'PAUSED'",
    "capacity": "capacity + 1",
    "active_count": "active_count + 1",
    "pending_count": "pending_count + 1",
    "waitlist_count": "waitlist_count + 1",
    "unverified_count": "unverified_count + 1",
    "next_ticket": "next_ticket + 1",
    "head_ticket": "next_ticket",
    "last_event_at": "last_event_at + interval '1 second'",
    "next_due_at": "NULL",
    "policy_version": "policy_version + 1",
    "acknowledgment_window_seconds": "61",
    "acknowledge_first_seat": "NOT acknowledge_first_seat",
    "penalty_places": "penalty_places + 1",
    "max_decays": "NULL",
    "cooldown_seconds": "61",
    "opened_at": "opened_at + interval '1 second'",
    "closed_at": "opened_at",
}
WAITING = {
    "ticket": "ticket + 100",
    "tie": "tie + 1",
    "decay_count": "decay_count + 1",
    "eligible_at": "eligible_at - interval '1 second'",
    "applied_at": "applied_at - interval '1 second'",
    "not_before": "applied_at",
    "accept_until": "applied_at",
    "promoted_at": "NULL",
    "verify_by": "applied_at",
    "acknowledged_at": "applied_at",
    "status_since": "status_since - interval '1 second'",
}
PENDING = {
    "acknowledge_by": "acknowledge_by + interval '1 second'",
    "deadline_extended": "NOT deadline_extended",
}


def job_with_all_kinds() -> UUID:
    """One seat on offer, and two who wait, one of them after a miss."""
    job_id = factories.job(acknowledge_first_seat=True)
    factories.applications(job_id, 3)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    return job_id


def tamper(table: str, column: str, value: str, where: str, job_id: UUID) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {column} = {value} WHERE {where}", [job_id])
        assert cursor.rowcount == 1


@pytest.mark.parametrize("column", JOB)
def test_a_job_row_that_disagrees_with_the_log_is_noticed(column: str) -> None:
    job_id = job_with_all_kinds()
    assert verify_job(job_id).is_sound

    tamper("jobs_job", column, JOB[column], "id = %s", job_id)

    verdict = verify_job(job_id)
    assert (verdict.chain, verdict.replay_matches) == ("ok", False)
    assert [d for d in verdict.differences if column in d]


@pytest.mark.parametrize("column", WAITING)
def test_a_waiting_person_who_disagrees_with_the_log_is_noticed(column: str) -> None:
    job_id = job_with_all_kinds()

    where = "job_id = %s AND status = 'WAITLIST' AND decay_count = 1"
    tamper("pipeline_application", column, WAITING[column], where, job_id)

    assert [d for d in verify_job(job_id).differences if f": {column} " in d]


@pytest.mark.parametrize("column", PENDING)
def test_a_pending_person_who_disagrees_with_the_log_is_noticed(column: str) -> None:
    job_id = job_with_all_kinds()

    where = "job_id = %s AND status = 'PENDING_ACKNOWLEDGMENT'"
    tamper("pipeline_application", column, PENDING[column], where, job_id)

    assert [d for d in verify_job(job_id).differences if f": {column} " in d]


def test_an_ended_person_who_disagrees_with_the_log_is_noticed() -> None:
    job_id = job_with_all_kinds()
    close_job(job_id=job_id, actor=factories.RECRUITER)
    factories.settle_all()
    assert verify_job(job_id).is_sound

    where = "id = (SELECT min(id::text)::uuid FROM pipeline_application WHERE job_id = %s)"
    tamper("pipeline_application", "outcome", "'HIRED'", where, job_id)

    assert [d for d in verify_job(job_id).differences if ": outcome " in d]


def test_a_person_whom_the_log_does_not_know_is_noticed() -> None:
    job_id, other = job_with_all_kinds(), factories.job()
    person = factories.application(other)

    tamper("pipeline_application", "job_id", f"'{job_id}'", "job_id = %s", other)

    assert f"application {person.id}: only in the rows" in verify_job(job_id).differences
    assert f"application {person.id}: only in the log" in verify_job(other).differences


def test_every_person_whom_only_the_log_knows_is_named() -> None:
    job_id, other = job_with_all_kinds(), factories.job()
    people = Application.objects.filter(job_id=job_id)
    gone = [each.id for each in people.order_by("id")[:2]]
    people.filter(id__in=gone).update(job_id=other)

    found = verify_job(job_id).differences

    assert found[:2] == [f"application {each}: only in the log" for each in gone]


def an_unverified_person(job_id: UUID) -> None:
    person = factories.applicant()
    actor = factories.as_applicant(person.id)
    apply(job_id=job_id, applicant_id=person.id, name="Ann", actor=actor, verified=False)


def test_the_count_of_unverified_people_is_compared() -> None:
    job_id = job_with_all_kinds()
    for _ in range(2):
        an_unverified_person(job_id)
    assert factories.row_of(job_id).unverified_count == 2
    assert verify_job(job_id).is_sound

    tamper("jobs_job", "unverified_count", "1", "id = %s", job_id)

    assert "job: unverified_count is 1, the log says 2" in verify_job(job_id).differences


def test_an_unknown_job_is_named_as_such() -> None:
    with pytest.raises(JobNotFound):
        verify_job(factories.applicant().id)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("answer", "''"),
        ("answer", "'CHANGED'"),
        ("reason", "'NO_PLACE_LEFT'"),
        ("answer_seq", "seq"),
        ("answered_at", "NULL"),
        ("answered_by", "NULL"),
        ("answer_by", "answer_by + interval '1 day'"),
        ("asked_at", "asked_at + interval '1 day'"),
        ("contested_seq", "seq"),
        ("seq", "seq - 1"),
        ("id", "'01a20e2a-0000-7000-8000-000000000000'"),
    ],
)
def test_a_contest_that_disagrees_with_the_log_is_noticed(column: str, value: str) -> None:
    row = rejected_application()
    asked = contest(application_id=row.id, text="Why?", actor=factories.owner_of(row))
    how = {"answer": ContestAnswer.UPHELD, "reason": ContestReason.DECISION_STANDS}
    who = {"application_id": row.id, "actor": factories.RECRUITER}
    answer_contest(contest_id=asked.id, **who, **how)
    assert verify_job(row.job_id).is_sound

    tamper("pipeline_contest", column, value, "job_id = %s", row.job_id)

    verdict = verify_job(row.job_id)
    assert (verdict.chain, verdict.replay_matches) == ("ok", False)
    said = "only in the rows" if column == "id" else f"contest {asked.id}: {column} is"
    assert [each for each in verdict.differences if said in each]


def test_an_open_contest_whose_row_is_gone_is_noticed() -> None:
    row = rejected_application()
    asked = contest(application_id=row.id, text="Why?", actor=factories.owner_of(row))
    assert verify_job(row.job_id).is_sound

    Contest.objects.filter(id=asked.id).delete()

    said = [f"contest {asked.id}: open in the log, and not in the rows"]
    assert verify_job(row.job_id).differences == said


@pytest.mark.parametrize(
    ("column", "value", "says"),
    [
        ("done", "done + 1", "next_at"),
        ("done", "done - 1", "not yet"),
        ("seats", "seats + 1", "by the plan"),
        ("next_at", "next_at + interval '1 second'", "next_at"),
        ("first_at", "first_at - interval '1 second'", "not yet"),
        ("done, next_at", "(done + 1, next_at + interval '7 days')", "the log has 2 changes"),
    ],
)
def test_planned_seats_that_disagree_with_the_log_are_noticed(
    column: str, value: str, says: str
) -> None:
    job_id = factories.job(capacity=2)
    plan = planned(job_id, 1, times=5)
    let_time_pass(job_id, WEEK + 700)
    factories.settle_all()
    assert verify_job(job_id).is_sound

    names = f"({column})" if "," in column else column
    tamper("pipeline_plannedseats", names, value, "job_id = %s", job_id)

    verdict = verify_job(job_id)
    assert (verdict.chain, verdict.replay_matches) == ("ok", False)
    assert [d for d in verdict.differences if str(plan.id) in d and says in d]


def test_a_change_of_planned_seats_that_a_limit_left_out_is_no_difference() -> None:
    job_id = factories.job(capacity=4)
    plan = planned(job_id, -1, times=3)
    factories.alter(job_id, capacity=2)
    for _ in range(2):
        let_time_pass(job_id, WEEK)
        factories.settle_all()

    assert factories.row_of(job_id).capacity == 1
    assert PlannedSeats.objects.get(id=plan.id).done == 2
    factories.alter(job_id, capacity=10)
    assert verify_job(job_id).is_sound


def test_a_change_of_planned_seats_that_no_limit_left_out_is_missed() -> None:
    job_id = factories.job(capacity=7)
    plan = planned(job_id, -1, times=5)
    let_time_pass(job_id, 700)
    factories.settle_all()

    done = "(done + 1, next_at + interval '7 days')"
    tamper("pipeline_plannedseats", "(done, next_at)", done, "job_id = %s", job_id)

    said = f"planned seats {plan.id}: done is 2, the log has 1 changes by it"
    assert said in verify_job(job_id).differences


def test_a_skipped_change_that_the_plan_does_not_make_is_noticed() -> None:
    job_id = factories.job(capacity=4)
    plan = job_with_skipped_change(job_id)
    assert verify_job(job_id).is_sound

    tamper("pipeline_plannedseats", "seats", "-3", "job_id = %s", job_id)

    [said] = verify_job(job_id).differences
    assert said.startswith(f"planned seats {plan.id}: seq ")
    assert said.endswith("skipped a change that the plan does not make, or not yet")
