"""Mails in tests: nothing leaves the process."""

from __future__ import annotations

import re

import pytest
from django.core import mail

from applicants.codes import Requester
from applicants.mail import PRIVATE
from tasks import enqueue
from tests.support.task_runs import run_due_tasks

HERE = Requester("this browser", "192.0.2.1")
"""The one who asks for codes in tests, where it does not matter who."""


@pytest.fixture
def mail_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put private emails into the outbox as soon as their cause is committed."""
    monkeypatch.setattr(enqueue, "wake_workers", lambda: run_due_tasks(PRIVATE))


def code_to(address: str) -> str:
    """The code in the last mail to an address: its first line."""
    last = [message for message in mail.outbox if message.to == [address]][-1]
    first = str(last.body).partition("\n")[0]
    assert re.fullmatch(r"[0-9]{8}", first)
    return first


def wrong(code: str) -> str:
    """Return a different code."""
    return f"{(int(code) + 1) % 10**8:08}"
