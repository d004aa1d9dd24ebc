"""Applications with an address that is not proved: only its email says what there was before."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.core import mail

from applicants.models import Applicant
from pipeline.domain.errors import JobNotOpen
from pipeline.domain.states import Outcome
from pipeline.models import Application
from pipeline.selectors.jobs import read_job_facts
from pipeline.services.jobs import pause_job
from pipeline.services.joining import apply_unverified
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.outbox import HERE

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("mail_at_once")]

EMAIL = "ann@example.org"


def apply_as_stranger(job_id: UUID) -> None:
    apply_unverified(job=read_job_facts(job_id), name="Ann", email=EMAIL, requester=HERE)


def last_mail() -> str:
    return " ".join(str(mail.outbox[-1].body).split())


def test_the_application_waits_and_the_address_gets_a_code() -> None:
    job_id = factories.job()

    apply_as_stranger(job_id)

    found = Application.objects.get(job_id=job_id)
    assert (found.status, found.is_verified) == ("WAITLIST", False)
    assert "If it was not you, ignore this email" in last_mail()


def test_an_open_application_keeps_its_place_and_only_the_email_says_so() -> None:
    job_id = factories.job()
    earlier = factories.application(job_id, factories.applicant(email=EMAIL))

    apply_as_stranger(job_id)

    assert Application.objects.get(job_id=job_id).id == earlier.id
    assert "That application keeps its place." in last_mail()


def test_after_a_decision_only_the_email_says_who_can_add_the_person() -> None:
    job_id = factories.job()
    earlier = factories.application(job_id, factories.applicant(email=EMAIL))
    remove(application_id=earlier.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)

    apply_as_stranger(job_id)

    assert Application.objects.filter(job_id=job_id).count() == 1
    assert "only the company can add you again" in last_mail()


def test_a_job_that_is_not_open_learns_nothing_of_the_person() -> None:
    job_id = factories.job()
    pause_job(job_id=job_id, actor=factories.RECRUITER)

    with pytest.raises(JobNotOpen):
        apply_as_stranger(job_id)

    assert not Applicant.objects.exists()
    assert not mail.outbox
