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
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType

from pipeline.management.supervisor import (
    GRACE_SECONDS,
    STOP_SIGNALS,
    NotReady,
    Program,
    ProgramEnded,
    Supervisor,
    install_stop_handler,
)

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
