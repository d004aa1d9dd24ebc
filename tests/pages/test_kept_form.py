"""What was typed into a form stays when the session has ended, or the form is too old."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client

from jobs.models import Company, Job
from tests.support.accounts import browser_of, member_of
from tests.support.pages import text_of, values_of_form

pytestmark = pytest.mark.django_db(transaction=True)
NEW_JOB = "/company/jobs/new/"
OURS = {"Origin": "http://testserver"}
TEXT = 'We look for a cook.\r\nLine two, with "quotes" & <signs>.'


def form(company: Company) -> dict[str, Any]:
    """Return a form for a job, with a long text."""
    usual = values_of_form(browser_of(member_of(company)), NEW_JOB)
    return usual | {"title": "Cook", "capacity": 1, "description": TEXT}


def hidden_fields(answer: Any) -> dict[str, str]:
    """Return the fields that a page sends again."""
    found = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', answer.content.decode())
    return {name: html.unescape(value) for name, value in found}


def test_after_signing_in_again_the_form_is_sent_as_it_was_typed(company: Company) -> None:
    lost = Client()

    kept = lost.post(NEW_JOB, form(company), headers=OURS)
    client = browser_of(member_of(company))
    sent = client.post(NEW_JOB, hidden_fields(kept))

    assert kept.status_code == 403
    assert kept["Cache-Control"].count("no-store") == 1
    assert "/account/login/?next=/company/jobs/new/" in kept.content.decode()
    assert "We look for a cook." in text_of(kept)
    assert hidden_fields(kept)["description"].split() == TEXT.split()
    assert sent.status_code == 302
    assert Job.objects.get().posting.description.splitlines() == TEXT.splitlines()


def test_a_form_from_before_a_sign_in_can_be_sent_again(company: Company) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(member_of(company))

    kept = strict.post(NEW_JOB, form(company) | {"csrfmiddlewaretoken": "x" * 64}, headers=OURS)
    sent = strict.post(NEW_JOB, hidden_fields(kept), headers=OURS)

    assert (kept.status_code, sent.status_code) == (403, 302)
    assert Job.objects.count() == 1


@pytest.mark.parametrize("origin", ["https://evil.example", "null", None])
def test_another_site_gets_no_button_that_sends_its_form(
    company: Company, origin: str | None
) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(member_of(company))

    refused = strict.post(NEW_JOB, form(company), headers={"Origin": origin} if origin else {})

    assert refused.status_code == 403
    assert hidden_fields(refused).keys() <= {"csrfmiddlewaretoken", "submission_id"}


@pytest.mark.parametrize(
    ("path", "name"),
    [("/account/login/", "login"), (NEW_JOB, "password"), ("/sign-in/", "email")],
)
def test_secrets_and_sign_ins_are_not_kept(path: str, name: str) -> None:
    strict = Client(enforce_csrf_checks=True)

    refused = strict.post(path, {name: "hush hush"}, headers=OURS)

    assert refused.status_code == 403
    assert "hush hush" not in refused.content.decode()


def test_a_stranger_without_a_form_signs_in_as_before() -> None:
    answer = Client().post(NEW_JOB, headers=OURS)

    assert (answer.status_code, answer.url) == (302, f"/account/login/?next={NEW_JOB}")
