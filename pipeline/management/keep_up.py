"""Keep the programs of `manage.py up` running until Ctrl-C, in a process without Django.

`manage.py up` prepares the database, writes a plan and becomes this program, because it waits for
hours: with Django loaded, waiting would hold 50 MB. The plan is passed as an open file, since it
holds the demo's password and anyone on the machine can read a command line.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType, TracebackType

# Supervisor of programs that start together, stay up and end together.


STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# Run without this environment's packages: a watcher stays beside each program and needs none.
DIE_WITH_PARENT = (
    sys.executable,
    "-IS",
    str(Path(__file__).with_name("die_with_parent.py")),
)
TICK_SECONDS = 0.2
GONE_SECONDS = 2  # time for the kernel to end killed processes
# The pause before an ended program is started again: twice the previous one, unless the program ran
# for LIFE_SECONDS.
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 30.0
LIFE_SECONDS = 60.0
GRACE_SECONDS = 12  # longer than gunicorn's limit for requests
URGE_SECONDS = 6  # then we ask again: by then, a task worker has returned its unfinished tasks


@dataclass(frozen=True)
class Program:
    """Program to run: a name for people, its command, and descriptors it inherits.

    A program that ends by itself is started again. If it `must_start`, this holds only once the
    product is ready: before that, its end is an error.
    """

    name: str
    command: list[str]
    pass_fds: tuple[int, ...] = ()
    must_start: bool = False


class ProgramEnded(Exception):
    """A program ended while the product started."""

    def __init__(self, name: str, code: int) -> None:
        super().__init__(f"{name} ended by itself (exit code {code})")
        self.name = name
        self.code = code


class NotReady(Exception):
    """A wait for a condition timed out."""


def install_stop_handler(handler: Callable[[int, FrameType | None], None]) -> None:
    """Call `handler` when we are asked to end. Under nohup, a hang-up is ignored."""
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        numbers.append(signal.SIGHUP)
    for number in numbers:
        signal.signal(number, handler)


class Supervisor:
    """Runner of programs in `folder`; a context manager that leaves no process behind.

    `say` is called with a sentence when a program is started again.

    Inside the context, Ctrl-C and SIGTERM do not interrupt but end the waits. This remains so
    afterwards, so that nothing interrupts the end. After kill -9 of this process, the programs end
    by themselves (see `die_with_parent`).
    """

    def __init__(
        self, programs: list[Program], *, folder: Path, say: Callable[[str], object]
    ) -> None:
        self._programs = {program.name: program for program in programs}
        self._folder = folder
        self._say = say
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._started: dict[str, float] = {}
        self._pauses: dict[str, float] = {}
        self._due: dict[str, float] = {}
        self._left: dict[str, int] = {}  # sessions of programs that have ended
        self._is_ready = False
        self.is_stopping = False

    def __enter__(self) -> Supervisor:

        def note_supervised_signal(number: int, frame: FrameType | None) -> None:
            self.is_stopping = True

        install_stop_handler(note_supervised_signal)
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

    def _start(self, program: Program) -> None:
        self._started[program.name] = time.monotonic()
        self._running[program.name] = subprocess.Popen(
            [*DIE_WITH_PARENT, *program.command],
            cwd=self._folder,
            stdin=subprocess.PIPE,  # closed by the kernel when this process ends
            pass_fds=program.pass_fds,
            start_new_session=True,  # the terminal's Ctrl-C reaches only us; we stop the others
        )

    def wait_until(self, condition: Callable[[], bool], *, seconds: float) -> None:
        """Wait until `condition` holds, or a signal stops us.

        Raises ProgramEnded if a program that `must_start` ends meanwhile, NotReady after `seconds`.
        """
        deadline = time.monotonic() + seconds
        while not self.is_stopping and not condition():
            if time.monotonic() > deadline:
                raise NotReady
            self._tick()

    def wait(self) -> None:
        """Wait until a signal stops us. From now on, every program that ends is started again."""
        self._is_ready = True
        while not self.is_stopping:
            self._tick()

    def _tick(self) -> None:
        for name, process in list(self._running.items()):
            if process.poll() is not None:
                self._note_end(name, process)
        for name, due in list(self._due.items()):
            if time.monotonic() >= due:
                del self._due[name]
                _kill_supervised_session(self._left.pop(name))
                self._start(self._programs[name])
        time.sleep(TICK_SECONDS)

    def _note_end(self, name: str, process: subprocess.Popen[bytes]) -> None:
        """Plan the next start of an ended program. Raises ProgramEnded if it did not start.

        Until then, the processes that it left behind can finish what they are doing.
        """
        ended = ProgramEnded(name, process.returncode)
        del self._running[name]
        self._left[name] = process.pid
        if process.stdin:
            process.stdin.close()
        if self._programs[name].must_start and not self._is_ready:
            raise ended
        has_run_well = time.monotonic() - self._started[name] >= LIFE_SECONDS
        last = 0.0 if has_run_well else self._pauses.get(name, 0.0)
        pause = min(LONGEST_PAUSE_SECONDS, max(FIRST_PAUSE_SECONDS, 2 * last))
        self._pauses[name], self._due[name] = pause, time.monotonic() + pause
        self._say(f"{ended}; it is started again in {pause:g} s.")

    def _stop_all(self) -> None:
        """Ask all programs to end, twice, then kill the remaining ones after the grace period."""
        start = time.monotonic()
        for until in (start + URGE_SECONDS, start + GRACE_SECONDS):
            for process in self._running.values():
                process.terminate()
            for process in self._running.values():
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=max(0.0, until - time.monotonic()))
        for session in (*self._left.values(), *(each.pid for each in self._running.values())):
            _kill_supervised_session(session)
        for process in self._running.values():
            if process.stdin:
                process.stdin.close()


def _kill_supervised_session(leader: int) -> None:
    """Kill the processes that a program left behind, all of which are in its own session.

    Waits a little until they are gone, because a living one counts as a user of the database.
    """
    deadline = time.monotonic() + GONE_SECONDS
    with suppress(ProcessLookupError, PermissionError):
        while time.monotonic() < deadline:
            os.killpg(leader, signal.SIGKILL)
            time.sleep(0.01)


HOST = "127.0.0.1"
READY_PATH = "/health/ready"
READY_SECONDS = 60
WORKER_SECONDS = 10  # to wait for the workers before the welcome is printed anyway
PROBE_SECONDS = 2
ALL_THERE, SOMETHING_MISSING = 200, 503
STOPPING = (
    f"Stopping; running programs have up to {GRACE_SECONDS} s to finish. "
    "Longer background work continues at the next start."
)


@dataclass(frozen=True)
class Plan:
    """Programs to keep up in `folder`, and the welcome to print once the site on `port` answers.

    `database` is the folder of the embedded PostgreSQL, if one is used. This process counts among
    its users, so that the last one to end stops it.
    """

    programs: list[Program]
    folder: str
    port: int
    welcome: str
    database: str | None = None
    conf: dict[str, str] = field(default_factory=dict)


def exec_plan(plan: Plan) -> None:
    """Replace this process by one that carries out `plan`. Does not return.

    Signals that end the product wait until the new program can handle them.
    """
    file = tempfile.TemporaryFile("w+")  # noqa: SIM115  the next program closes it
    json.dump(asdict(plan), file)
    file.flush()
    for inherited in {file.fileno(), *(fd for each in plan.programs for fd in each.pass_fds)}:
        os.set_inheritable(inherited, True)
    sys.stdout.flush()
    sys.stderr.flush()
    os.chdir(plan.folder)
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    program = [sys.executable, "-m", __name__, str(file.fileno())]
    os.execv(program[0], program)  # noqa: S606  our own Python


def read_plan(descriptor: int) -> Plan:
    """Read the plan that `exec_plan` wrote into an open file, and close it."""
    with os.fdopen(descriptor) as file:
        file.seek(0)
        found = json.load(file)
    programs = [
        Program(**each | {"pass_fds": tuple(each["pass_fds"])}) for each in found["programs"]
    ]
    return Plan(**found | {"programs": programs})


def run(plan: Plan) -> int:
    """Run the programs until a signal asks us to end; return the exit code."""
    hold_database(plan)
    install_stop_handler(stop)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    ports = {fd for each in plan.programs for fd in each.pass_fds}
    with Supervisor(plan.programs, folder=Path(plan.folder), say=say) as supervisor:
        try:
            await_readiness(supervisor, plan.port)
            if not supervisor.is_stopping:
                say(plan.welcome)
            supervisor.wait()
        except ProgramEnded as ended:
            return fail(f"{ended}; the others were stopped.")
        except NotReady:
            return fail(f"The web pages did not answer in {READY_SECONDS} s.")
        finally:
            for fd in ports:
                os.close(fd)  # kept for the next web server; now the last one to hold it is web
        say(STOPPING)
    return 0


def stop(number: int, frame: FrameType | None) -> None:
    """Exit through the exit handlers, which stop the database. Ignore a second signal."""
    install_stop_handler(lambda *_: None)
    sys.exit(128 + number)


def hold_database(plan: Plan) -> None:
    """Count this process among the users of the embedded PostgreSQL, if there is one."""
    if plan.database is not None:
        from pipeline.database.cluster import Cluster

        Cluster(Path(plan.database), **plan.conf).ensure()


def await_readiness(supervisor: Supervisor, port: int) -> None:
    """Wait until the web pages respond, and a little longer for the workers.

    Raises ProgramEnded if a program ends meanwhile, and NotReady if the web pages do not answer.
    """
    answers = (ALL_THERE, SOMETHING_MISSING)
    supervisor.wait_until(lambda: probe_readiness(port) in answers, seconds=READY_SECONDS)
    with suppress(NotReady):
        supervisor.wait_until(lambda: probe_readiness(port) == ALL_THERE, seconds=WORKER_SECONDS)


def probe_readiness(port: int) -> int | None:
    """Return the HTTP status of the readiness check; None if there is no answer."""
    client = http.client.HTTPConnection(HOST, port, timeout=PROBE_SECONDS)
    try:
        client.request("GET", READY_PATH)
        return client.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        client.close()


def say(sentence: str) -> None:
    """Print a sentence at once."""
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


def fail(sentence: str) -> int:
    """Print why the product ended by itself; return the exit code."""
    sys.stderr.write(f"{sentence}\n")
    return 1


if __name__ == "__main__":
    sys.exit(run(read_plan(int(sys.argv[1]))))
