"""The receivers in docs/examples: they verify what we send, print it once, and refuse the rest."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from jobs.models import Company
from pipeline.webhooks.deliver import send_due_webhooks
from pipeline.webhooks.endpoints import generate_secret, redeliver_one, send_test, sign_delivery
from tests.support.environment import ROOT
from tests.support.tools import needed_tool
from tests.support.webhooks import endpoint, only_delivery

pytestmark = pytest.mark.django_db(transaction=True)

EXAMPLES = {"python": "receive_webhooks.py", "node": "receive_webhooks.mjs"}


class Example:
    """A running receiver."""

    def __init__(self, command: list[str], secret: str) -> None:
        self.process = subprocess.Popen(
            [*command, "0"],
            cwd=ROOT / "docs" / "examples",
            env={"PATH": os.environ["PATH"], "WEBHOOK_SECRET": secret},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr
        found = re.search(r"http://\S+", self.process.stderr.readline())
        assert found
        self.url = found[0] + "/"

    def printed(self) -> list[str]:
        self.process.terminate()
        said, _ = self.process.communicate(timeout=60)
        return said.splitlines()


@pytest.fixture(params=list(EXAMPLES))
def example(request: pytest.FixtureRequest, company: Company) -> Iterator[tuple[Example, str]]:
    made, secret = endpoint(company.id, "http://127.0.0.1:9/")
    is_python = request.param == "python"
    program = sys.executable if is_python else needed_tool("node", "apt-get install nodejs")
    running = Example([program, EXAMPLES[request.param]], secret)
    type(made).objects.filter(id=made.id).update(url=running.url)
    yield running, secret
    running.process.kill()
    running.process.wait()


def post(url: str, headers: dict[str, str], body: bytes) -> int:
    try:
        with urlopen(Request(url, body, headers), timeout=60) as answer:  # noqa: S310  ours
            return int(answer.status)
    except HTTPError as error:
        return error.code


def test_it_verifies_and_prints_each_event_once(
    company: Company, example: tuple[Example, str]
) -> None:
    running, _ = example
    made = company.webhook_endpoints.get()
    sent = send_test(company_id=company.id, endpoint_id=made.id)
    send_due_webhooks()
    redeliver_one(company_id=company.id, endpoint_id=made.id, delivery_id=sent.id)
    send_due_webhooks()

    assert (only_delivery().state, only_delivery().attempts) == ("DELIVERED", 2)
    [line] = running.printed()
    told = json.loads(line)
    assert (told["type"], told["id"]) == ("webhook.test", sent.webhook_id)


def test_it_refuses_what_is_not_signed_with_its_secret_or_is_old(
    example: tuple[Example, str],
) -> None:
    running, secret = example
    body, now = b'{"type":"webhook.test"}', int(time.time())

    def send(at: int, key: str, message: str = "msg_1") -> int:
        signed = sign_delivery("msg_1", at, body, [key])
        names = ("webhook-id", "webhook-timestamp", "webhook-signature")
        return post(running.url, dict(zip(names, (message, str(at), signed), strict=True)), body)

    assert send(now, secret) == 204
    assert send(now, generate_secret()) == 401
    assert send(now, secret, "msg_2") == 401
    assert send(now - 600, secret) == 401
    assert send(now + 600, secret) == 401
    assert post(running.url, {}, body) == 401
    assert len(running.printed()) == 1
