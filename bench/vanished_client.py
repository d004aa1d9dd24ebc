"""A client of the pooler whose machine vanishes while it holds a lock: how long the lock stays.

It holds the lock in silence, or an answer is on its way to it. Each with the pooler's file as it
is, and with one line less. The pooler and the client are machines of `machines.py`. Needs root and
PgBouncer.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import harness
import psycopg
from machines import Machine, machines

from pipeline.database.cluster import PORT, Cluster, unprivileged_user
from tests.deploy.pgbouncer import installed_pooler, write_pooler_file

POOLER_PORT, ANSWER_SECONDS = 6432, 1
LINES = ("", "tcp_user_timeout = 10000\n", "tcp_keepidle = 5\n")
SETUP = (
    "CREATE TABLE held (id int)",
    "INSERT INTO held VALUES (1)",
    "GRANT ALL ON held TO nextinline_app",
)
LOCK = "SELECT FROM held FOR UPDATE"
CLIENT = f"""
import psycopg, sys, time
with psycopg.connect(sys.argv[1], prepare_threshold=None) as connection:
    connection.execute("{LOCK}")
    print("held", flush=True)
    if sys.argv[2] == "an answer is on its way":
        connection.execute("SELECT pg_sleep({ANSWER_SECONDS})")
    time.sleep(600)
"""


def main() -> None:
    print("| the client | without | the lock is free after |\n|---|---|---|")
    folder = Path(tempfile.mkdtemp(prefix="vanished-", dir="/tmp"))
    folder.chmod(0o755)
    cluster = Cluster(folder / "postgres", fsync="off")
    try:
        cluster.ensure()
        for statement in SETUP:
            execute(cluster, statement)
        with machines("pooler", "web") as where:
            for line in LINES:
                for doing in ("is silent", "an answer is on its way"):
                    seconds = time_until_free(cluster, where, folder, doing, line)
                    print(f"| {doing} | {line.strip()} | {seconds:.1f} s |", flush=True)
    finally:
        cluster.release()
        shutil.rmtree(folder, ignore_errors=True)
    harness.print_load()


def time_until_free(
    cluster: Cluster, where: dict[str, Machine], folder: Path, doing: str, line: str
) -> float:
    """Start pooler and client, lose the client's machine, and wait for its lock, in seconds."""
    pooler, web, log = where["pooler"], where["web"], folder / "client.log"
    place = f"host={cluster.socket_dir} port={PORT} dbname=postgres"
    changes = [("listen_addr = 127.0.0.1", f"listen_addr = {pooler.address}")]
    file = write_pooler_file(folder, place, POOLER_PORT, *changes, *([(line, "")] if line else []))
    user, environment = unprivileged_user(), dict(os.environ)
    running = pooler.start(
        [installed_pooler()[0], file], log=folder / "pooler.log", environment=environment,
        folder=Path("/"), identity=(user.pw_uid, user.pw_gid) if user else None,
    )  # fmt: skip
    time.sleep(1)
    log.unlink(missing_ok=True)
    url = f"postgres://nextinline_app@{pooler.address}:{POOLER_PORT}/next_in_line"
    command = [sys.executable, "-c", CLIENT, url, doing]
    web.start(command, log=log, environment=environment, folder=Path("/"))
    while "held" not in log.read_text():
        time.sleep(0.05)
    time.sleep(0.3)
    web.die()
    began = time.monotonic()
    execute(cluster, LOCK)
    took = time.monotonic() - began
    running.kill()
    running.wait()
    web.boot()
    return took


def execute(cluster: Cluster, statement: str) -> None:
    """Execute a statement on PostgreSQL itself, as its superuser."""
    host = str(cluster.socket_dir)
    with psycopg.connect(host=host, port=PORT, user="postgres", dbname="postgres") as connection:
        connection.execute(statement.encode())


if __name__ == "__main__":
    main()
