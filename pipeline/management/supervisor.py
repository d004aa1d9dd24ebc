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

LEASH = (sys.executable, "-m", "pipeline.management.die_with_parent")
TICK_SECONDS = 0.2
GONE_SECONDS = 2  # that the kernel has to end what was killed
LIFE_SECONDS = 3  # what ends sooner than this after its start would end again
GRACE_SECONDS = 12  # longer than gunicorn gives its requests
URGE_SECONDS = 6  # then we ask again: a task worker gives back what it has not finished by then


@dataclass(frozen=True)
class Program:
    """A program to run: a name for people, its command, and descriptors it inherits.

    One that `restarts` is started again when it ends by itself, unless it does so at once.
    """

    name: str
    command: list[str]
    pass_fds: tuple[int, ...] = ()
    restarts: bool = False


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

    `say` is told, in a sentence, when one is started again.

    Within it, Ctrl-C and SIGTERM no longer interrupt: they end the waits. That stays so after it,
    so that nothing cuts off the end. After kill -9 of this process, the programs end by
    themselves, see `leash`.
    """

    def __init__(
        self, programs: list[Program], *, folder: Path, say: Callable[[str], object]
    ) -> None:
        self._programs = {program.name: program for program in programs}
        self._folder = folder
        self._say = say
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._started: dict[str, float] = {}
        self.is_stopping = False

    def __enter__(self) -> Supervisor:
        on_stop_signals(self._note_signal)
        try:
            for program in self._programs.values():
                self._start(program)
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

    def _start(self, program: Program) -> None:
        self._started[program.name] = time.monotonic()
        self._running[program.name] = subprocess.Popen(
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
        for name, process in list(self._running.items()):
            if process.poll() is not None:
                self._ended(self._programs[name], process)
        time.sleep(TICK_SECONDS)

    def _ended(self, program: Program, process: subprocess.Popen[bytes]) -> None:
        ended = ProgramEnded(program.name, process.returncode)
        _kill_session(process.pid)
        if not program.restarts or time.monotonic() - self._started[program.name] < LIFE_SECONDS:
            raise ended
        self._say(f"{ended}; it is started again.")
        self._start(program)

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
    """End what a program started and left behind; all of it is in the program's own session.

    Waits until it is gone, or nearly so: who still lives counts as a user of the database.
    """
    deadline = time.monotonic() + GONE_SECONDS
    with suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < deadline:
            os.killpg(leader, signal.SIGKILL)
            time.sleep(0.01)
