"""The language in which someone applies is kept with the application, for emails about it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core import mail
from django.test import Client
from django.utils import timezone
from django.utils.translation import get_language

from applicants.models import Applicant
from applicants.people import remember_browser, remember_language
from jobs.models import Company, JobPosting
from pipeline.domain.states import Outcome
from pipeline.models import Application
from pipeline.notifications.applicants import in_their_language
from pipeline.privacy import retention
from pipeline.privacy.erase import erase_person
from pipeline.privacy.my_data import collect
from pipeline.services.joining import apply
from tests.support import factories, pseudo_language
from tests.support.applicants import applicant_browser, decide
from tests.support.callers import Caller, person, pointers
from tests.support.round_trips import round_trips_of

pytestmark = pytest.mark.django_db(transaction=True)

ANN = {"name": "Ann", "email": "ann@example.org"}


@pytest.fixture
def job(company: Company) -> UUID:
    """A job with one seat."""
    return factories.job(company_id=company.id)


def the_language() -> str:
    return Application.objects.get().language


def used_for(row: Application) -> str:
    """Return the language of emails about an application, as it is stored now."""
    with in_their_language(Application.objects.get(id=row.id)):
        return str(get_language())


def test_a_page_keeps_the_language_in_which_it_was_read(job: UUID) -> None:
    Client(headers={"accept-language": "de"}).post(f"/jobs/{job}/apply/", ANN)

    assert the_language() == "de"


def test_a_signed_in_person_applies_in_the_language_of_the_page(job: UUID) -> None:
    browser = applicant_browser(factories.applicant())

    browser.post(f"/jobs/{job}/apply/", {"name": "Ana"}, headers={"accept-language": "pl"})

    assert the_language() == "pl"


def test_a_page_that_takes_an_application_over_renews_the_language(job: UUID) -> None:
    known = factories.applicant()
    how = {"job_id": job, "applicant_id": known.id, "actor": factories.as_applicant(known.id)}
    apply(**how, name="Ana", verified=False, language="pl")

    apply(**how, name="Ana", language="de")
    kept = the_language()
    Application.objects.update(language="pl", verify_by=None)

    assert (kept, Application.objects.get().name) == ("de", "Ana")


def test_an_unknown_language_leaves_the_known_one(job: UUID) -> None:
    known = factories.applicant()
    how = {"job_id": job, "applicant_id": known.id, "actor": factories.as_applicant(known.id)}
    apply(**how, name="Ana", verified=False, language="pl")

    apply(**how, name="Ana B")

    assert Application.objects.values_list("name", "language").get() == ("Ana B", "pl")


def test_taking_over_in_another_language_takes_as_many_round_trips_as_under_another_name() -> None:
    def trips(**then: str) -> int:
        known, job = factories.applicant(), factories.job()
        how: dict[str, Any] = {
            "job_id": job,
            "applicant_id": known.id,
            "actor": factories.as_applicant(known.id),
        }
        apply(**how, name="Ana", verified=False, language="pl")
        return round_trips_of(lambda: apply(**how, **then))

    renamed = trips(name="Ana B", language="pl")

    assert trips(name="Ana B", language="de") == renamed
    assert trips(name="Ana", language="pl") == renamed - 1


def test_the_api_keeps_the_language_that_is_named(job: UUID, acme: Caller) -> None:
    _applicant, caller = person()
    path = f"/jobs/{job}/applications"

    answers = [
        caller.post(path, {"language": "uk"}),
        acme.post(path, {"name": "Ben", "email": "ben@example.org", "language": "tr"}),
        Caller().post(path, ANN | {"language": "de"}),
        acme.post(path, {"name": "Cy", "email": "cy@example.org"}),
    ]

    assert [answer.status_code for answer in answers] == [201, 201, 202, 201]
    kept = Application.objects.order_by("id").values_list("language", flat=True)
    assert list(kept) == ["uk", "tr", "de", ""]
    assert "Bewerbung" in mail.outbox[-1].body  # with the code


@pytest.mark.parametrize("language", ["xx", "DE", "", "de-AT", 3, None])
def test_the_api_refuses_a_language_that_is_not_offered(
    job: UUID, acme: Caller, language: object
) -> None:
    _applicant, caller = person()
    path = f"/jobs/{job}/applications"
    named = {"language": language}

    answers = [
        caller.post(path, named),
        acme.post(path, ANN | named),
        Caller().post(path, ANN | named),
    ]

    assert [answer.status_code for answer in answers] == [400, 400, 400]
    assert [pointers(answer) for answer in answers] == [["/language"]] * 3
    assert not Application.objects.exists()


def test_emails_choose_by_person_then_application_then_browser_then_job(
    settings: Any, job: UUID
) -> None:
    pseudo_language.install()
    settings.LANGUAGES = [*settings.LANGUAGES, *pseudo_language.NAMES.items()]
    row = factories.application(job)
    found = [used_for(row)]

    JobPosting.objects.filter(job_id=job).update(language="qps")
    found.append(used_for(row))
    remember_browser(row.applicant_id, zone="UTC", language="tr")
    found.append(used_for(row))
    Application.objects.filter(id=row.id).update(language="pl")
    found.append(used_for(row))
    remember_language(row.applicant_id, "de")
    found.append(used_for(row))

    assert found == ["en", "qps", "tr", "pl", "de"]


def test_a_download_names_the_language(job: UUID) -> None:
    row = factories.application(job)
    Application.objects.filter(id=row.id).update(language="pl")

    data = collect(Applicant.objects.get(id=row.applicant_id))

    assert data["applications"][0]["language"] == "pl"


def test_erasure_and_the_end_of_retention_take_the_language_away(job: UUID) -> None:
    erased, ended = factories.applications(job, 2)
    Application.objects.update(language="pl")
    decide(ended, Outcome.REJECTED)
    Application.objects.filter(id=ended.id).update(ended_at=timezone.now() - timedelta(days=800))

    erase_person(applicant_id=erased.applicant_id)
    retention.erase_batch()

    assert {factories.fresh(row).language for row in (erased, ended)} == {""}
