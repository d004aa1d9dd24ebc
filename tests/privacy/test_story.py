"""A day with unmistakable people: afterwards no log line and no metric holds a word of theirs."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.mail import EmailMessage
from django.test import Client

from applicants.models import Applicant
from jobs.models import Company, Role
from pipeline.models import Application
from pipeline.privacy.erase import erase_person
from tests.support import factories
from tests.support.accounts import browser_of, member_of, sign_in
from tests.support.callers import Caller, key_of
from tests.support.logs import Log
from tests.support.outbox import code_to

pytestmark = pytest.mark.django_db(transaction=True)
# Each stands in every address, name and note of the day.
WORDS = ("quillfeather", "zelda", "osei", "plainsboro")
EMAIL, NAME = "zelda.quillfeather@plainsboro.example", "Zelda Quillfeather"
OTHER = "kwame.osei@plainsboro.example"


@pytest.fixture(autouse=True)
def _fresh_start(transactional_db: None, empty_cache: None, mail_at_once: None) -> None:
    """Start with whole rates, and send emails at once."""


def _applicants_day(job: Any) -> Application:
    browser, api = Client(), Caller()
    browser.post(f"/jobs/{job}/apply/", {"name": NAME, "email": "zelda.quillfeather@"})
    browser.post(f"/jobs/{job}/apply/", {"name": NAME, "email": EMAIL})
    browser.post("/code/", {"code": "00000000"})
    browser.post("/code/", {"code": code_to(EMAIL)})
    browser.get("/me/data/download/")
    api.post("/auth/code", {"email": EMAIL})
    api.post("/auth/token", {"email": EMAIL, "code": "00000000"})
    api.post(f"/jobs/{job}/applications", {"name": NAME, "email": f"{EMAIL}@x"})
    api.post(f"/jobs/{job}/applications", {"name": "Kwame Osei", "email": OTHER})
    api.get("/applicants", {"email": EMAIL})
    return Application.objects.get(applicant__email=EMAIL)


def _companys_day(company: Company, job: Any, application: Application) -> None:
    recruiter, key = browser_of(member_of(company, Role.RECRUITER)), key_of(company.id)
    rows = f"name,email\n{NAME},{EMAIL}\nKwame Osei,{OTHER}\nZelda,zelda@@\n".encode()
    recruiter.post(f"/company/jobs/{job}/import/", {"file": SimpleUploadedFile("z.csv", rows)})
    recruiter.get("/company/people/", {"q": "Quillfeather"})
    recruiter.get(f"/company/jobs/{job}/export/applications.csv")
    key.get("/applicants", {"email": EMAIL})
    key.post(f"/jobs/{job}/applications", {"name": NAME, "email": EMAIL})
    key.post("/tasks", {"type": "demo.sleep", "payload": {"label": NAME, "x": EMAIL}})
    body = {"outcome": "REJECTED", "reason": f"{NAME} was late", "note": NAME}
    key.post(f"/applications/{application.id}/remove", body)
    recruiter.post(
        f"/company/applications/{application.id}/decide/", {"outcome": "HIRED", "note": NAME}
    )
    recruiter.post("/company/team/", {"email": OTHER, "role": "VIEWER"})


def test_a_day_leaves_nobodys_name_in_logs_and_metrics(
    log: Log, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = factories.job(company_id=company.id)

    application = _applicants_day(job)
    _companys_day(company, job, application)
    sign_in(OTHER, "wrong")
    Client().post("/account/password/reset/", {"email": OTHER})
    monkeypatch.setattr(EmailMessage, "send", _broken)
    Client().post("/sign-in/", {"email": OTHER})
    erase_person(applicant_id=Applicant.objects.get(email=EMAIL).id)

    said = log.text.lower() + Client().get("/metrics").content.decode().lower()
    assert len(log.lines("security")) >= 10
    assert len(log.lines("django.request")) >= 5
    assert "nextinline_http_requests" in said
    assert [word for word in WORDS if word in said] == []


def test_a_word_that_is_logged_is_noticed(log: Log) -> None:
    """Check the check: a line with an address shows."""
    logging.getLogger("pipeline").warning("Email to %s", EMAIL)

    assert [word for word in WORDS if word in log.text.lower()] != []


def _broken(*_: Any, **__: Any) -> Any:
    raise OSError(f"550 mailbox of {OTHER} is full")
