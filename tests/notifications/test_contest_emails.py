"""Emails about looking again: to the person on asking and on the answer, to who can answer."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from jobs.models import Company, Role
from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.states import Outcome
from pipeline.models import Contest, Heartbeat
from pipeline.notifications.companies import LOOKED, raise_company_alerts
from pipeline.services.contests import answer_contest, contest
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)
DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def notify(settings: Any) -> None:
    settings.NOTIFY = True
    settings.SITE_URL = "https://line.example"


@pytest.fixture
def asked(settings: Any) -> Contest:
    """Someone who waited second and was rejected asks a company with two members to look again."""
    company: Company = factories.company(name="Harbour Works")
    member_of(company, Role.RECRUITER, email="recruiter@example.org")
    member_of(company, Role.VIEWER, email="viewer@example.org")
    job_id = factories.job(company_id=company.id)
    person = factories.applications(job_id, 2)[1]
    who = {"application_id": person.id}
    remove(**who, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    return contest(**who, text="Why?", actor=factories.owner_of(person))


def answer(asked: Contest, what: ContestAnswer, reason: ContestReason) -> None:
    answer_contest(
        contest_id=asked.id,
        application_id=asked.application_id,
        answer=what,
        reason=reason,
        text="We read it again.",
        actor=factories.RECRUITER,
    )


def emails() -> list[Any]:
    """Return the emails to the person since the last call."""
    mail.outbox.clear()
    run_due_tasks("email.event")
    return list(mail.outbox)


def test_the_person_reads_until_when_the_answer_comes(asked: Contest) -> None:
    said = emails()[-1]

    assert said.subject == "You asked Harbour Works to look again at “Engineer”"
    assert "The company must answer by" in said.body
    assert "Why?" not in said.body


def test_the_answer_is_emailed_with_the_companys_words(asked: Contest) -> None:
    emails()
    answer(asked, ContestAnswer.UPHELD, ContestReason.DECISION_STANDS)

    [said] = emails()

    assert said.subject == "Harbour Works has looked again at your application for “Engineer”"
    assert "Harbour Works wrote:\n\nWe read it again." in said.body
    assert "which stays ended" in said.body
    assert "Your place in line" not in said.body


def test_one_email_says_that_the_place_is_back(asked: Contest) -> None:
    emails()
    answer(asked, ContestAnswer.CHANGED, ContestReason.OUR_ERROR)

    [said] = emails()

    assert "gave you your place back" in said.body
    assert "Your place in line now: 1." in said.body


def test_who_may_answer_is_told_when_it_is_asked_nearly_due_and_overdue(asked: Contest) -> None:
    assert raise_company_alerts() == {"CONTEST_ASKED": 1}
    assert raise_company_alerts() == {}
    now = timezone.now()
    for answer_by, raised in (
        (now + 4 * DAY, {}),
        (now + 3 * DAY - timedelta(minutes=1), {"CONTEST_DUE": 1}),
        (now - timedelta(minutes=1), {"CONTEST_OVERDUE": 1}),
        (now - DAY, {}),
    ):
        Contest.objects.update(asked_at=now - 11 * DAY, answer_by=answer_by)
        assert raise_company_alerts() == raised, answer_by
    mail.outbox.clear()
    run_due_tasks("email.alert")

    assert {each.to[0] for each in mail.outbox} == {"recruiter@example.org"}
    assert "https://line.example/company/look-again/?state=OVERDUE" in mail.outbox[-1].body


def test_what_is_answered_needs_nobody(asked: Contest) -> None:
    answer(asked, ContestAnswer.UPHELD, ContestReason.DECISION_STANDS)
    Contest.objects.update(answer_by=timezone.now())
    Heartbeat.objects.filter(worker=LOOKED).delete()

    assert raise_company_alerts() == {}
