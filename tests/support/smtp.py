"""A mail server for tests, on a separate port, that does what a test tells it to."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from email import message_from_bytes
from email.message import Message
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session


class Mailbox:
    """Emails that the server accepted, and its answers: a code and a text each, or an act."""

    def __init__(self) -> None:
        self.taken: list[Message] = []
        self.rcpt_answers: list[str] = []  # one for each RCPT, then 250
        self.data_answers: list[str] = []
        self.after_data: Callable[[SMTP], None] | None = None
        self.seconds_before_data = 0.0

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        answer = self.rcpt_answers.pop(0) if self.rcpt_answers else "250 OK"
        if answer.startswith("250"):
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        if self.seconds_before_data:
            import asyncio

            await asyncio.sleep(self.seconds_before_data)
        answer = self.data_answers.pop(0) if self.data_answers else "250 OK"
        if answer.startswith("250"):
            content = envelope.content
            assert isinstance(content, bytes)
            self.taken.append(message_from_bytes(content))
        if self.after_data:
            self.after_data(server)
        return answer


@contextmanager
def mail_server(settings: Any, mailbox: Mailbox, *, port: int = 0) -> Iterator[int]:
    """A running server, which the site's emails go to; its port."""
    controller = Controller(mailbox, hostname="127.0.0.1", port=port or free_port())
    controller.start()
    point_to(settings, controller.port)
    try:
        yield controller.port
    finally:
        controller.stop()


def point_to(settings: Any, port: int) -> None:
    """Let the site's emails go to a port of this machine, by SMTP."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT, settings.EMAIL_TIMEOUT = "127.0.0.1", port, 1


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def raw_server(answer: Callable[[socket.socket], None]) -> Iterator[int]:
    """A server that treats each connection as told; its port."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.1)
    over = threading.Event()

    def serve() -> None:
        while not over.is_set():
            with suppress(TimeoutError, OSError):
                client, _ = listener.accept()
                with client, suppress(OSError):
                    answer(client)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        over.set()
        thread.join(5)
        listener.close()


def say_nothing(client: socket.socket) -> None:
    """Accept the connection and never say a word."""
    time.sleep(2)


def say_garbage(client: socket.socket) -> None:
    """Speak no SMTP at all."""
    client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def hang_up(client: socket.socket) -> None:
    """Greet and hang up."""
    client.sendall(b"220 hello\r\n")
