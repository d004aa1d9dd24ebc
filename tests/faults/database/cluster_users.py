"""Processes that use an embedded PostgreSQL, and questions about its server."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psycopg

from pipeline.database.cluster import PORT, Cluster

ROOT = Path(__file__).resolve().parents[3]
PATIENCE_SECONDS = 60

# Uses the cluster, says so, and again for each line it is sent; ends with its standard input.
USER = """
import os, sys
from pathlib import Path
from pipeline.database.cluster import Cluster
cluster = Cluster(Path(sys.argv[1]), fsync=os.environ.get("FSYNC", "off"))
cluster.ensure()
print("up", flush=True)
for line in sys.stdin:
    cluster.ensure()
    print("up", flush=True)
"""

# The child of a fork uses the cluster longer than its parent.
FORKING_USER = """
import os, sys, time
from pathlib import Path
from pipeline.database.cluster import Cluster
cluster = Cluster(Path(sys.argv[1]), fsync="off")
cluster.ensure()
if os.fork():
    sys.exit()
cluster.ensure()
print("up", flush=True)
sys.stdin.read()
"""


class User:
    """A process of its own that uses the cluster of `base`."""

    def __init__(self, base: Path, program: str = USER, **environment: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, str(base)],
            cwd=ROOT,
            env=os.environ | environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> str:
        """Its next line: 'up', or nothing if it failed."""
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def ensure_again(self) -> str:
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return self.hear()

    def leave(self) -> None:
        """Close its standard input, and wait until it and its children are gone."""
        assert self.process.stdout
        if not self.process.stdout.closed:
            self.process.communicate(timeout=PATIENCE_SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.leave()


def clean_up(base: Path) -> None:
    cluster = Cluster(base)
    if cluster.base.exists():
        cluster.server.stop()
        shutil.rmtree(cluster.base)
    shutil.rmtree(cluster.socket_dir, ignore_errors=True)


def server_of(base: Path) -> int:
    """The number of the server's process; 0 if none runs."""
    cluster = Cluster(base)
    with contextlib.suppress(OSError, ValueError):
        return int((cluster.server.data / "postmaster.pid").read_text().split()[0])
    return 0


def kill_server(base: Path) -> None:
    process_id = server_of(base)
    assert process_id, "no server to kill"
    os.kill(process_id, signal.SIGKILL)


def is_up(base: Path) -> bool:
    return Cluster(base).server.is_ready()


def query(base: Path, sql: str) -> str:
    """The first value of the answer, as text."""
    host = str(Cluster(base).socket_dir)
    with psycopg.connect(host=host, port=PORT, user="postgres", dbname="postgres") as connection:
        answer = connection.execute(sql)
        row = answer.fetchone() if answer.description else None
    return str(row[0]) if row else ""
