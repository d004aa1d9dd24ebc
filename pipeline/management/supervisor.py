"""Several programs run as one: they start together, and the end of one is the end of all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType

LEASH = (sys.executable, "-m", "pipeline.management.leash")
TICK_SECONDS = 0.2
GRACE_SECONDS = 12  # longer than gunicorn gives its requests
URGE_SECONDS = 6  # then we ask again: a task worker gives back what it has not finished by then


@dataclass(frozen=True)
class Program:
    """A program to run: a name for people, its command, and descriptors it inherits."""

    name: str
    command: list[str]
    pass_fds: tuple[int, ...] = ()


class ProgramEnded(Exception):
    """A program ended though nobody had asked for it."""

    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"{name} ended by itself (exit code {code})")
        self.name = name
        self.code = code


class NotReady(Exception):
    """Waiting for a condition took too long."""


def on_stop_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    """Have `handler` called when we are asked to end; under nohup a hang-up is no such request."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    for number in numbers:
        signal.signal(number, handler)


class Supervisor:
    """Runs programs in `folder`; a context manager that leaves no process behind.

    Within it, Ctrl-C and SIGTERM no longer interrupt: they end the waits. That stays so after it,
    so that nothing cuts off the end. After kill -9 of this process, the programs end by
    themselves, see `leash`.
    """

    def __init__(self, programs: list[Program], *, folder: Path) -> None:
        self._programs = programs
        self._folder = folder
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self.is_stopping = False

    def __enter__(self) -> Supervisor:
        on_stop_signals(self._note_signal)
        try:
            for program in self._programs:
                self._running[program.name] = self._start(program)
        except BaseException:
            self._stop_all()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop_all()

    def _note_signal(self, number: int, frame: FrameType | None) -> None:
        self.is_stopping = True

    def _start(self, program: Program) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [*LEASH, *program.command],
            cwd=self._folder,
            stdin=subprocess.PIPE,  # the leash: closed by the kernel when this process ends
            pass_fds=program.pass_fds,
            start_new_session=True,  # the terminal's Ctrl-C is for us; we stop the others
        )

    def wait_until(self, condition: Callable[[], bool], *, seconds: float) -> None:
        """Wait until `condition` holds, or somebody stops us.

        Raises ProgramEnded if one ends meanwhile, NotReady after `seconds`.
        """
        deadline = time.monotonic() + seconds
        while not self.is_stopping and not condition():
            if time.monotonic() > deadline:
                raise NotReady
            self._tick()

    def wait(self) -> None:
        """Wait until somebody stops us. Raises ProgramEnded if one of the programs ends first."""
        while not self.is_stopping:
            self._tick()

    def _tick(self) -> None:
        for name, process in self._running.items():
            if process.poll() is not None:
                raise ProgramEnded(name, process.returncode)
        time.sleep(TICK_SECONDS)

    def _stop_all(self) -> None:
        """Ask all to end, twice; kill what is left when the grace is over."""
        start = time.monotonic()
        for until in (start + URGE_SECONDS, start + GRACE_SECONDS):
            for process in self._running.values():
                process.terminate()
            for process in self._running.values():
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=max(0.0, until - time.monotonic()))
        for process in self._running.values():
            _kill_session(process.pid)


def _kill_session(leader: int) -> None:
    """End what a program started and left behind; all of it is in the program's own session."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
