"""Client of the fork server, through which the worker starts and signals children."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys

from django.conf import settings

READ_BYTES = 262_144
# A kind of socket that preserves message boundaries.
SOCKET_KIND = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM
# Environment variables passed to children; the setting TASK_ENVIRONMENT can add more.
ENVIRONMENT = (
    "PATH HOME LANG LC_ALL TZ TMPDIR PYTHONPATH PYTHONDONTWRITEBYTECODE DJANGO_SETTINGS_MODULE"
).split()


class ForkServerClient:
    """Connection to the fork server, which is restarted if it ends."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._last_number = 0

    def fileno(self) -> int:
        """Return the descriptor that a child's end makes readable; start the server if needed."""
        return self._ensure().fileno()

    def start(self, messages: socket.socket, results: int) -> int:
        """Fork a child that uses this socket and pipe; return its number."""
        self._last_number += 1
        message = json.dumps(["start", self._last_number]).encode()
        socket.send_fds(self._ensure(), [message], [messages.fileno(), results])
        return self._last_number

    def signal(self, number: int, which: signal.Signals) -> None:
        """Send a signal to a child and the processes it started, if it is still alive."""
        with contextlib.suppress(OSError):
            self._ensure().send(json.dumps(["signal", number, int(which)]).encode())

    def ended(self) -> list[tuple[int, int]]:
        """Return the numbers and exit codes of children that have ended since the last call."""
        found = []
        control = self._ensure()
        with contextlib.suppress(BlockingIOError):
            while received := control.recv(READ_BYTES, socket.MSG_DONTWAIT):
                message = json.loads(received)
                if message["what"] == "ended":
                    found.append((message["number"], message["code"]))
            self.close()  # the server has ended, with all children
            found += [(number, -signal.SIGKILL) for number in range(self._last_number + 1)]
        return found

    def close(self) -> None:
        """End the fork server and all children; wait until it is gone."""
        if self._control and self._process:
            self._control.close()
            self._process.wait()
        self._control = self._process = None

    def _ensure(self) -> socket.socket:
        if self._control is None:
            self._control, theirs = socket.socketpair(socket.AF_UNIX, SOCKET_KIND)
            names = [*ENVIRONMENT, *getattr(settings, "TASK_ENVIRONMENT", [])]
            # A child makes the spans of its runs, so it needs the settings of OpenTelemetry.
            names += [name for name in os.environ if name.startswith("OTEL_")]
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tasks.child.fork_server", str(theirs.fileno())],
                env={name: os.environ[name] for name in names if name in os.environ},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            theirs.close()
        return self._control
