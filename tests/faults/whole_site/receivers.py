"""Receivers of a site's emails and webhooks, which note every copy that they take."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler
from typing import Any

import standardwebhooks
from aiosmtpd.controller import Controller

from tests.support.receiver import Receiver, reply
from tests.support.smtp import free_port

# The last line of an email about an event: its number and its hash.
HEAD = re.compile(r"^Proof (\d+):([0-9a-f]{64})\s*$", re.M)
# How long the mail server works on an email: before it takes it, and before it says so.
TAKING_SECONDS, ANSWERING_SECONDS = 0.02, 0.05
# Every so many requests, the receiver of webhooks takes one and says that it did not.
UNSURE_EVERY = 25


@dataclass(frozen=True)
class Copy:
    """One copy of an email that was taken."""

    message_id: str
    to: str
    head: str  # hash of the event that it is about


class MailReceiver:
    """SMTP server. `unrecorded` are the copies that a kill found taken and not yet recorded."""

    def __init__(self) -> None:
        self.copies: list[Copy] = []
        self.unrecorded: set[int] = set()

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        message = message_from_bytes(envelope.content, policy=policy.default)
        text = message.get_body(("plain",))
        found = HEAD.search(text.get_content()) if text else None
        await asyncio.sleep(TAKING_SECONDS)
        self.copies.append(
            Copy(str(message["Message-ID"]), envelope.rcpt_tos[0], found[2] if found else "")
        )
        await asyncio.sleep(ANSWERING_SECONDS)
        return "250 OK"

    def note_kill(self, recorded: set[str]) -> None:
        """Note which copies were taken and are not recorded as sent; they may come again."""
        self.unrecorded |= {
            n for n, each in enumerate(self.copies) if each.message_id not in recorded
        }

    def by_event(self) -> dict[str, list[tuple[int, Copy]]]:
        """The copies of each event's email, in the order in which they came."""
        found: dict[str, list[tuple[int, Copy]]] = defaultdict(list)
        for n, each in enumerate(self.copies):
            found[each.head].append((n, each))
        return found

    def unexplained(self) -> list[str]:
        """Message-IDs of emails that came again although no kill met their window."""
        return [
            copy.message_id
            for copies in self.by_event().values()
            for n, copy in copies[:-1]
            if n not in self.unrecorded
        ]


@contextmanager
def receiving_mail(host: str = "127.0.0.1") -> Iterator[tuple[MailReceiver, int]]:
    """A running mail server, and its port."""
    logging.getLogger("mail.log").setLevel(logging.WARNING)
    receiver = MailReceiver()
    controller = Controller(receiver, hostname=host, port=free_port())
    controller.start()
    try:
        yield receiver, controller.port
    finally:
        controller.stop()


@dataclass
class HookReceiver:
    """Receiver of webhooks that verifies each; `secrets` by path."""

    receiver: Receiver
    secrets: dict[str, str] = field(default_factory=dict)
    valid: list[tuple[str, str, dict[str, Any]]] = field(default_factory=list)
    invalid: list[str] = field(default_factory=list)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        """Verify a request, note it and answer; sometimes with an error, though it was taken."""
        got = handler.got  # type: ignore[attr-defined]
        try:
            told = standardwebhooks.Webhook(self.secrets[got.path]).verify(got.body, got.headers)
        except (KeyError, standardwebhooks.WebhookVerificationError):
            self.invalid.append(got.id)
            return reply(handler, 401)
        with self._guard:
            self.valid.append((got.path, got.id, told))
            is_unsure = len(self.valid) % UNSURE_EVERY == 0
        time.sleep(0.02)
        return reply(handler, 503 if is_unsure else 204)

    def ids(self, path: str) -> dict[tuple[str, int, str], set[str]]:
        """The ids under which each event arrived: by job, seq and type."""
        found: dict[tuple[str, int, str], set[str]] = defaultdict(set)
        for where, message, told in self.valid:
            if where == path:
                found[told["data"]["job_id"], told["data"]["seq"], told["type"]].add(message)
        return found


@contextmanager
def receiving_webhooks() -> Iterator[HookReceiver]:
    """A running receiver of webhooks."""
    made = HookReceiver(Receiver())
    made.receiver.answer = made.answer
    try:
        yield made
    finally:
        made.receiver.close()
