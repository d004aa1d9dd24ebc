"""From a change to its email in the hands of the mail server, while a worker is idle.

    .venv/bin/python bench/email_latency.py [EMAILS]

The mail server runs in this process and takes everything. Measured from before the change to when
the server has the whole email: the change's own time is in it. For an offer, the change is that the
company removes the person before; they get an email too, which is not counted. Goals: p50 100 ms;
p99 500 ms.
"""

from __future__ import annotations

import os
import queue
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from email import message_from_bytes, policy
from typing import Any

import harness
from tasks_latency import report

EMAILS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
PATIENCE_SECONDS = 30


class Mailbox:
    """Notes when each email came, and its subject."""

    def __init__(self) -> None:
        self.came: queue.Queue[tuple[float, str]] = queue.Queue()

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        at = time.monotonic()
        message = message_from_bytes(envelope.content, policy=policy.default)
        self.came.put((at, str(message["Subject"]).strip()))
        return "250 OK"

    def wait_for(self, subject: str) -> float:
        """Return when the next email came whose subject begins so; forget those before it."""
        while True:
            at, found = self.came.get(timeout=PATIENCE_SECONDS)
            if found.startswith(subject):
                return at


def main() -> None:
    from aiosmtpd.controller import Controller

    mailbox = Mailbox()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    controller = Controller(mailbox, hostname="127.0.0.1", port=port)
    controller.start()
    os.environ["EMAIL_URL"] = f"smtp://127.0.0.1:{port}"
    harness.start()
    worker = subprocess.Popen([sys.executable, "manage.py", "run_tasks"], cwd=harness.ROOT)
    try:
        measure(mailbox)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(60)
        controller.stop()
    harness.print_load()


def measure(mailbox: Mailbox) -> None:
    from applicants.mail import post_private_email
    from pipeline.domain.states import Outcome
    from pipeline.models import Application
    from pipeline.services.leaving import remove
    from tests.support import factories

    def code() -> None:
        post_private_email(to="ann@example.org", subject="Your code", text="12345678")

    def applied() -> None:
        factories.application(job)

    def offered() -> None:
        seated = Application.objects.exclude(status__in=("WAITLIST", "INACTIVE")).get(job_id=job)
        remove(application_id=seated.id, outcome=Outcome.REMOVED, actor=factories.RECRUITER)

    code()
    mailbox.wait_for("Your code")  # the worker has started
    job = factories.job()
    applied()
    goal = "p50 100 ms, p99 500 ms"
    report("a sign-in code", times(mailbox, code, "Your code"), goal)
    report("an email about an event", times(mailbox, applied, "You have applied"), goal)
    report("the email of an offer", times(mailbox, offered, "Your turn"), goal)


def times(mailbox: Mailbox, act: Callable[[], None], subject: str) -> list[float]:
    """Milliseconds from before each act to its email."""
    took = []
    for _ in range(EMAILS):
        time.sleep(0.15)  # the worker is idle again
        begun = time.monotonic()
        act()
        took.append(1_000 * (mailbox.wait_for(subject) - begun))
    return took


if __name__ == "__main__":
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    main()
