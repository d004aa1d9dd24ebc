"""Mails in tests: nothing leaves the process."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from django.core import mail

from applicants import mail as sending
from applicants.codes import Requester

HERE = Requester("this browser", "192.0.2.1")
"""The one who asks for codes in tests, where it does not matter who."""


class AtOnce:
    """Does what it is given before it comes back, in place of the threads that send mails."""

    def submit(self, act: Callable[..., Any], *arguments: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(act(*arguments))
        return done


@pytest.fixture
def mail_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put emails into the outbox as soon as their cause is committed."""
    monkeypatch.setattr(sending, "_sender", AtOnce())


def code_to(address: str) -> str:
    """The code in the last mail to an address: its first line."""
    last = [message for message in mail.outbox if message.to == [address]][-1]
    first = str(last.body).partition("\n")[0]
    assert re.fullmatch(r"[0-9]{8}", first)
    return first


def wrong(code: str) -> str:
    """Another code than that one."""
    return f"{(int(code) + 1) % 10**8:08}"
