"""Slots: the worker's side of its children. Each has one child, and what that child was given."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections import deque
from typing import Any

from django.conf import settings

from tasks.worker.attempt import Run

READ_BYTES = 262_144
KIND = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM
ENVIRONMENT = (
    "PATH HOME LANG LC_ALL TZ TMPDIR PYTHONPATH PYTHONDONTWRITEBYTECODE DJANGO_SETTINGS_MODULE"
).split()
"""What children see of the environment; TASK_ENVIRONMENT in the settings names what is added."""


class Nursery:
    """The process that forks children, started anew if it ends."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._last_number = 0

    def fileno(self) -> int:
        """What is readable when a child has ended; starts the process if there is none."""
        return self._ensure().fileno()

    def start(self, messages: socket.socket, results: int) -> int:
        """Have a child forked that uses these two ends; gives its number."""
        self._last_number += 1
        told = json.dumps(["start", self._last_number]).encode()
        socket.send_fds(self._ensure(), [told], [messages.fileno(), results])
        return self._last_number

    def signal(self, number: int, which: signal.Signals) -> None:
        """Send a signal to a child and all that it started, if it still lives."""
        with contextlib.suppress(OSError):
            self._ensure().send(json.dumps(["signal", number, int(which)]).encode())

    def ended(self) -> list[tuple[int, int]]:
        """The children that have ended since the last call, with their exit codes."""
        found = []
        control = self._ensure()
        with contextlib.suppress(BlockingIOError):
            while said := control.recv(READ_BYTES, socket.MSG_DONTWAIT):
                told = json.loads(said)
                if told["what"] == "ended":
                    found.append((told["number"], told["code"]))
            self.close()  # it ended, and all children with it
            found += [(number, -signal.SIGKILL) for number in range(self._last_number + 1)]
        return found

    def close(self) -> None:
        """End it, and with it all children; waits until it is gone."""
        if self._control and self._process:
            self._control.close()
            self._process.wait()
        self._control = self._process = None

    def _ensure(self) -> socket.socket:
        if self._control is None:
            self._control, theirs = socket.socketpair(socket.AF_UNIX, KIND)
            names = [*ENVIRONMENT, *getattr(settings, "TASK_ENVIRONMENT", [])]
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tasks.child.fork_server", str(theirs.fileno())],
                env={name: os.environ[name] for name in names if name in os.environ},
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            theirs.close()
        return self._control


class Slot:
    """One child and the runs that it was given and has not answered; it works on the first."""

    def __init__(self, nursery: Nursery) -> None:
        self._nursery = nursery
        self.runs: deque[Run] = deque()
        self.hooks = 0
        self.condemned: Run | None = None
        """Because of which run its child was killed, if it was."""
        self._heard = b""
        self._open()

    @property
    def is_free(self) -> bool:
        """Whether its child has nothing to do."""
        return not self.runs and not self.hooks

    @property
    def is_leaving(self) -> bool:
        """Whether its child was asked to end what it runs: it gets nothing more before that."""
        return bool(self.runs and self.runs[0].why)

    def give(self, run: Run, now: float) -> bool:
        """Hand a run to the child; False when its socket is full."""
        if not self._send(run.message()):
            return False
        if not self.runs:
            run.begun = now
        self.runs.append(run)
        return True

    def give_hooks(self, run: Run) -> None:
        """Have the child call a dead task's hooks."""
        self.hooks += self._send(run.hooks_message())

    def take_back(self) -> list[Run]:
        """Get back what the child has not begun. The kernel decides: each goes to one of us."""
        taken = set()
        with contextlib.suppress(BlockingIOError):
            while said := self._theirs.recv(READ_BYTES, socket.MSG_DONTWAIT):
                what, name, *_ = json.loads(said)
                if what == "run":
                    taken.add(name)
        back = [run for run in self.runs if run.id in taken]
        self.runs = deque(run for run in self.runs if run.id not in taken)
        for run in back:
            run.begun = 0.0
        return back

    def ask_to_end(self) -> None:
        """Tell the child that its run is cancelled; only after `take_back`."""
        self._send(json.dumps(["cancel", self.runs[0].id]).encode())

    def signal(self, which: signal.Signals) -> None:
        """Send the child, and all that it started, a signal."""
        self._nursery.signal(self.number, which)

    def fileno(self) -> int:
        """Where the child's answers come from."""
        return self._results

    def hear(self) -> list[Any]:
        """What the child has said since, in whole lines."""
        said = self._heard
        with contextlib.suppress(BlockingIOError):
            while more := os.read(self._results, READ_BYTES):
                said += more
                if len(more) < READ_BYTES:
                    break
        *lines, self._heard = said.split(b"\n")
        return [json.loads(line) for line in lines]

    def answered(self, now: float) -> Run:
        """The child has answered for the first run: it is at the next one, if there is one.

        One that was interrupted is replaced: the signal may still be on its way to it, and to all
        that it will have started by then.
        """
        run = self.runs.popleft()
        if self.runs:
            self.runs[0].begun = now
        elif run.interrupted and not self.hooks:
            self.renew()
        return run

    def innocent(self) -> Run:
        """Take back what a child had begun when it was killed because of the run before."""
        run = self.runs.popleft()
        run.begun = 0.0
        return run

    def take_back_all(self, to: deque[Run]) -> None:
        """Put what a dead child had not begun at the front of `to`."""
        to.extendleft(reversed(self.take_back()))

    def renew(self) -> None:
        """Start a fresh child in the place of one that has ended."""
        self.close()
        self.runs.clear()
        self.hooks, self.condemned, self._heard = 0, None, b""
        self._open()

    def close(self) -> None:
        """Close our ends; the child ends when it next looks."""
        self._messages.close()
        self._theirs.close()
        os.close(self._results)

    def _open(self) -> None:
        self._messages, self._theirs = socket.socketpair(socket.AF_UNIX, KIND)
        self._messages.setblocking(False)
        self._results, results = os.pipe()
        os.set_blocking(self._results, False)
        self.number = self._nursery.start(self._theirs, results)
        os.close(results)

    def _send(self, message: bytes) -> bool:
        with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
            return self._messages.send(message) > 0
        return False
