"""A company, or a thief of its key, fills nobody's mailbox through our site."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail

from applicants.models import Applicant
from pipeline.domain.states import Outcome
from pipeline.models import Email
from pipeline.notifications import applicants
from pipeline.notifications.applicants import OF_COMPANY
from pipeline.web.rate_limit import Rate
from tests.notifications.test_applicant_emails import notify
from tests.support import factories
from tests.support.applicants import decide
from tests.support.task_runs import make_retries_due, run_due_tasks

__all__ = ["notify"]
pytestmark = pytest.mark.django_db(transaction=True)


def put_forward(job: Any, person: Applicant) -> Any:
    """Add a person to a job, as its company."""
    return factories.application(job, person, actor=factories.RECRUITER)


def mails_to(person: Applicant) -> int:
    return sum(message.to == [person.email] for message in mail.outbox)


def test_whoever_is_added_and_removed_again_and_again_gets_some_emails_and_no_more() -> None:
    job, victim, other = factories.job(), factories.applicant(), factories.applicant()

    for _ in range(40):  # two emails each
        decide(put_forward(job, victim), Outcome.REMOVED)
    put_forward(job, other)
    run_due_tasks()

    assert mails_to(victim) == OF_COMPANY.limit
    assert mails_to(other) == 1
    assert Email.objects.filter(problem="TOO_MANY").count() == 80 - OF_COMPANY.limit


def test_many_jobs_of_one_company_are_one_and_other_companies_are_not_concerned() -> None:
    victim, theirs = factories.applicant(), factories.job()
    loud = factories.company().id

    for _ in range(OF_COMPANY.limit + 9):
        put_forward(factories.job(company_id=loud), victim)
    put_forward(theirs, victim)
    run_due_tasks()

    assert mails_to(victim) == OF_COMPANY.limit + 1


def test_an_offer_beyond_that_waits_and_is_counted_as_late() -> None:
    """Its deadline is extended as for a mail server that is away."""
    job, victim = factories.job(acknowledge_first_seat=True), factories.applicant()
    for _ in range(OF_COMPANY.limit):
        decide(put_forward(job, victim), Outcome.REMOVED)
    run_due_tasks()
    assert mails_to(victim) == OF_COMPANY.limit

    offer = put_forward(job, victim)

    assert run_due_tasks() == ["PENDING"]
    assert not Email.objects.filter(application_id=offer.id).exists()
    assert factories.status_of(offer) == "PENDING_ACKNOWLEDGMENT"


def test_an_email_that_the_mail_server_takes_late_counts_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def be_away(*_: Any) -> int:
        raise OSError("the mail server is away")

    monkeypatch.setattr(applicants, "OF_COMPANY", Rate(2, 3_600))
    job, person = factories.job(), factories.applicant()
    application = put_forward(job, person)
    with monkeypatch.context() as away:
        away.setattr("django.core.mail.backends.locmem.EmailBackend.send_messages", be_away)
        for _ in range(5):
            run_due_tasks()
            make_retries_due()
    decide(application, Outcome.REMOVED)
    run_due_tasks()

    assert mails_to(person) == 2
