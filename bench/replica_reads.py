"""Cost of a read that the replica serves, against the same read on the primary.

Both run on this machine. CPU of the client, of the primary's process and of the replica's, in ms
per read; the two ways alternate.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID

import harness

APPLICANTS = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=200, help="of each read in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        measure(UUID(options.job), options.calls, options.rounds)
        return
    cluster = harness.start(durable=False)
    from tests.faults.database.replica import replica_of

    job = make_line()
    with replica_of(cluster) as replica:
        host = quote(str(replica.socket_dir), safe="")
        url = f"postgres://postgres@:{replica.port}/{host}/{harness.DATABASE}"
        same = [sys.executable, __file__, "--job", job, "--calls", str(options.calls)]
        same += ["--rounds", str(options.rounds)]
        subprocess.run(same, check=True, env=os.environ | {"REPLICA_URL": url})
    harness.print_load()
    harness.remove()


def make_line() -> str:
    """Make a job with people in line; return its id."""
    from pipeline.domain.states import Actor, ActorKind
    from pipeline.services.joining import apply

    job = harness.make_job()
    harness.make_people(APPLICANTS)
    for (person,) in harness.execute("SELECT id FROM bench_people"):
        actor = Actor(ActorKind.COMPANY)
        apply(job_id=UUID(job), applicant_id=person, name="Bench", actor=actor)
    return job


def measure(job: UUID, calls: int, rounds: int) -> None:
    """Print a row for each read and each server that serves it."""
    harness.setup()
    from django.db import connections

    from pipeline.audit.verify import replay_one_page
    from pipeline.database.replica import READS, REPLICA
    from pipeline.database.replica import primary_only as primary_without_replica
    from pipeline.selectors.board import read_board

    backends = [backend_of(connections[alias]) for alias in ("default", REPLICA)]

    def costs(read: Callable[[], Any]) -> tuple[float, ...]:
        before = cpu_ms(backends)
        for _ in range(calls):
            read()
        return tuple((b - a) / calls for a, b in zip(before, cpu_ms(backends), strict=True))

    print("| read | served by | client | primary | replica |\n|---|---|---|---|---|")
    reads: dict[str, Callable[[], Any]] = {
        "the board": lambda: read_board(job),
        "replay": lambda: replay_one_page(job, seq=APPLICANTS, limit=100),
    }
    for name, read in reads.items():
        found: dict[str, list[tuple[float, ...]]] = {"primary": [], "replica": []}
        for _ in range(rounds):
            with primary_without_replica():
                found["primary"].append(costs(read))
            found["replica"].append(costs(read))
        for server, rows in found.items():
            cells = [f"{harness.median(column):.2f}" for column in zip(*rows, strict=True)]
            print(f"| {name} | {server} | {' | '.join(cells)} |")
    served = {each: READS.labels(each)._value.get() for each in ("replica", "primary")}
    print(f"\nof the reads that may be served by the replica: {served}")


def backend_of(connection: Any) -> Path:
    """Return the file with the CPU time of a connection's process."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return Path(f"/proc/{cursor.fetchone()[0]}/schedstat")


def cpu_ms(backends: list[Path]) -> list[float]:
    """Return the CPU time of this thread and of processes so far."""
    return [time.thread_time() * 1_000] + [
        int(each.read_text().split()[0]) / 1_000_000 for each in backends
    ]


if __name__ == "__main__":
    main()
