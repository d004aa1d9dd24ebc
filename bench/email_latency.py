"""From a change to its email in the hands of the mail server, while a worker is idle.

    .venv/bin/python bench/email_latency.py [EMAILS]

The mail server runs in this process and takes everything. Measured from before the change to when
the server has the whole email: the change's own time is in it. Goals: p50 100 ms; p99 500 ms.
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
from typing import Any

import harness
from tasks_latency import report

EMAILS = int(sys.argv[1]) if len(sys.argv) > 1 else 200
PATIENCE_SECONDS = 30


class Mailbox:
    """Notes when each email came."""

    def __init__(self) -> None:
        self.came: queue.Queue[float] = queue.Queue()

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.came.put(time.monotonic())
        return "250 OK"


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
    from tests.support import factories

    def code() -> None:
        post_private_email(to="ann@example.org", subject="Your code", text="12345678")

    def applied() -> None:
        factories.application(job)

    code()
    mailbox.came.get(timeout=PATIENCE_SECONDS)  # the worker has started
    job = factories.job()
    report("a sign-in code", times(mailbox, code), "p50 100 ms, p99 500 ms")
    report("an email about an event", times(mailbox, applied), "p50 100 ms, p99 500 ms")


def times(mailbox: Mailbox, act: Callable[[], None]) -> list[float]:
    """Milliseconds from before each act to its email."""
    took = []
    for _ in range(EMAILS):
        time.sleep(0.15)  # the worker is idle again
        begun = time.monotonic()
        act()
        took.append(1_000 * (mailbox.came.get(timeout=PATIENCE_SECONDS) - begun))
    return took


if __name__ == "__main__":
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    main()
