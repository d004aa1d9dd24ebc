"""Applying by the page: signed in straight into the line, else by way of a code."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from pipeline.domain.states import Outcome
from pipeline.models import Application
from pipeline.services.jobs import close_job
from tests.support import factories
from tests.support.applicants import applicant_browser, decide, mine, who
from tests.support.outbox import code_to
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)

ANN = {"name": "Ann", "email": "ann@example.org"}


def test_who_is_signed_in_goes_straight_to_their_place() -> None:
    job, person = factories.job(), factories.applicant()
    factories.application(job)

    answer = applicant_browser(person).post(f"/jobs/{job}/apply/", {"name": "Ana"}, follow=True)

    [application] = Application.objects.filter(applicant=person)
    assert application.name == "Ana"
    assert answer.redirect_chain == [(mine(application), 302)]
    assert "You have applied." in text_of(answer)
    assert "You are next in line." in text_of(answer)


def test_a_stranger_proves_the_address_and_sees_the_application(visitor: Client) -> None:
    job = factories.job()

    box = visitor.post(f"/jobs/{job}/apply/", ANN, follow=True)
    seen = visitor.post("/code/", {"code": code_to(ANN["email"])}, follow=True)

    assert "Check your email" in text_of(box)
    application = Application.objects.get()
    assert seen.redirect_chain == [(mine(application), 302)]
    assert "It is your turn." in text_of(seen)
    assert who(visitor) == str(application.applicant_id)


def test_the_words_are_the_same_whoever_is_known(visitor: Client) -> None:
    job, known = factories.job(), factories.applicant(email="known@example.org")
    factories.application(job, known)

    pages = []
    for email in ("stranger@example.org", "known@example.org"):
        page = Client().post(f"/jobs/{job}/apply/", {"name": "X", "email": email}, follow=True)
        pages.append(text_of(page).replace(email, "…"))

    assert pages[0] == pages[1]
    assert "When a seat is offered to you, you have 10 minutes to confirm it." in pages[0]
    assert len(mail.outbox) == 2


def test_what_is_missing_is_said_and_nothing_happens(visitor: Client) -> None:
    job = factories.job()

    page = visitor.post(f"/jobs/{job}/apply/", {"name": " ", "email": "nonsense"})

    assert page.status_code == 422
    assert "There are 2 problems" in text_of(page)
    assert 'value="nonsense"' in page.content.decode()
    assert factories.row_of(job).seq == 2


def test_a_second_application_leads_to_the_first() -> None:
    job, person = factories.job(), factories.applicant()
    first = factories.application(job, person)

    answer = applicant_browser(person).post(f"/jobs/{job}/apply/", {"name": "Ana"}, follow=True)

    assert answer.redirect_chain == [(mine(first), 302)]
    assert "You have already applied to this job" in text_of(answer)


def test_who_was_decided_about_reads_who_can_add_them() -> None:
    job, person = factories.job(), factories.applicant()
    decide(factories.application(job, person), Outcome.REJECTED)

    answer = applicant_browser(person).post(f"/jobs/{job}/apply/", {"name": "Ana"}, follow=True)

    assert "Only the company can add them again." in text_of(answer)


def test_a_job_that_closed_meanwhile_says_so(visitor: Client) -> None:
    job, person = factories.job(), factories.applicant()
    close_job(job_id=job, actor=factories.RECRUITER)

    for client in (visitor, applicant_browser(person)):
        answer = client.post(f"/jobs/{job}/apply/", ANN, follow=True)
        assert "This job is not open for applications now." in text_of(answer)


def test_an_address_from_which_too_many_apply_has_to_wait(visitor: Client, settings: Any) -> None:
    settings.THROTTLE_RATES = settings.THROTTLE_RATES | {"anonymous_apply": (1, 3600)}
    job = factories.job()
    visitor.post(f"/jobs/{job}/apply/", ANN)

    answer = visitor.post(f"/jobs/{job}/apply/", ANN | {"email": "bob@example.org"})

    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 3000
    assert "Too many attempts" in text_of(answer)
    assert len(mail.outbox) == 1


def test_a_form_of_somebody_else_is_refused() -> None:
    client, job = Client(enforce_csrf_checks=True), factories.job()

    assert client.post(f"/jobs/{job}/apply/", ANN).status_code == 403
    assert client.post("/sign-in/", ANN).status_code == 403
    assert client.post("/code/", {"again": 1}).status_code == 403
    assert client.post("/confirm/", {"token": "x"}).status_code == 403


def test_no_log_holds_the_address_or_the_code(
    visitor: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="pipeline")
    caplog.set_level(logging.DEBUG, logger="applicants")
    caplog.set_level(logging.INFO, logger="django")

    visitor.post(f"/jobs/{factories.job()}/apply/", ANN, follow=True)
    code = code_to(ANN["email"])
    visitor.post("/code/", {"code": code}, follow=True)

    assert ANN["email"] not in caplog.text
    assert code not in caplog.text
