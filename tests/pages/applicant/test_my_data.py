"""Applicants' view of their stored data, and erasing it."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from applicants import tokens
from applicants.models import Applicant
from jobs.models import Company
from pipeline.domain.states import Outcome, Reason
from pipeline.models import DecisionNote, Event
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.applicants import applicant_browser
from tests.support.history import History, page


@pytest.fixture
def bo(past: History) -> Client:
    return applicant_browser(factories.fresh(past.bo).applicant)


def test_who_is_not_signed_in_signs_in_first(transactional_db: None) -> None:
    for address in ("/me/data/", "/me/data/download/", "/me/data/erase/"):
        assert Client().get(address).status_code == 302
        assert Client().post(address).status_code in (302, 405)


def test_the_page_tells_what_is_kept(bo: Client, past: History) -> None:
    text = bo.get("/me/data/").content.decode()

    assert factories.fresh(past.bo).applicant.email in text
    assert "Bo &lt;Berg&gt;" in text
    assert "Ana Li" not in text


@pytest.mark.parametrize("address", ["/me/data/", "/privacy/", "/me/data/erase/"])
def test_pages_name_all_that_a_company_writes(bo: Client, address: str) -> None:
    text = " ".join(bo.get(address).content.decode().split())

    words = ("notes, tags", "links", "own id and texts", "own ids and texts")
    assert [word in text for word in words].count(True) == 3
    assert "the notes themselves belong" not in text


def test_the_file_holds_everything_and_no_secret(bo: Client, past: History) -> None:
    person = factories.fresh(past.bo).applicant
    token = tokens.issue(person)
    remove(
        application_id=past.bo.id,
        outcome=Outcome.REJECTED,
        actor=factories.RECRUITER,
        reason=Reason.NOT_A_MATCH,
        note="not for them to read",
    )

    response = bo.get("/me/data/download/")

    kept = json.loads(response.content)
    assert "attachment" in response["Content-Disposition"]
    assert kept["account"]["email"] == person.email
    (application,) = kept["applications"]
    assert (application["name"], application["outcome"]) == ("Bo <Berg>", "REJECTED")
    told = application["timeline"]
    assert [event["event"] for event in told] == ["APPLIED", "PROMOTED", "DECAYED", "REMOVED"]
    assert told[-1]["reason"] == "NOT_A_MATCH"
    assert told[0]["what_it_means"].startswith("You applied")
    assert len(kept["signing_in"]["tokens"]) == 1
    text = response.content.decode()
    for secret in (token, "digest", "not for them to read", "Ana Li", "Cy Okafor"):
        assert secret not in text


def test_looking_changes_nothing(bo: Client, past: History) -> None:
    for address in ("/me/data/", "/me/data/download/", "/me/data/erase/"):
        assert bo.get(address).status_code == 200

    assert Event.objects.filter(job_id=past.job).count() == 10
    assert not factories.fresh(past.bo).applicant.is_erased


def test_erasing_asks_once_and_says_what_goes(bo: Client, past: History) -> None:
    assert "you lose your place" in bo.get("/me/data/erase/").content.decode()

    refused = bo.post("/me/data/erase/", {})

    assert refused.status_code == 422
    assert "Tick this box to confirm" in refused.content.decode()
    assert not factories.fresh(past.bo).applicant.is_erased


def test_who_erased_themselves_is_signed_out_and_a_nobody_to_the_company(
    bo: Client, viewer: Client, past: History
) -> None:
    DecisionNote.objects.create(application=past.bo, seq=6, text="Bo Berg")

    response = bo.post("/me/data/erase/", {"sure": "on"}, follow=True)

    assert response.redirect_chain == [("/", 302)]
    assert "have been erased, and you are signed out" in response.content.decode()
    assert bo.get("/me/data/").status_code == 302
    timeline = viewer.get(page(past.job, "timeline/")).content.decode()
    assert "Erased person" in timeline
    assert "Bo &lt;Berg&gt;" not in timeline


def test_other_browsers_of_an_erased_person_are_signed_out_too(past: History) -> None:
    person = Applicant.objects.get(id=past.bo.applicant_id)
    here, there = applicant_browser(person), applicant_browser(person)

    here.post("/me/data/erase/", {"sure": "on"})

    assert there.get("/me/data/").status_code == 302


def test_the_queries_do_not_grow_with_what_is_kept(company: Company) -> None:
    person = factories.applicant()
    browser = applicant_browser(person)
    factories.application(factories.job(company_id=company.id), person)
    with CaptureQueriesContext(connection) as few:
        browser.get("/me/data/")

    for _ in range(8):
        factories.application(factories.job(company_id=company.id), person)
    with CaptureQueriesContext(connection) as many:
        browser.get("/me/data/")

    # also files, answers, further questions, agreements, choices and messages: one each
    assert len(few) == len(many) <= 21
