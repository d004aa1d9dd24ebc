"""Look-ups of names: bounded for each company, and no attempt while they wait."""

from __future__ import annotations

import socket
import time
from typing import Any
from uuid import UUID, uuid4

import pytest

from jobs.models import Company
from pipeline.models import WebhookAttempt
from pipeline.outgoing import client
from pipeline.outgoing.client import Answer, Failure, Outgoing, WebhookClient
from pipeline.webhooks.deliver import send_due_webhooks
from tests.support.receiver import Receiver
from tests.support.waiting import PATIENCE_SECONDS
from tests.support.webhooks import endpoint, only_delivery, queue_many

SILENT_SECONDS = 3


def test_silent_name_servers_of_one_company_take_nothing_from_another(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty look-ups hang: the healthy endpoint is reached, and most of them are no attempts."""
    monkeypatch.setattr(client, "RESOLVE_SECONDS", 0.5)
    monkeypatch.setattr(client, "WAIT_SECONDS", 1.0)
    look_up = socket.getaddrinfo

    def hang(host: Any, *args: Any, **how: Any) -> Any:
        if "silent" in str(host):
            time.sleep(SILENT_SECONDS)
            raise socket.gaierror("nobody answers")
        return look_up(host, *args, **how)

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    silent, healthy, company = [uuid4() for _ in range(40)], uuid4(), uuid4()
    with WebhookClient(timeout_seconds=2) as sender:
        sender.send(
            [Outgoing(each, company, each, "http://silent.example/", {}, b"{}") for each in silent]
        )
        url = f"http://localhost:{receiver.port}/"
        sender.send([Outgoing(healthy, uuid4(), uuid4(), url, {}, b"{}")])
        answers: dict[UUID, Answer] = {}
        while len(answers) <= len(silent):
            answers |= {each.key: each for each in sender.answers(PATIENCE_SECONDS)}

    assert (answers[healthy].failure, answers[healthy].status) == (None, 204)
    assert answers[healthy].duration_ms < SILENT_SECONDS * 1_000
    tried = [each for each in silent if not answers[each].is_unsent]
    assert len(tried) == client.RESOLVERS_OF_COMPANY
    assert {answers[each].failure for each in tried} == {Failure.NAME_NOT_FOUND}


@pytest.mark.django_db(transaction=True)
def test_a_delivery_that_waits_for_a_look_up_keeps_its_attempts(
    company: Company, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy(*_: Any) -> list[str]:
        raise client.ResolversBusy

    endpoint(company.id, receiver.url)
    queue_many(company, 1)
    with monkeypatch.context() as crowded:
        crowded.setattr(client.NetworkResolver, "look_up", busy)
        counts = send_due_webhooks(seconds=0.5)
    waiting = only_delivery()

    send_due_webhooks()

    assert counts["attempts"] == waiting.attempts == 0
    assert only_delivery().state == "DELIVERED"
    assert WebhookAttempt.objects.count() == 1


@pytest.mark.parametrize("found", [["10.0.0.1"], []], ids=["inside", "nowhere"])
def test_a_name_is_looked_up_absolutely_and_nobody_learns_what_it_is_inside(
    settings: Any, monkeypatch: pytest.MonkeyPatch, found: list[str]
) -> None:
    settings.WEBHOOK_ALLOW_PRIVATE = False
    asked = []

    def look_up(host: Any, *_: Any, **__: Any) -> Any:
        asked.append(host)
        if not found:
            raise socket.gaierror("no such name")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 443)) for each in found]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with WebhookClient(timeout_seconds=5) as sender:
        sender.send([Outgoing(uuid4(), uuid4(), uuid4(), "https://kubernetes.default/", {}, b"{}")])
        [answer] = sender.answers(5)

    assert asked == ["kubernetes.default."]
    assert (answer.failure, answer.detail) == (Failure.ADDRESS_REFUSED, "")
