"""Posting: one message a second and channel, pauses, failures, and channels that are gone."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db.models import F
from django.db.models.functions import Now

from jobs.models import Company, Role
from pipeline.chat import queue
from pipeline.chat.delivery import Outcome, judge
from pipeline.models import ChatCard, ChatChannel, ChatMessage, ChatService
from pipeline.notifications.companies import ALERT_TASK
from pipeline.outgoing.client import Answer, Failure
from pipeline.outgoing.retries import DELAYS_SECONDS
from tasks.models import Task
from tests.support.accounts import member_of
from tests.support.chat import ChatServer, channel, deliver, make_due, states
from tests.support.receiver import Receiver, reply
from tests.support.task_runs import run_due_tasks
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_test_arrives_and_is_recorded(company: Company, chat: ChatServer) -> None:
    row = channel(company.id, chat.slack)
    queue.post_test(company_id=company.id, channel_id=row.id)

    assert run_due_tasks(queue.DELIVER) == ["SUCCEEDED"]

    [body] = chat.posted
    assert body["blocks"][0]["text"]["text"] == "Test"
    assert company.name in body["text"]
    message = ChatMessage.objects.get()
    assert (message.state, message.attempts, message.last_status) == ("SENT", 1, 200)
    row.refresh_from_db()
    assert row.last_success_at


def test_one_address_gets_one_message_a_second(company: Company, chat: ChatServer) -> None:
    slack = channel(company.id, chat.slack)
    teams = channel(company.id, chat.teams, service=ChatService.TEAMS)
    for row in (slack, teams):
        for _ in range(3):
            queue.post_test(company_id=company.id, channel_id=row.id)
    began = time.monotonic()

    assert deliver() == 6

    # Both at once, each at its own pace.
    assert 2.0 <= time.monotonic() - began < 5.0
    assert chat.refused == 0
    assert states() == {"SENT": 6}


def test_two_runs_at_once_post_each_message_once(company: Company, chat: ChatServer) -> None:
    rows = [channel(company.id, f"{chat.slack}{n}") for n in range(3)]
    for row in rows:
        queue.post_test(company_id=company.id, channel_id=row.id)
    chat.receiver.answers(200)

    together([lambda: deliver(2.0)] * 3)

    assert len(chat.receiver.received) == 3


def test_a_pause_that_the_chat_asks_for_is_kept_and_costs_no_attempt(
    company: Company, chat: ChatServer
) -> None:
    row = channel(company.id, chat.slack)
    queue.post_test(company_id=company.id, channel_id=row.id)
    chat.receiver.answers(429, retry_after="120")

    run_due_tasks(queue.DELIVER)
    deliver()

    assert len(chat.receiver.received) == 1
    message = ChatMessage.objects.select_related("channel").get()
    assert (message.state, message.attempts) == ("PENDING", 0)
    for at in (message.next_attempt_at, message.channel.free_at):
        assert at
        assert 110 < (at - message.created_at).total_seconds() < 135
    waiting = Task.objects.filter(type__key=queue.DELIVER, status="PENDING")
    assert waiting.filter(run_after__gte=Now() + timedelta(seconds=100)).exists()


@pytest.mark.parametrize(
    ("status", "said"),
    [(404, b"no_service"), (410, b"channel_is_archived"), (403, b"invalid_token"), (404, b"")],
)
def test_an_address_that_is_gone_is_switched_off_at_once_and_owners_are_told(
    company: Company, chat: ChatServer, status: int, said: bytes
) -> None:
    member_of(company, Role.OWNER, email="owner@example.org")
    row = channel(company.id, chat.slack)
    other = channel(company.id, chat.teams, ChatCard.ALERT, service=ChatService.TEAMS)
    for _ in range(2):
        queue.post_test(company_id=company.id, channel_id=row.id)
    usual = chat.receiver.answer
    chat.receiver.answer = lambda handler: (
        reply(handler, status, said) if "services" in handler.path else usual(handler)
    )

    deliver()
    run_due_tasks(ALERT_TASK)

    row.refresh_from_db()
    assert (row.is_active, row.off_reason) == (False, "GONE")
    assert states() == {"FAILED": 2, "SENT": 1}
    assert len(mail.outbox) == 1
    assert "A chat channel was switched off" in mail.outbox[0].subject
    assert "/company/chat/" in str(mail.outbox[0].body)
    assert chat.titles() == ["A chat channel was switched off"]  # in the channel that works
    assert other.is_active


def fail_often(row: ChatChannel, times: int) -> None:
    for _ in range(times):
        make_due()
        deliver()


def test_a_channel_that_fails_for_three_days_is_switched_off(
    company: Company, chat: ChatServer
) -> None:
    row = channel(company.id, chat.slack)
    queue.post_test(company_id=company.id, channel_id=row.id)
    chat.receiver.answers(500)

    fail_often(row, 9)
    row.refresh_from_db()
    before = (row.is_active, row.failures)
    fail_often(row, 1)

    row.refresh_from_db()
    assert before == (True, 9)
    assert (row.is_active, row.off_reason) == (False, "FAILING")
    message = ChatMessage.objects.get()
    assert (message.state, message.attempts, message.last_error) == ("FAILED", 10, "STATUS")


def test_a_channel_stays_on_if_something_else_arrived_meanwhile(
    company: Company, chat: ChatServer
) -> None:
    row = channel(company.id, chat.slack)
    queue.post_test(company_id=company.id, channel_id=row.id)
    ChatMessage.objects.update(attempts=9, created_at=F("created_at") - timedelta(days=3))
    ChatChannel.objects.update(last_success_at=Now())
    chat.receiver.answers(503)

    deliver()

    row.refresh_from_db()
    assert (row.is_active, states()) == (True, {"FAILED": 1})


def test_a_channel_that_hangs_holds_up_no_other(
    company: Company, chat: ChatServer, second_receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.chat.delivery.POST_SECONDS", 2.0)
    hanging = channel(company.id, f"http://127.0.0.1:{second_receiver.port}/services/x")
    second_receiver.answer = lambda handler: time.sleep(4)
    row = channel(company.id, chat.slack)
    arrived: list[float] = []
    usual = chat.receiver.answer
    chat.receiver.answer = lambda handler: (arrived.append(time.monotonic()), usual(handler))[1]
    for each in (hanging, row):
        queue.post_test(company_id=company.id, channel_id=each.id)
    began = time.monotonic()

    deliver(1.0)

    assert arrived[0] - began < 1.5
    assert states() == {"SENT": 1, "PENDING": 1}
    assert ChatMessage.objects.get(state="PENDING").last_error == "TIMEOUT"


def test_a_run_that_died_leaves_its_message_to_the_next(
    company: Company, chat: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies between the answer and the record."""
    row = channel(company.id, chat.slack)
    queue.post_test(company_id=company.id, channel_id=row.id)

    def die(*_: Any) -> None:
        raise SystemExit

    with monkeypatch.context() as dying:
        dying.setattr("pipeline.chat.delivery.Run._record", die)
        with pytest.raises(SystemExit):
            deliver()
    at_once = deliver(1.0)
    ChatChannel.objects.update(free_at=Now())  # its half a minute is over
    time.sleep(1)

    assert (at_once, deliver(), states()) == (0, 1, {"SENT": 1})
    assert len(chat.posted) == 2  # twice is better than never


