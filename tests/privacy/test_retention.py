"""Ended applications lose their personal data after their job's time, unless a hold says no."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from applicants import tokens
from applicants.models import Applicant
from jobs.errors import BadRetention
from jobs.models import Company, Retention
from pipeline.apps import PipelineConfig
from pipeline.domain.states import Outcome
from pipeline.models import Application, DecisionNote, DecisionText
from pipeline.privacy import retention
from pipeline.privacy.retention import _separate_people
from pipeline.services.leaving import remove
from tasks.models import Schedule
from tests.privacy.test_erase import traces
from tests.support import factories
from tests.support.handlers import Run
from tests.support.invariants import assert_line_is_sound
from tests.support.pages import page_of, text_of
from tests.support.sandboxes import DAY, advance, sandbox

pytestmark = pytest.mark.django_db(transaction=True)
EMAIL, NAME = "zelda.quill@example.org", "Zelda Quillfeather"


@pytest.fixture
def zelda() -> Applicant:
    """Return someone with a name of her own."""
    return factories.applicant(email=EMAIL, name=NAME)


def rejected(person: Applicant, job: UUID | None = None, *, days_ago: float = 800) -> Application:
    """Return an application that ended some days ago, with a note about it."""
    row = factories.application(job or factories.job(), person)
    remove(
        application_id=row.id,
        outcome=Outcome.REJECTED,
        actor=factories.RECRUITER,
        note=f"{NAME} was late",
    )
    ended = timezone.now() - timedelta(days=days_ago)
    Application.objects.filter(id=row.id).update(ended_at=ended)
    return row


def test_nothing_of_the_person_is_left_and_the_log_is_sound(zelda: Applicant) -> None:
    row = rejected(zelda)
    others = factories.applications(row.job_id, 2)

    erased = retention.erase_batch()

    assert erased == 1
    assert list(traces(EMAIL, NAME, "Quillfeather", "zelda")) == []
    assert factories.fresh(others[0]).name != "Erased person"
    factories_row = factories.fresh(row)
    assert (factories_row.name, factories_row.outcome) == ("Erased person", Outcome.REJECTED)
    assert factories_row.applicant.is_erased


def test_many_ends_of_one_job_hold_its_lock_for_no_more_statements_than_one() -> None:
    taken = []
    for people in (1, 12):
        job_id = factories.job(capacity=20)
        rows = [rejected(factories.applicant(), job_id) for _ in range(people)]
        due = [row.id for row in rows]
        with CaptureQueriesContext(connection) as queries:
            _separate_people(job_id, due)
        taken.append(len(queries))
        assert all(factories.fresh(row).applicant.is_erased for row in rows)
        assert len({factories.fresh(row).applicant_id for row in rows}) == people

    assert taken[0] == taken[1] <= 14


def test_a_lock_is_held_for_a_limited_number_of_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.privacy.retention.UNDER_ONE_LOCK", 2)
    job_id = factories.job(capacity=20)
    rows = [rejected(factories.applicant(), job_id) for _ in range(5)]

    with CaptureQueriesContext(connection) as queries:
        assert retention.erase_batch() == 5

    locks = [each["sql"] for each in queries if "FOR NO KEY UPDATE" in each["sql"]]
    assert len([sql for sql in locks if "jobs_job" in sql]) == 3
    assert all(factories.fresh(row).applicant.is_erased for row in rows)


@pytest.mark.parametrize(("days_ago", "erased"), [(729, 0), (731, 1)])
def test_a_job_without_a_setting_keeps_it_for_two_years(
    zelda: Applicant, days_ago: int, erased: int
) -> None:
    rejected(zelda, days_ago=days_ago)

    assert retention.erase_batch() == erased


@pytest.mark.parametrize(("days_ago", "erased"), [(59, 0), (61, 1)])
def test_a_job_keeps_it_as_long_as_its_owner_says(
    zelda: Applicant, days_ago: int, erased: int
) -> None:
    row = rejected(zelda, days_ago=days_ago)
    retention.set_period(job_id=row.job_id, keep_days=60, legal_hold=False)

    assert retention.erase_batch() == erased


@pytest.mark.parametrize(("days_moved", "erased"), [(700, 0), (731, 1), (1_500, 1)])
def test_in_a_sandbox_it_goes_by_its_clock(days_moved: int, erased: int) -> None:
    company = sandbox()
    job_id = factories.job(company_id=company.id)
    advance(company, 30 * DAY)
    row = factories.application(job_id, actor=factories.RECRUITER)
    remove(application_id=row.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    for step in (days_moved // 2, days_moved - days_moved // 2):
        for days in (step // 2, step - step // 2):
            advance(company, days * DAY)
    live = rejected(factories.applicant(), days_ago=1)

    assert retention.erase_batch() == erased

    assert factories.fresh(row).applicant.is_erased == bool(erased)
    assert not factories.fresh(live).applicant.is_erased


def test_a_legal_hold_stops_it_until_it_is_lifted(zelda: Applicant) -> None:
    row = rejected(zelda, days_ago=5_000)
    retention.set_period(job_id=row.job_id, keep_days=30, legal_hold=True)
    held = retention.erase_batch()

    retention.set_period(job_id=row.job_id, keep_days=30, legal_hold=False)

    assert held == 0
    assert retention.erase_batch() == 1


def test_a_live_application_is_kept_however_old(zelda: Applicant) -> None:
    row = factories.application(factories.job(), zelda)
    Application.objects.update(applied_at=timezone.now() - timedelta(days=5_000))

    assert retention.erase_batch() == 0
    assert factories.fresh(row).name == NAME


def test_what_another_job_keeps_stays_and_only_that(zelda: Applicant) -> None:
    old, young = rejected(zelda), rejected(zelda, days_ago=10)
    for row in (old, young):
        DecisionText.objects.create(application=row, seq=2, text="Sorry.")

    retention.erase_batch()

    zelda.refresh_from_db()
    assert zelda.email == EMAIL
    assert factories.fresh(old).applicant_id != zelda.id
    assert factories.fresh(young).applicant_id == zelda.id
    assert [note.application_id for note in DecisionNote.objects.all()] == [young.id]
    assert [text.application_id for text in DecisionText.objects.all()] == [young.id]


def test_a_person_with_a_token_in_use_stays_one(zelda: Applicant) -> None:
    rejected(zelda)
    tokens.issue(zelda)

    retention.erase_batch()

    zelda.refresh_from_db()
    assert zelda.email == EMAIL


def test_the_line_is_sound_afterwards_and_a_second_time_does_nothing(zelda: Applicant) -> None:
    row = rejected(zelda)
    ended_at = factories.events(row.job_id)[-1].at

    assert [retention.erase_batch(), retention.erase_batch()] == [1, 0]
    Application.objects.filter(id=row.id).update(ended_at=ended_at)
    assert_line_is_sound(row.job_id)


@pytest.mark.parametrize("days", [29, 3_651, 0, -1])
def test_there_is_a_least_and_a_most(days: int) -> None:
    with pytest.raises(BadRetention):
        retention.set_period(job_id=factories.job(), keep_days=days, legal_hold=False)


def test_the_task_does_it_every_night(zelda: Applicant) -> None:
    rejected(zelda)
    PipelineConfig.schedule_upkeep()

    assert Run("retention.people", {}, None).result == {"applications": 1}
    assert Schedule.objects.get(type_key="retention.people").cron == "20 3 * * *"


def test_an_owner_sets_it_on_the_settings_page(company: Company, owner: Client) -> None:
    job = factories.job(company_id=company.id)
    page = f"/company/jobs/{job}/retention/"

    before = page_of(owner, f"/company/jobs/{job}/settings/")
    saved = owner.post(page, {"keep_days": "90", "legal_hold": "on"}, follow=True)
    refused = owner.post(page, {"keep_days": "29"}, follow=True)

    assert "Days to keep personal data" in before
    assert "The change takes effect tonight" in text_of(saved) + saved.content.decode()
    assert "Enter 30 to 3,650 days" in refused.content.decode()
    kept = Retention.objects.get(job_id=job)
    assert (kept.keep_days, kept.legal_hold) == (90, True)


def test_others_see_it_and_cannot_change_it(
    company: Company, recruiter: Client, stranger: Client
) -> None:
    job = factories.job(company_id=company.id)
    page, form = f"/company/jobs/{job}/retention/", {"keep_days": "90"}

    settings = page_of(recruiter, f"/company/jobs/{job}/settings/")
    assert "Kept for 730 days after an application has ended" in settings
    assert recruiter.post(page, form).status_code == 403
    assert stranger.post(page, form).status_code == 404
    assert not Retention.objects.exists()


def test_a_hold_set_meanwhile_counts(zelda: Applicant, monkeypatch: Any) -> None:
    """Given a hold that is set between the look and the lock, when the turn comes, nothing goes."""
    from pipeline.privacy import retention as module

    row = rejected(zelda)
    lock = module.lock_job

    def hold_first(job_id: UUID) -> Any:
        retention.set_period(job_id=job_id, keep_days=30, legal_hold=True)
        return lock(job_id)

    monkeypatch.setattr(module, "lock_job", hold_first)
    retention.erase_batch()

    assert factories.fresh(row).name == NAME
