"""Events that become messages: each of the five cards, once, while it is true, without names."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db.models import F
from django.utils import translation

from applicants.mail import NOWHERE
from jobs.models import Company, JobPosting
from pipeline.chat.cards import body_of
from pipeline.domain.states import Outcome
from pipeline.figures import reports
from pipeline.models import (
    Application,
    ChatCard,
    ChatMessage,
    ChatService,
    Contest,
    ReviewNotice,
)
from pipeline.notifications import chats
from pipeline.notifications.companies import raise_company_alerts
from pipeline.notifications.reviewers import SEATS, follow_targets
from pipeline.privacy.erase import erase_person
from pipeline.selectors.jobs import read_job
from pipeline.services.contests import contest
from pipeline.services.leaving import remove, withdraw
from tests.support import factories
from tests.support.background_tasks import dead_sleep
from tests.support.chat import ChatServer, channel, deliver, states, words_of
from tests.support.contests import rejected_application
from tests.support.sandboxes import sandbox
from tests.support.task_runs import run_due_tasks
from tests.support.weeks import two_weeks

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = 3_600


@pytest.fixture(params=ChatService)
def service(request: pytest.FixtureRequest) -> ChatService:
    """Each chat in turn."""
    return ChatService(request.param)


@pytest.fixture
def job(company: Company) -> UUID:
    row = factories.job(company_id=company.id, capacity=5)
    JobPosting.objects.filter(job_id=row).update(title="R&D <Engineer>")
    return row


def add_channel(company: Company, chat: ChatServer, service: ChatService, **given: Any) -> None:
    address = chat.slack if service == ChatService.SLACK else chat.teams
    channel(company.id, address, service=service, **given)


def link_of(body: Any) -> str:
    """Return the page that a message leads to."""
    if "blocks" in body:
        return str(body["blocks"][-1]["elements"][0]["url"])
    return str(body["attachments"][0]["content"]["actions"][0]["url"])


def test_a_seat_taken(company: Company, job: UUID, chat: ChatServer, service: ChatService) -> None:
    add_channel(company, chat, service)
    JobPosting.objects.filter(job_id=job).update(review_target_seconds=HOUR)
    person = factories.application(job, factories.applicant(name="Mallory Nym"))
    run_due_tasks(SEATS)
    run_due_tasks(SEATS)

    deliver()

    [body] = chat.posted
    assert chat.titles() == ["Seat taken"]
    assert link_of(body) == f"https://line.example/company/applications/{person.id}/"
    words = words_of(body)
    assert "Your company aims to decide by" in words
    assert "Engineer" in words
    assert "Mallory" not in words


def test_many_seats_of_one_change_are_one_message(
    company: Company, job: UUID, chat: ChatServer
) -> None:
    add_channel(company, chat, ChatService.SLACK)
    factories.applications(job, 5)
    seats = [(each.id, each.status_since) for each in Application.objects.order_by("id")]
    ChatMessage.objects.all().delete()
    row = read_job(job)

    assert chats.post_seats(row, seats, 1) == 1
    assert chats.post_seats(row, seats, 1) == 0
    deliver()

    [body] = chat.posted
    assert "5 people are now in review" in body["text"]
    assert link_of(body).endswith(f"/company/jobs/{job}/")


def test_a_review_overdue(
    company: Company, job: UUID, chat: ChatServer, service: ChatService
) -> None:
    add_channel(company, chat, service)
    JobPosting.objects.filter(job_id=job).update(review_target_seconds=HOUR)
    person = factories.application(job, factories.applicant(name="Mallory Nym"))
    run_due_tasks(SEATS)
    back = timedelta(hours=2, minutes=1)
    Application.objects.update(status_since=F("status_since") - back)
    ReviewNotice.objects.update(since=F("since") - back)
    ChatMessage.objects.all().delete()

    follow_targets()
    follow_targets()
    deliver()

    [body] = chat.posted
    assert chat.titles() == ["Review overdue"]
    assert link_of(body) == f"https://line.example/company/applications/{person.id}/"
    assert "twice as long as your company aims to take" in words_of(body)
    assert "Mallory" not in words_of(body)


def test_a_contest(company: Company, chat: ChatServer, service: ChatService) -> None:
    add_channel(company, chat, service)
    row = rejected_application(company.id)
    ChatMessage.objects.all().delete()
    contest(application_id=row.id, text="Please look again.", actor=factories.owner_of(row))

    raise_company_alerts()
    raise_company_alerts()
    deliver()

    [body] = chat.posted
    assert chat.titles() == ["An applicant has asked you to look again"]
    assert link_of(body) == "https://line.example/company/look-again/?state=OPEN"
    assert "About the job" in words_of(body)
    assert "Please look again" not in words_of(body)
    assert Contest.objects.count() == 1


def test_an_alert(company: Company, chat: ChatServer, service: ChatService) -> None:
    add_channel(company, chat, service)
    dead_sleep(company.id)

    raise_company_alerts()
    raise_company_alerts()
    deliver()

    [body] = chat.posted
    assert chat.titles() == ["A background task failed in all its attempts"]
    assert link_of(body) == "https://line.example/company/work/dead/"


def test_a_weekly_report(company: Company, chat: ChatServer, service: ChatService) -> None:
    job = two_weeks(company)
    add_channel(company, chat, service)
    reports.register_follow_up(chats.post_report)

    report = reports.make(job_id=job, company_id=company.id)
    reports.make(job_id=job, company_id=company.id)
    deliver()

    [body] = chat.posted
    assert chat.titles() == ["Weekly report"]
    path = f"/company/jobs/{job}/reports/{report.week}/"
    assert link_of(body) == f"https://line.example{path}"
    words = words_of(body)
    assert "Applied" in words
    assert "Missed" in words


def test_a_channel_hears_of_its_job_and_its_cards_alone(
    company: Company, job: UUID, chat: ChatServer
) -> None:
    other = factories.job(company_id=company.id, capacity=2)
    channel(company.id, chat.slack, ChatCard.SEAT, job_id=job)
    channel(company.id, chat.teams, ChatCard.REPORT, service=ChatService.TEAMS)
    factories.application(other)
    run_due_tasks(SEATS)
    dead_sleep(company.id)
    raise_company_alerts()
    nothing = ChatMessage.objects.count()

    factories.application(job)
    run_due_tasks(SEATS)

    assert (nothing, ChatMessage.objects.count()) == (0, 1)


def test_another_company_and_a_sandbox_hear_of_nothing(
    company: Company, job: UUID, chat: ChatServer
) -> None:
    channel(factories.company(name="Other").id, chat.slack)
    test_mode = sandbox(company)
    factories.application(factories.job(company_id=test_mode.id))
    factories.application(job)

    run_due_tasks(SEATS)

    assert not ChatMessage.objects.exists()


@pytest.mark.parametrize("how", ["left", "decided", "erased"])
def test_what_is_over_is_not_posted(
    company: Company, job: UUID, chat: ChatServer, how: str
) -> None:
    add_channel(company, chat, ChatService.SLACK)
    person = factories.application(job)
    run_due_tasks(SEATS)

    if how == "left":
        withdraw(application_id=person.id, actor=factories.owner_of(person))
    elif how == "decided":
        remove(application_id=person.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    else:
        erase_person(applicant_id=person.applicant_id)
    deliver()

    assert (chat.posted, states()) == ([], {"OVER": 1})


def test_a_message_is_in_the_language_of_its_channel(
    company: Company, job: UUID, chat: ChatServer
) -> None:
    channel(company.id, chat.slack, language="de")
    factories.application(job)
    run_due_tasks(SEATS)
    message = ChatMessage.objects.select_related("channel").get()

    with translation.override("de"):
        expected = chats.compose(message)
    deliver()

    assert expected
    assert chat.posted == [body_of(expected, ChatService.SLACK)]


def test_on_a_site_that_tells_nobody_nothing_is_queued(
    company: Company, job: UUID, chat: ChatServer, settings: Any
) -> None:
    settings.NOTIFY = False
    add_channel(company, chat, ChatService.SLACK)
    factories.application(job)
    dead_sleep(company.id)
    run_due_tasks(SEATS)
    raise_company_alerts()

    assert not ChatMessage.objects.exists()


def test_chats_are_told_on_a_site_that_sends_no_emails(
    company: Company, job: UUID, chat: ChatServer, settings: Any
) -> None:
    settings.EMAIL_BACKEND = NOWHERE
    add_channel(company, chat, ChatService.SLACK)
    factories.application(job)
    run_due_tasks(SEATS)
    dead_sleep(company.id)
    raise_company_alerts()

    assert sorted(ChatMessage.objects.values_list("card", flat=True)) == ["ALERT", "SEAT"]
