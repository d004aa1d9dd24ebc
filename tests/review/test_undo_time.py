"""How long a company's decisions wait, and what happens to one in the meantime."""

from __future__ import annotations

import logging
from uuid import UUID

import pytest
from django.core import mail
from django.db import IntegrityError, transaction

from jobs.companies import UndoTimes, set_undo_times
from jobs.models import Company
from pipeline.domain.states import Outcome
from pipeline.models import Event, PendingDecision
from pipeline.privacy.erase import erase_person
from pipeline.review import decisions
from pipeline.review.decisions import TASK
from pipeline.services.jobs import close_job, pause_job
from tests.support import factories
from tests.support.applicants import leave, named
from tests.support.decisions import made, removals, states
from tests.support.invariants import assert_line_is_sound
from tests.support.task_runs import let_tasks_wait, run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)

REMOVAL, HIRING = 1_200, 40


@pytest.fixture
def _times(company: Company) -> None:
    seconds = {"undo_removal_seconds": REMOVAL, "undo_hiring_seconds": HIRING}
    set_undo_times(company_id=company.id, seconds=seconds, by=None)


def wait_of(decision: PendingDecision) -> float:
    return (decision.due_at - decision.created_at).total_seconds()


def carried_out(job: UUID, seconds: int) -> list[str]:
    """Let time pass for the tasks; return what the log then says of the people decided on."""
    let_tasks_wait(seconds)
    run_due_tasks(TASK)
    ended = Event.objects.filter(job_id=job, event="REMOVED").order_by("seq")
    return [str(each.outcome) for each in ended]


@pytest.mark.usefixtures("_times")
def test_each_kind_of_decision_waits_as_long_as_its_company_says(job: UUID) -> None:
    rejected = made(job, "Ana Li")
    removed = made(job, "Cy Okafor", outcome=Outcome.REMOVED)
    hired = made(job, "Bo Berg", outcome=Outcome.HIRED)

    waits = [wait_of(each) for each in (rejected, removed, hired)]

    assert waits == pytest.approx([REMOVAL, REMOVAL, HIRING], abs=5)
    assert carried_out(job, HIRING) == ["HIRED"]
    assert carried_out(job, REMOVAL - HIRING) == ["HIRED", "REJECTED", "REMOVED"]
    assert_line_is_sound(job)


def test_a_company_that_has_not_chosen_waits_as_long_as_the_site_says(
    company: Company, undo_seconds: int, job: UUID
) -> None:
    seconds: dict[str, int | None] = {"undo_removal_seconds": 600}
    set_undo_times(company_id=company.id, seconds=seconds, by=None)
    company.refresh_from_db()
    assert UndoTimes.of(company) == (600, undo_seconds)

    set_undo_times(company_id=company.id, seconds={"undo_removal_seconds": None}, by=None)

    assert wait_of(made(job, "Ana Li")) == pytest.approx(undo_seconds, abs=5)


@pytest.mark.usefixtures("_times")
def test_a_decision_keeps_its_time_when_the_setting_changes(company: Company, job: UUID) -> None:
    decision = made(job, "Ana Li")
    seconds: dict[str, int | None] = {"undo_removal_seconds": 10}

    set_undo_times(company_id=company.id, seconds=seconds, by=None)

    decision.refresh_from_db()
    assert wait_of(decision) == pytest.approx(REMOVAL, abs=5)
    assert carried_out(job, 10) == []
    assert carried_out(job, REMOVAL - 10) == ["REJECTED"]


@pytest.mark.parametrize("seconds", [0, 9, 3_601])
def test_no_company_waits_shorter_or_longer_than_allowed(company: Company, seconds: int) -> None:
    for field in ("undo_removal_seconds", "undo_hiring_seconds"):
        with pytest.raises(IntegrityError), transaction.atomic():
            set_undo_times(company_id=company.id, seconds={field: seconds}, by=None)


def test_a_change_of_the_time_is_logged_for_security(
    company: Company, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "security"):
        set_undo_times(company_id=company.id, seconds={"undo_hiring_seconds": 30}, by=company.id)

    [record] = [each for each in caplog.records if each.message == "undo_time.changed"]
    about = vars(record)
    assert (about["company"], about["by"], about["undo_hiring_seconds"]) == (
        str(company.id),
        str(company.id),
        30,
    )


