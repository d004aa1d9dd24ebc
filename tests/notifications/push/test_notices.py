"""Notifications on devices: when there is one, and what it says."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import mail
from django.utils import timezone

from applicants.models import Applicant, Device, DeviceNotice
from pipeline.domain.contests import ContestAnswer, ContestReason
from pipeline.domain.states import Outcome, ReinstatementReason
from pipeline.services.contests import answer_contest, contest
from pipeline.services.leaving import reinstate, remove, withdraw
from pipeline.services.settling import settle
from pipeline.services.turns import acknowledge, preaccept
from tests.notifications.push.offers import DAY, offered, pass_time, waiting
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.push import Browser, claims_of
from tests.support.receiver import Receiver
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_offer_is_shown_on_the_device_with_the_deadline_in_its_persons_zone(
    receiver: Receiver,
) -> None:
    browser = Browser()
    holder, next_in_line = waiting()
    Applicant.objects.filter(id=next_in_line.applicant_id).update(time_zone="Europe/Berlin")
    browser.added_for(next_in_line.applicant, receiver.url)

    withdraw(application_id=holder.id, actor=factories.owner_of(holder))
    run_due_tasks()

    [told] = receiver.received
    shown = browser.shown(told)
    deadline = factories.fresh(next_in_line).acknowledge_by
    assert deadline
    assert shown["title"] == "Your turn: Night watch"
    assert "(Berlin)" in shown["body"] or "Berlin" in shown["body"]
    assert shown["path"] == f"/me/applications/{next_in_line.id}/"
    left = (deadline - timezone.now()).total_seconds()
    assert left - 5 < int(told.headers["ttl"]) <= left + 5
    assert told.headers["urgency"] == "high"
    assert told.headers["content-encoding"] == "aes128gcm"
    assert claims_of(told.headers["authorization"])["aud"] == f"http://127.0.0.1:{receiver.port}"
    assert DeviceNotice.objects.get().state == "SENT"
    assert Device.objects.get().notified_at


def test_what_is_sent_names_no_person_and_holds_no_secret(receiver: Receiver) -> None:
    browser = Browser()
    application = offered(browser, receiver)

    run_due_tasks()

    [told] = receiver.received
    text = browser.read(told.body).decode()
    person = application.applicant
    assert set(browser.shown(told)) == {"title", "body", "tag", "path"}
    assert person.email not in text
    assert application.name not in text
    assert "token" not in text
    assert "confirm/" not in text
    seen = "".join(told.headers.values())
    assert str(application.id) not in seen
    assert str(person.id) not in seen


def test_each_device_has_one_topic_for_all_about_an_application(receiver: Receiver) -> None:
    browser, other = Browser(), Browser()
    application = offered(browser, receiver)
    other.added_for(application.applicant, f"{receiver.url}/other")
    run_due_tasks()
    pass_time(application, DAY / 2 + 60)

    run_due_tasks()

    topics: dict[str, set[str]] = {}
    for each in receiver.received:
        topics.setdefault(each.path, set()).add(each.headers["topic"])
    assert [len(each) for each in topics.values()] == [1, 1]
    assert len(set.union(*topics.values())) == 2
    assert all(len(topic) <= 32 for each in topics.values() for topic in each)


def test_a_reminder_comes_also_to_who_wants_none_by_email(receiver: Receiver) -> None:
    browser = Browser()
    application = offered(browser, receiver)
    Applicant.objects.filter(id=application.applicant_id).update(reminders=False)
    run_due_tasks()
    pass_time(application, DAY / 2 + 60)

    run_due_tasks()

    assert [browser.shown(each)["title"] for each in receiver.received] == [
        "Your turn: Night watch",
        "Reminder: Night watch",
    ]
    assert [message.subject.partition(":")[0] for message in mail.outbox] == ["Your turn"]


def test_a_missed_deadline_and_a_place_given_back_are_told(receiver: Receiver) -> None:
    browser = Browser()
    application = offered(browser, receiver)
    run_due_tasks()
    let_time_pass(application.job_id, DAY + 1)
    settle(job_id=application.job_id)
    run_due_tasks()
    factories.application(application.job_id)

    reason = next(iter(ReinstatementReason))
    reinstate(application_id=application.id, actor=factories.RECRUITER, reason=reason)
    run_due_tasks()

    titles = [browser.shown(each)["title"] for each in receiver.received]
    assert titles == [
        "Your turn: Night watch",
        "You missed the deadline: Night watch",
        "You have your place back: Night watch",
    ]
    assert receiver.received[1].headers["urgency"] == "normal"
    assert int(receiver.received[1].headers["ttl"]) <= DAY


def test_a_seat_accepted_in_advance_is_told_and_a_seat_just_confirmed_is_not(
    receiver: Receiver,
) -> None:
    browser = Browser()
    holder, next_in_line = waiting()
    browser.added_for(next_in_line.applicant, receiver.url)
    person = factories.owner_of(next_in_line)
    until = timezone.now() + timedelta(days=2)
    preaccept(application_id=next_in_line.id, accept_until=until, actor=person)

    withdraw(application_id=holder.id, actor=factories.owner_of(holder))
    run_due_tasks()
    confirming = offered(browser, receiver)
    acknowledge(application_id=confirming.id, actor=factories.owner_of(confirming))
    run_due_tasks()

    titles = [browser.shown(each)["title"] for each in receiver.received]
    assert titles[0] == "You have a seat: Night watch"
    assert "You have a seat: Night watch" not in titles[1:]


def test_an_answer_to_look_again_is_told_as_such(receiver: Receiver) -> None:
    browser = Browser()
    holder, _ = waiting()
    browser.added_for(holder.applicant, receiver.url)
    remove(application_id=holder.id, outcome=Outcome.REJECTED, actor=factories.RECRUITER)
    asked = contest(application_id=holder.id, text="Why?", actor=factories.owner_of(holder))

    answer_contest(
        contest_id=asked.id,
        application_id=holder.id,
        answer=ContestAnswer.UPHELD,
        reason=ContestReason.DECISION_STANDS,
        text="We looked.",
        actor=factories.RECRUITER,
    )
    run_due_tasks()

    titles = [browser.shown(each)["title"] for each in receiver.received]
    assert titles == ["The company has looked again: Night watch"]
