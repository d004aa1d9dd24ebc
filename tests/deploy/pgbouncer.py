"""PgBouncer with the file that we deploy, in front of a cluster of a test."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from pipeline.database.cluster import PORT, unprivileged_user
from tests.support.environment import ROOT
from tests.support.smtp import free_port
from tests.support.tools import needed_tool

FILE = ROOT / "deploy" / "pgbouncer" / "pgbouncer.ini"
PREPARES_SINCE = (1, 21)
START_SECONDS = 20


@dataclass(frozen=True)
class Pooler:
    """A running PgBouncer; `prepares` if it keeps prepared statements."""

    port: int
    prepares: bool

    def url(self, role: str = "nextinline_app") -> str:
        """Return the address of the site's database through the pooler."""
        return f"postgres://{role}@127.0.0.1:{self.port}/nextinline"

    @property
    def settings(self) -> dict[str, str]:
        """Return the site's setting for this version of the pooler."""
        return {"PREPARED_STATEMENTS": "on" if self.prepares else "off"}

    def connect(self) -> psycopg.Connection[Any]:
        """Open a connection through the pooler, each of whose statements is a transaction."""
        return psycopg.connect(self.url(), autocommit=True)

    def transactions(self) -> int:
        """Return how many transactions have passed."""
        with psycopg.connect(
            host="127.0.0.1", port=self.port, user="nextinline_app", dbname="pgbouncer"
        ) as admin:
            admin.autocommit = True
            cursor = admin.execute("SHOW STATS_TOTALS")
            names = [column.name for column in cursor.description or ()]
            rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        return sum(int(row["xact_count"]) for row in rows if row["database"] == "nextinline")


def installed_pooler() -> tuple[str, bool]:
    """Return the program, and whether it keeps prepared statements."""
    command = os.environ.get("PGBOUNCER") or needed_tool("pgbouncer", "apt-get install pgbouncer")
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    [(major, minor)] = re.findall(r"^PgBouncer (\d+)\.(\d+)", said.stdout, re.M)
    return command, (int(major), int(minor)) >= PREPARES_SINCE


def write_pooler_file(folder: Path, database: str, port: int, *changes: tuple[str, str]) -> Path:
    """Write our file for a database without passwords; `changes` replace texts of it."""
    users, file, text = folder / "userlist.txt", folder / "pgbouncer.ini", FILE.read_text()
    users.write_text('"nextinline_app" ""\n"nextinline_owner" ""\n')
    for old, new in (
        ("host=127.0.0.1 port=5432 dbname=nextinline", database),
        ("listen_port = 6432", f"listen_port = {port}\nstats_users = nextinline_app"),
        ("auth_type = scram-sha-256", "auth_type = trust"),
        ("/etc/pgbouncer/userlist.txt", str(users)),
        *([] if installed_pooler()[1] else [("max_prepared_statements = 500\n", "")]),
        *changes,
    ):
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    file.write_text(text)
    return file


@contextmanager
def pooler(socket_dir: Path, folder: Path, *changes: tuple[str, str]) -> Iterator[Pooler]:
    """PgBouncer for the database `postgres` of a cluster; `changes` replace texts of our file."""
    command, prepares = installed_pooler()
    made = Pooler(free_port(), prepares)
    log, place = folder / "pgbouncer.log", f"host={socket_dir} port={PORT} dbname=postgres"
    file = write_pooler_file(folder, place, made.port, *changes)
    identity: dict[str, Any] = {}
    if user := unprivileged_user():  # it refuses to run as root, and the cluster's socket is closed
        identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        folder.chmod(0o755)
    with log.open("wb") as output:
        process = subprocess.Popen(
            [command, str(file)], stdout=output, stderr=output, cwd="/", **identity
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _accepts(made.port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield made
    finally:
        process.kill()
        process.wait(10)


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1):
            return True
    except OSError:
        return False
