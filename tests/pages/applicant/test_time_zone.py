"""The time zone of a person's browser is kept for their emails."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail
from django.test import Client

from applicants.models import Applicant
from applicants.people import remember_browser
from tests.support import factories
from tests.support.applicants import applicant_browser
from tests.support.outbox import code_to
from tests.support.task_runs import run_due_tasks

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("mail_at_once")]


def zone_of(person: Applicant) -> str:
    return Applicant.objects.get(id=person.id).time_zone


def test_it_is_kept_at_sign_in() -> None:
    person, browser = factories.applicant(), Client()
    browser.cookies["time_zone"] = "Asia/Tokyo"
    browser.post("/sign-in/", {"email": person.email})

    browser.post("/code/", {"code": code_to(person.email)})

    assert zone_of(person) == "Asia/Tokyo"


def test_it_is_kept_on_applying_and_used_in_the_email(settings: Any) -> None:
    settings.NOTIFY = True
    person, job = factories.applicant(), factories.job(acknowledge_first_seat=True)
    browser = applicant_browser(person)
    browser.cookies["time_zone"] = "America/New_York"

    browser.post(f"/jobs/{job}/apply/", {"name": "Ana"})
    run_due_tasks("email.event")

    assert zone_of(person) == "America/New_York"
    [message] = mail.outbox
    assert "(New York)" in message.subject
    assert "UTC" in str(message.body)


@pytest.mark.parametrize("zone", ["UTC", "Nowhere/City", "../etc/passwd", "", "x" * 300])
def test_what_is_no_zone_changes_nothing(zone: str) -> None:
    person = factories.applicant(time_zone="Europe/Berlin")

    remember_browser(person.id, zone=zone, language="en")

    assert zone_of(person) == "Europe/Berlin"


def test_a_zone_that_this_machine_forgot_reads_as_utc(settings: Any) -> None:
    settings.NOTIFY = True
    person = factories.applicant(time_zone="Atlantis/Capital")
    factories.application(factories.job(acknowledge_first_seat=True), person)

    run_due_tasks("email.event")

    assert "UTC on" in mail.outbox[0].subject
