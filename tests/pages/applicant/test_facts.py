"""The public facts about a job's line, as a page and over the API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.cache import caches
from django.test import Client

from pipeline.domain.states import Outcome, Reason, ReinstatementReason
from pipeline.figures import job as public_facts
from pipeline.models import Application
from pipeline.services.leaving import reinstate
from pipeline.services.turns import extend_deadline, extend_offer
from tests.support import factories
from tests.support.applicants import applicant_browser, decide, leave
from tests.support.callers import Caller
from tests.support.clock import let_time_pass
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _fresh() -> Any:
    caches["local"].clear()
    yield
    caches["local"].clear()


@pytest.fixture
def job() -> UUID:
    """A job in which five people were rejected, one removed, one missed and got the place back."""
    job_id = factories.job(capacity=1)
    people = factories.applications(job_id, 9)
    for person in people[3:8]:
        decide(person, Outcome.REJECTED, reason=Reason.NOT_A_MATCH)
    decide(people[8], Outcome.REMOVED)
    leave(people[0])
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    missed = Application.objects.get(job_id=job_id, decay_count=1)
    reinstate(
        application_id=missed.id,
        reason=ReinstatementReason.ACCOMMODATION,
        actor=factories.RECRUITER,
    )
    factories.alter(job_id, capacity=2)
    return job_id


def test_programs_read_counts_that_point_at_nobody(job: UUID) -> None:
    facts = Caller().get(f"/jobs/{job}/facts").json()

    assert facts["removals_by_reason"] == {"NONE": None, "NOT_A_MATCH": 5}
    assert facts["reinstatements_by_reason"] == {"ACCOMMODATION": None}
    assert (facts["missed_count"], facts["withdrawn_count"]) == (None, None)
    assert (facts["confirmed_count"], facts["capacity_changes"]) == (0, 1)
    assert facts["counted_events"] == factories.row_of(job).seq


def test_everybody_reads_the_page_and_caches_may_keep_it(job: UUID) -> None:
    page = Client().get(f"/jobs/{job}/facts/")

    text = text_of(page)
    assert "fewer than 5" in text
    assert "The rules, version 1" in text
    assert "Person " not in text
    assert "public" in page["Cache-Control"]
    assert "Rules and facts of this line" in text_of(Client().get(f"/jobs/{job}/"))


def test_no_cache_keeps_the_page_of_somebody_who_is_signed_in(job: UUID) -> None:
    page = applicant_browser(factories.applicant()).get(f"/jobs/{job}/facts/")

    assert "public" not in page["Cache-Control"]
    assert "no-store" in page["Cache-Control"]


def test_a_long_log_is_counted_from_its_end(job: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_facts, "MOST_EVENTS", 2)

    facts = Caller().get(f"/jobs/{job}/facts").json()

    assert facts["counted_events"] == 2
    assert facts["removals_by_reason"] == {}


def test_a_draft_has_no_public_facts() -> None:
    draft = factories.job(open_now=False)

    assert Client().get(f"/jobs/{draft}/facts/").status_code == 404
    assert Caller().get(f"/jobs/{draft}/facts").status_code == 404


def test_a_job_in_which_nothing_happened_has_facts() -> None:
    assert "None yet" in text_of(Client().get(f"/jobs/{factories.job()}/facts/"))


def test_the_page_counts_the_deadlines_that_the_company_extended() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person = factories.application(job_id)
    for _ in range(5):
        deadline = factories.fresh(person).acknowledge_by
        assert deadline is not None
        until = deadline + timedelta(minutes=1)
        extend_offer(application_id=person.id, acknowledge_by=until, actor=factories.RECRUITER)
    extend_deadline(application_id=person.id, seconds=60)  # the system is not counted

    page = text_of(Client().get(f"/jobs/{job_id}/facts/"))

    assert "Deadlines extended by the company 5" in page
