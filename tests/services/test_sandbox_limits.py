"""A full sandbox: nobody is admitted or promoted any more, and everyone can still leave."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from applicants.models import Applicant
from jobs.models import Company
from pipeline.audit.verify import verify_job
from pipeline.domain.errors import SandboxFull, TooManyAdvances
from pipeline.domain.states import Outcome
from pipeline.files.imports.admitting import count_remaining_rows
from pipeline.line import settle as line_settle
from pipeline.models import Application, ClockAdvance, ImportRun
from pipeline.pages.applicant.data import BUSY
from pipeline.privacy.erase import erase_person
from pipeline.review.decisions import TASK
from pipeline.services import jobs
from pipeline.services.jobs import close_job, delete_draft
from pipeline.services.leaving import remove
from tests.files.imports.files import as_csv, imported, people
from tests.support import factories
from tests.support.applicants import applicant_browser
from tests.support.decisions import made, states
from tests.support.invariants import assert_line_is_sound
from tests.support.sandboxes import DAY, HOUR, advance, line_with_offers, sandbox
from tests.support.task_runs import let_tasks_wait, make_retries_due, run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)
MOST_EVENTS = 30


@pytest.fixture
def company(monkeypatch: pytest.MonkeyPatch) -> Company:
    monkeypatch.setattr(line_settle, "MOST_SANDBOX_EVENTS", MOST_EVENTS)
    monkeypatch.setattr("pipeline.audit.verify.MOST_SANDBOX_EVENTS", MOST_EVENTS)
    return sandbox()


@pytest.fixture
def full(company: Company) -> tuple[UUID, list[Application]]:
    """Return a full job with three seats: one confirmed, two that were offered over and over."""
    policy = {"acknowledgment_window_seconds": 60, "cooldown_seconds": 1, "max_decays": None}
    job_id, found = line_with_offers(company, people=4, seats=2, **policy)
    advance(company, 300 * DAY)
    with pytest.raises(SandboxFull):
        factories.application(job_id, actor=factories.RECRUITER)
    return job_id, found


@pytest.fixture
def behind(company: Company, monkeypatch: pytest.MonkeyPatch) -> tuple[UUID, list[Application]]:
    """Return a job that is still being settled up to a clock that was moved."""
    monkeypatch.setattr(line_settle, "MOST_INSTANTS", 1)
    monkeypatch.setattr("pipeline.services.sandboxes.MOST_SLICES", 1)
    policy = {"acknowledgment_window_seconds": HOUR, "max_decays": 0}
    found = line_with_offers(company, people=9, **policy)
    advance(company, 6 * HOUR)
    return found


def test_a_person_in_a_full_job_is_erased(full: tuple[UUID, list[Application]]) -> None:
    job_id, found = full
    person = found[0].applicant
    live = factories.application(factories.job(), person)

    assert erase_person(applicant_id=person.id) == 2

    assert factories.statuses(found[0], live) == ["WITHDRAWN", "WITHDRAWN"]
    assert Applicant.objects.get(id=person.id).is_erased
    assert verify_job(job_id).is_sound


def test_people_are_removed_from_a_full_job_and_nobody_is_promoted(
    full: tuple[UUID, list[Application]],
) -> None:
    job_id, found = full
    names = factories.event_names(job_id)

    for each in found[:3]:
        remove(application_id=each.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)

    assert factories.event_names(job_id)[len(names) :] == ["REMOVED"] * 3
    assert verify_job(job_id).is_sound


def test_a_full_job_is_closed_and_closed_out(full: tuple[UUID, list[Application]]) -> None:
    job_id, found = full

    close_job(job_id=job_id, actor=factories.RECRUITER)
    factories.settle_all()

    assert factories.statuses(*found) == ["JOB_CLOSED"] * 4
    assert_line_is_sound(job_id)


def test_while_a_clock_moves_an_erasure_says_busy_and_gives_up_no_live_seat(
    behind: tuple[UUID, list[Application]],
) -> None:
    person = behind[1][-1].applicant
    older = UUID(int=1)  # than the one in the sandbox
    live = factories.application(factories.job(), person, application_id=older)
    browser: Client = applicant_browser(person)

    page = browser.post("/me/data/erase/", {"sure": "on"}, follow=True).content.decode()

    assert str(BUSY) in page
    assert factories.status_of(live) == "ACTIVE"
    factories.settle_all()
    browser.post("/me/data/erase/", {"sure": "on"})
    assert Applicant.objects.get(id=person.id).is_erased


@pytest.mark.parametrize("delay", [0, 10])
def test_a_decision_is_carried_out_after_the_clock_has_moved(
    delay: int, behind: tuple[UUID, list[Application]], settings: Any
) -> None:
    settings.DECISION_UNDO_SECONDS = delay
    job_id, found = behind
    decision = made(job_id, found[-1].name)
    let_tasks_wait(DAY)
    run_due_tasks(TASK)
    assert states(decision) == ["WAITING"]

    factories.settle_all()
    make_retries_due()
    run_due_tasks(TASK)

    assert states(decision) == ["DONE"]
    assert factories.status_of(found[-1]) == "REJECTED"


def test_an_import_into_a_full_job_ends(full: tuple[UUID, list[Application]]) -> None:
    run = imported(full[0], as_csv(people(5)))

    assert (run.ending, run.accepted) == (ImportRun.Ending.JOB_FULL, 0)
    assert (run.finished_at is None, count_remaining_rows(run)) == (False, 5)


def test_a_clock_is_moved_only_so_often(company: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.services.sandboxes.MOST_ADVANCES", 2)
    factories.job(company_id=company.id)
    last = [advance(company, 1) for _ in range(2)][-1]

    with pytest.raises(TooManyAdvances):
        advance(company, 1)

    assert advance(company, 1, advance_id=last.id) == last
    assert ClockAdvance.objects.filter(company_id=company.id).count() == 2
    assert advance(sandbox(), 1).seconds == 1  # another's is counted by itself


def test_a_sandbox_has_few_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_SANDBOX_JOBS", 2)
    company = sandbox()
    for _ in range(2):
        factories.job(company_id=company.id)

    with pytest.raises(SandboxFull):
        factories.job(company_id=company.id)


def test_a_deleted_draft_makes_room_for_another_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MOST_SANDBOX_JOBS", 1)
    company = sandbox()
    draft = factories.job(company_id=company.id, open_now=False)
    delete_draft(job_id=draft, actor=factories.RECRUITER)

    assert factories.job(company_id=company.id)
    advance(company, 60)
