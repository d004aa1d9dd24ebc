"""A streaming replica of a test's own cluster: started, stopped, paused and resumed."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from pipeline.database.cluster import PORT, Cluster, unprivileged_user

REPLICA_PORT = 5433  # only a part of its socket's name


@dataclass(frozen=True)
class Replica:
    """A replica whose files are in `data`, reached through a socket in `socket_dir`."""

    binaries: Path
    data: Path
    socket_dir: Path
    port: int = REPLICA_PORT

    @property
    def url(self) -> str:
        """The site's database on it."""
        return f"postgres://nextinline_app@:{self.port}/{self.socket_dir}/postgres"

    def rows(self, statement: str) -> list[Any]:
        """Ask it, as its superuser."""
        host = str(self.socket_dir)
        with psycopg.connect(
            host=host, port=self.port, user="postgres", dbname="postgres"
        ) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def pause(self) -> None:
        """Receive changes, but replay none."""
        self.rows("SELECT pg_wal_replay_pause()")

    def resume(self) -> None:
        """Replay changes again."""
        self.rows("SELECT pg_wal_replay_resume()")

    def start(self) -> None:
        """Start the server."""
        options = f"-p {self.port} -k {self.socket_dir} -c listen_addresses= -c hot_standby=on"
        self._run("pg_ctl", "start", "-w", "-D", self.data, "-l", f"{self.data}.log", "-o", options)

    def stop(self) -> None:
        """Stop the server, cutting off its connections."""
        self._run("pg_ctl", "stop", "-w", "-D", self.data, "-m", "immediate")

    def _run(self, program: str, *arguments: object) -> None:
        identity: dict[str, Any] = {}
        if user := unprivileged_user():
            identity = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        done = subprocess.run(
            [str(self.binaries / program), *map(str, arguments)],
            check=False,
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            **identity,
        )
        assert done.returncode == 0, done.stderr


@contextmanager
def replica_of(
    cluster: Cluster, *, name: str = "replica", port: int = REPLICA_PORT, follows: bool = True
) -> Iterator[Replica]:
    """A running replica of a cluster, whose files are beside the cluster's.

    If it does not follow, it continues from there as a separate primary.
    """
    folder = cluster.base / "log" / name
    made = Replica(cluster.server.binaries.folder, folder, cluster.socket_dir, port)
    made._run(
        "pg_basebackup", "-h", cluster.socket_dir, "-p", PORT, "-U", "postgres",
        "-D", made.data, "-X", "stream", "-c", "fast", *(["-R"] if follows else []),
    )  # fmt: skip
    (made.data.parent / "embedded.conf").write_bytes((cluster.base / "embedded.conf").read_bytes())
    (made.data.parent / "embedded.conf").chmod(0o644)
    made.start()
    try:
        yield made
    finally:
        made.stop()
