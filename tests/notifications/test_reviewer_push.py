"""Notifications to reviewers: to whom, about what, once, and only while switched on."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core import mail
from django.db.models import F

from applicants.models import Device, DeviceNotice
from jobs.models import Company, JobPosting, Role, Telling, User
from jobs.team import remove_member, set_member_emails
from pipeline.models import Application, JobFollower
from pipeline.notifications.reviewers import SEATS, follow_targets, push_text
from pipeline.review.annotations import add_note, assign_application
from pipeline.review.notices import PUSH_TASK, TASK, News
from pipeline.selectors.jobs import read_job
from pipeline.services.leaving import withdraw
from tasks.models import Task
from tests.support import factories
from tests.support.accounts import member_of
from tests.support.push import Browser
from tests.support.receiver import Receiver
from tests.support.task_runs import make_retries_due, run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def notify(settings: Any, push_on: None) -> None:
    settings.NOTIFY = True
    settings.SITE_URL = "https://line.example"


@pytest.fixture
def member(company: Company) -> User:
    return member_of(company, Role.OWNER, email="owner@example.org")


@pytest.fixture
def job(company: Company, member: User) -> UUID:
    job_id = factories.job(company_id=company.id, capacity=5)
    JobPosting.objects.filter(job_id=job_id).update(title="Night watch")
    return job_id


@pytest.fixture
def browser(member: User, receiver: Receiver) -> Browser:
    """The member's browser, with notifications switched on."""
    made = Browser()
    made.added_for(member, f"{receiver.url}/member")
    return made


def run() -> None:
    run_due_tasks(SEATS, TASK, PUSH_TASK)


def test_a_member_is_told_on_their_device_of_a_seat_taken(
    job: UUID, browser: Browser, receiver: Receiver
) -> None:
    person = factories.application(job, factories.applicant(name="Mallory Nym"))

    run()

    [received] = receiver.received
    shown = browser.shown(received)
    assert shown == {
        "title": "Seat taken: Night watch",
        "body": "Someone is now in review.",
        "tag": str(person.id),
        "path": f"/company/applications/{person.id}/",
    }
    assert [message.to for message in mail.outbox] == [["owner@example.org"]]
    assert DeviceNotice.objects.get().state == "SENT"


def test_nothing_is_switched_on_by_itself(job: UUID, member: User) -> None:
    factories.application(job)
    run_due_tasks(SEATS)

    assert not Task.objects.filter(type__key=PUSH_TASK).exists()


@pytest.mark.parametrize("about", ["assignment", "mention"])
def test_a_member_is_told_of_an_assignment_and_a_mention(
    job: UUID, member: User, browser: Browser, receiver: Receiver, about: str
) -> None:
    person = factories.application(job)
    run()
    receiver.received.clear()

    if about == "assignment":
        _assign(person, member)
    else:
        _mention(person, member)
    run()

    [received] = receiver.received
    title = {"assignment": "Assigned to you", "mention": "You are mentioned"}[about]
    assert browser.shown(received)["title"].startswith(f"{title}: ")


def test_a_member_is_reminded_of_a_decision_that_is_due(
    job: UUID, browser: Browser, receiver: Receiver, settings: Any
) -> None:
    JobPosting.objects.filter(job_id=job).update(review_target_seconds=3_600)
    person = factories.application(job)
    run()
    receiver.received.clear()
    seats = Application.objects.filter(id=person.id)
    seats.update(status_since=F("status_since") - timedelta(minutes=90))

    follow_targets()
    run()

    [received] = receiver.received
    assert browser.shown(received)["title"].startswith("Decision due: ")


@pytest.mark.parametrize("telling", list(Telling))
def test_notifications_go_with_a_morning_email_too_and_not_if_one_wants_no_news(
    job: UUID, member: User, browser: Browser, receiver: Receiver, telling: Telling
) -> None:
    [membership] = member.memberships.all()
    set_member_emails(membership_id=membership.id, reviews=telling.value)

    factories.application(job)
    run()

    assert len(receiver.received) == (telling != Telling.NEVER)


def test_a_job_about_which_a_member_wants_no_news_is_silent(
    job: UUID, member: User, browser: Browser, receiver: Receiver
) -> None:
    JobFollower.objects.create(job_id=job, user=member, telling=Telling.NEVER)

    factories.application(job)
    run()

    assert receiver.received == []


def test_a_seat_of_someone_elses_assignment_is_not_told(
    company: Company, job: UUID, browser: Browser, receiver: Receiver
) -> None:
    colleague = member_of(company, Role.RECRUITER, email="colleague@example.org")
    person = factories.application(job)
    _assign(person, colleague)

    run()

    assert receiver.received == []


def test_a_notification_that_is_not_true_any_more_is_not_sent(
    job: UUID, browser: Browser, receiver: Receiver
) -> None:
    person = factories.application(job)
    run_due_tasks(SEATS)

    withdraw(application_id=person.id, actor=factories.owner_of(person))
    run()

    assert receiver.received == []


def test_a_busy_push_service_is_asked_again_and_a_device_that_has_it_is_not(
    job: UUID, member: User, browser: Browser, receiver: Receiver, second_receiver: Receiver
) -> None:
    Browser().added_for(member, second_receiver.url)
    second_receiver.answers(503)
    factories.application(job)
    run()

    second_receiver.answers(201)
    make_retries_due()
    run()

    assert (len(receiver.received), len(second_receiver.received)) == (1, 2)


def test_leaving_the_last_team_or_closing_the_account_removes_the_devices(
    company: Company, member: User, browser: Browser
) -> None:
    member_of(company, Role.OWNER, email="second@example.org")
    other = member_of(company, Role.RECRUITER, email="third@example.org")
    Browser().added_for(other, "https://push.example.net/third")

    [membership] = member.memberships.all()
    remove_member(company_id=company.id, membership_id=membership.id)
    assert [device.user for device in Device.objects.all()] == [other]

    other.is_active = False
    other.save()
    assert not Device.objects.exists()


@pytest.mark.parametrize("news", list(News))
@pytest.mark.parametrize("number", [1, 1_200])
def test_every_notification_has_words_without_gaps(job: UUID, news: News, number: int) -> None:
    text = push_text(read_job(job), news, number)

    assert "{" not in text.title + text.body
    assert "Night watch" in text.title


def _assign(person: Application, user: User) -> None:
    company_id = person.job.company_id
    assign_application(application_id=person.id, company_id=company_id, user_id=user.id)


def _mention(person: Application, user: User) -> None:
    author = member_of(person.job.company, Role.RECRUITER, email="author@example.org")
    add_note(application_id=person.id, text="See this.", author_id=author.id, mentioned=[user.id])
