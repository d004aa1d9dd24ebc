"""Cost of a request over HTTP: p50, and CPU of web server and PostgreSQL together.

Applying (a new person each time), one application, and a page of the queue, each in a closed
loop of 8 connections against gunicorn as it runs in production, with 10,000 people waiting.
"""

from __future__ import annotations

import argparse
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import harness
from storm import Client, company_key, create_job, free_port

CONNECTIONS, WAITING = 8, 10_000
TICK = os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10, help="for each kind of request")
    options = parser.parse_args()
    os.environ["THROTTLE_API"] = "off"
    harness.start()
    port, key = free_port(), company_key()
    server = _start(port)
    try:
        job_id = create_job(port, key)
        _fill(port, key, job_id)
        for name, act in _requests(key, job_id).items():
            _measure(name, act, port, server.pid, options.seconds)
    finally:
        server.terminate()
        server.wait(15)
    print("goal for applying: at most 4 ms of CPU, web server and PostgreSQL together")


def _start(port: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "gunicorn", "-c", "python:pipeline.server.gunicorn_config"]
    command += ["--log-level", "warning", "-b", f"127.0.0.1:{port}", "pipeline.asgi"]
    server = subprocess.Popen(command, cwd=harness.ROOT)
    while Client(port).connects() is False:
        time.sleep(0.1)
    return server


def _fill(port: int, key: str, job_id: str) -> None:
    from uuid import UUID

    from pipeline.domain.states import Actor, ActorKind
    from pipeline.services.apply import apply

    harness.make_people(WAITING)
    for (person,) in harness.execute("SELECT id FROM bench_people ORDER BY n"):
        apply(
            job_id=UUID(job_id),
            applicant_id=person,
            name="Bench",
            actor=Actor(ActorKind.COMPANY, person),
        )
    harness.execute("VACUUM ANALYZE")


def _requests(key: str, job_id: str) -> dict[str, Callable[[Client], int]]:
    (one,) = harness.execute("SELECT id FROM pipeline_application ORDER BY ticket LIMIT 1")
    number = itertools.count()

    def apply(client: Client) -> int:
        body = {"name": "Bench", "email": f"bench{next(number)}@bench.example"}
        return client.call("POST", f"/jobs/{job_id}/applications", key, body)[0]

    return {
        "apply": apply,
        "one application": lambda client: client.call("GET", f"/applications/{one[0]}", key)[0],
        "page of the queue": lambda client: client.call("GET", f"/jobs/{job_id}/queue", key)[0],
    }


def _measure(name: str, act: Callable[[Client], int], port: int, web: int, seconds: int) -> None:
    times: list[float] = []
    before = _cpu_seconds(web)
    threads = [
        threading.Thread(target=_loop, args=(act, port, seconds, times)) for _ in range(CONNECTIONS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = [after - start for after, start in zip(_cpu_seconds(web), before, strict=True)]
    count = len(times)
    print(
        f"{name:18} {count / seconds:6.0f}/s  p50 {harness.median(times) * 1e3:5.1f} ms  CPU "
        f"{sum(spent) / count * 1e3:.2f} ms = web {spent[0] / count * 1e3:.2f}"
        f" + PostgreSQL {spent[1] / count * 1e3:.2f}"
    )


def _loop(act: Callable[[Client], int], port: int, seconds: int, times: list[float]) -> None:
    client, end = Client(port), time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        status = act(client)
        times.append(time.perf_counter() - start)
        if status >= 400:
            raise SystemExit(f"answered {status}")


def _cpu_seconds(web: int) -> tuple[float, float]:
    """CPU so far of the web server's processes, and of the whole PostgreSQL they talk to."""
    (postmaster,) = harness.execute(
        "SELECT setting || '/postmaster.pid' FROM pg_settings WHERE name = 'data_directory'"
    )
    database = int(Path(postmaster[0]).read_text().split()[0])
    return _of_family(web), _of_family(database)


def _of_family(pid: int) -> float:
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return sum(_own(member) for member in (pid, *children))


def _own(pid: int | str) -> float:
    """User and system time of a process, and of those of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return sum(int(field) for field in fields[11:15]) / TICK


if __name__ == "__main__":
    main()