@pytest.mark.usefixtures("_times")
def test_until_it_takes_effect_nobody_is_told_and_the_seat_stays_taken(
    job: UUID, settings: pytest.FixtureRequest
) -> None:
    settings.NOTIFY = True  # type: ignore[attr-defined]
    run_due_tasks()
    mail.outbox.clear()
    made(job, "Ana Li")

    let_tasks_wait(REMOVAL - 1)
    run_due_tasks()

    assert mail.outbox == []
    assert factories.statuses(named(job, "Ana Li"), named(job, "Cy Okafor")) == [
        "ACTIVE",
        "WAITLIST",
    ]
    let_tasks_wait(1)
    run_due_tasks()
    run_due_tasks()
    told = [message.to[0] for message in mail.outbox]
    people = [named(job, name).applicant.email for name in ("Ana Li", "Cy Okafor")]
    assert sorted(told) == sorted(people)  # that it ended, and that it is their turn


@pytest.mark.usefixtures("_times")
def test_in_a_job_that_was_paused_meanwhile_the_seat_stays_free(job: UUID) -> None:
    made(job, "Ana Li")
    pause_job(job_id=job, actor=factories.RECRUITER)

    assert carried_out(job, REMOVAL) == ["REJECTED"]

    assert factories.status_of(named(job, "Cy Okafor")) == "WAITLIST"
    assert_line_is_sound(job)


@pytest.mark.usefixtures("_times")
def test_in_a_job_that_was_closed_meanwhile_only_people_in_review_are_decided_on(
    job: UUID,
) -> None:
    decision = made(job, "Ana Li", "Cy Okafor")
    close_job(job_id=job, actor=factories.RECRUITER)
    factories.settle_all()

    assert carried_out(job, REMOVAL) == ["REJECTED"]

    assert states(decision) == ["DONE", "REFUSED"]
    assert factories.status_of(named(job, "Cy Okafor")) == "JOB_CLOSED"


@pytest.mark.usefixtures("_times")
def test_people_who_leave_or_are_erased_meanwhile_are_named_as_refused(job: UUID) -> None:
    decision = made(job, "Ana Li", "Bo Berg", "Dee Rao", note="Not now.")
    ana, bo = named(job, "Ana Li"), named(job, "Bo Berg")
    leave(ana)
    erase_person(applicant_id=bo.applicant_id)

    carried_out(job, REMOVAL)

    decision.refresh_from_db()
    assert (states(decision), decision.note) == (["REFUSED", "REFUSED", "DONE"], "")
    assert factories.statuses(ana, bo) == ["WITHDRAWN", "WITHDRAWN"]
    assert_line_is_sound(job)


@pytest.mark.usefixtures("_times")
def test_somebody_who_is_offered_a_seat_meanwhile_is_decided_on_all_the_same(job: UUID) -> None:
    made(job, "Cy Okafor")
    leave(named(job, "Ana Li"))
    assert factories.status_of(named(job, "Cy Okafor")) == "PENDING_ACKNOWLEDGMENT"

    assert carried_out(job, REMOVAL) == ["REJECTED"]

    assert factories.status_of(named(job, "Dee Rao")) == "PENDING_ACKNOWLEDGMENT"
    assert_line_is_sound(job)


@pytest.mark.usefixtures("_times")
def test_the_last_position_waits_too_and_can_be_undone(company: Company) -> None:
    job = factories.job(company_id=company.id, hiring={"positions_to_fill": 1})
    person, waiting = factories.applications(job, 2)
    decision = decisions.make(
        decision_id=person.id,
        job_id=job,
        application_ids=[person.id],
        outcome=Outcome.HIRED,
        actor=factories.RECRUITER,
        close_job=True,
    )
    assert factories.row_of(job).status == "OPEN"

    undone = decisions.undo(decision_id=decision.id, job_id=job, actor=factories.RECRUITER)

    assert (undone, carried_out(job, HIRING)) == (1, [])
    assert factories.row_of(job).status == "OPEN"
    assert factories.status_of(waiting) == "WAITLIST"


@pytest.mark.usefixtures("_times")
def test_undone_a_second_before_it_never_happens(job: UUID) -> None:
    decision = made(job, "Ana Li")
    let_tasks_wait(REMOVAL - 1)
    run_due_tasks(TASK)

    decisions.undo(decision_id=decision.id, job_id=job, actor=factories.RECRUITER)

    assert carried_out(job, 1) == []
    assert removals(job) == 0