def test_a_message_whose_words_cannot_be_made_holds_up_no_other(
    company: Company, chat: ChatServer, caplog: pytest.LogCaptureFixture
) -> None:
    row = channel(company.id, chat.slack)
    queue.post_test(company_id=company.id, channel_id=row.id)
    ChatMessage.objects.update(card=ChatCard.REPORT, about={"no": "week"})
    queue.post_test(company_id=company.id, channel_id=row.id)

    deliver(4.0)

    assert states() == {"PENDING": 1, "SENT": 1}
    assert "cannot be made" in caplog.text


def test_a_host_that_the_site_no_longer_allows_gets_nothing(
    company: Company, chat: ChatServer, settings: Any
) -> None:
    row = channel(company.id, chat.slack)
    queue.post_test(company_id=company.id, channel_id=row.id)
    settings.CHAT_HOSTS = ["hooks.slack.com"]

    deliver(1.0)

    assert chat.receiver.received == []
    assert ChatMessage.objects.get().last_error == "ADDRESS_REFUSED"


def test_a_private_address_gets_nothing(company: Company, chat: ChatServer, settings: Any) -> None:
    row = channel(company.id, chat.slack)
    queue.post_test(company_id=company.id, channel_id=row.id)
    settings.WEBHOOK_ALLOW_PRIVATE = False

    deliver(1.0)

    assert chat.receiver.received == []
    assert ChatMessage.objects.get().last_error == "ADDRESS_REFUSED"


def answer(status: int | None, body: str = "", **given: Any) -> Answer:
    failure = None if status and status < 300 else Failure.STATUS
    return Answer(None, None, status=status, body=body, **{"failure": failure} | given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("service", "given", "expected"),
    [
        ("SLACK", answer(200, "ok"), ("SENT", None, True)),
        ("TEAMS", answer(202), ("SENT", None, True)),
        ("TEAMS", answer(200, "1"), ("SENT", None, True)),
        ("SLACK", answer(400, "invalid_payload"), ("FAILED", None, True)),
        ("SLACK", answer(400, "no_service"), ("FAILED", "GONE", True)),
        ("SLACK", answer(403, "action_prohibited"), ("PENDING", None, True)),
        ("SLACK", answer(429), ("PENDING", None, False)),
        ("SLACK", answer(500, "rollup_error"), ("PENDING", None, True)),
        ("TEAMS", answer(404, '{"error":{"code":"WorkflowNotFound"}}'), ("FAILED", "GONE", True)),
        (
            "TEAMS",
            answer(
                200,
                "Webhook message delivery failed with error: Microsoft Teams endpoint"
                " returned HTTP error 429 with ContextId x",
            ),
            ("PENDING", None, False),
        ),
        ("SLACK", answer(None, failure=Failure.TIMEOUT), ("PENDING", None, True)),
    ],
)
def test_what_the_chats_answer_decides_about_message_and_channel(
    service: str, given: Answer, expected: tuple[str, str | None, bool]
) -> None:
    found: Outcome = judge(given, ChatService(service), 1, 60.0)

    assert (found.state, found.off, found.is_counted) == expected


def test_a_chat_that_is_always_busy_is_given_up_after_three_days() -> None:
    found = judge(answer(429), ChatService.SLACK, 10, sum(DELAYS_SECONDS) + 1.0)

    assert (found.state, found.off) == ("FAILED", "FAILING")
