"""A whole site on machines of its own: front, web servers, workers, pooler and a cluster.

`machines.py` makes the machines. This machine, HERE, has the clients and the mail server.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

import harness
import psycopg
from machines import HERE, Machine, machines
from patroni_cluster import ClusterOptions, PatroniCluster, patroni_cluster, wait_until

from pipeline.database.cluster import unprivileged_user
from tests.deploy.pgbouncer import installed_pooler, write_pooler_file

DATABASE_PARTS = ("etcd", "node1", "node2", "node3", "proxy")
WEB, PARTS = ("web1", "web2"), ("decay1", "decay2", "tasks1", "tasks2")
POOLER_PORT, WEB_PORT, FRONT_PORT = 6432, 8000, 8080
WEB_PROCESSES, START_SECONDS = 2, 90
FRONT = """
defaults
  mode http
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  retries 3
  option redispatch
  option forwardfor
listen site
  bind {address}:{port}
  maxconn 2000
  option httpchk
  http-check send meth GET uri /health/live hdr Host localhost
  default-server inter 1s fall 2 rise 1 on-marked-down shutdown-sessions
"""
ROLES = (
    "CREATE ROLE nextinline_owner LOGIN",
    "CREATE ROLE nextinline_app LOGIN",
    "CREATE DATABASE next_in_line OWNER nextinline_owner",
)


class MachinesSite:
    """The site, its cluster and its machines; `address` is where people reach it."""

    def __init__(
        self, folder: Path, where: dict[str, Machine], cluster: PatroniCluster, mail_port: int
    ) -> None:
        self.folder, self.machines, self.cluster = folder, where, cluster
        self.address = (where["front"].address, FRONT_PORT)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.environment = kept | {
            "DATABASE_URL": self._url("nextinline_app", f"{where['pooler'].address}:{POOLER_PORT}"),
            "DATABASE_DIRECT_URL": self._url("nextinline_app", cluster.address),
            "SECRET_KEY": "of-a-benchmark-0123456789-abcdefg",
            "SITE_URL": f"http://{self.address[0]}:{FRONT_PORT}",
            "ALLOWED_HOSTS": f"{self.address[0]},localhost",
            "TRUSTED_PROXIES": self.address[0],
            "EMAIL_URL": f"smtp://{HERE}:{mail_port}",
            "PREPARED_STATEMENTS": "on" if installed_pooler()[1] else "off",
            "WEB_CONCURRENCY": str(WEB_PROCESSES),
            "STREAMS_PER_ADDRESS": "1000",
            "SECURE_COOKIES": "off",
            "THROTTLE_API": "off",
            "THROTTLE_ANONYMOUS": "off",
            "DEMO_TASKS": "on",
            "LOG_LEVEL": "WARNING",
            "DJANGO_SETTINGS_MODULE": harness.SETTINGS,
        }

    def prepare(self) -> None:
        """Make roles and tables, and set up Django in this process on the cluster itself."""
        with psycopg.connect(self._url("postgres", self.cluster.address, "postgres")) as server:
            server.autocommit = True
            for statement in ROLES:
                server.execute(statement)
        os.environ |= self.environment | {
            "DATABASE_URL": self.environment["DATABASE_DIRECT_URL"],
            "MIGRATION_DATABASE_URL": self._url("nextinline_owner", self.cluster.address),
            "ANCHOR_FILE": f"{self.folder}/anchors.jsonl",
            "ANCHOR_KEY_FILE": f"{self.folder}/key",
            "LOG_LEVEL": "ERROR",
        }
        del os.environ["DATABASE_DIRECT_URL"]
        harness.setup()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)

    def start(self) -> None:
        """Start everything, and wait until people can reach it."""
        self.start_pooler()
        front = FRONT.format(address=self.address[0], port=FRONT_PORT)
        for name in WEB:
            where = f"{self.machines[name].address}:{WEB_PORT}"
            front += f"  server {name} {where} check\n"
            config = ["-c", "python:pipeline.server.gunicorn_config", "--bind", where]
            self._run(name, sys.executable, "-m", "gunicorn", *config, "pipeline.asgi")
        (self.folder / "front.cfg").write_text(front)
        self._run("front", "haproxy", "-db", "-f", self.folder / "front.cfg")
        for name in PARTS:
            self._run(name, sys.executable, "manage.py", f"run_{name[:-1]}")
        wait_until(self._is_answering, START_SECONDS)

    def start_pooler(self) -> None:
        """Start the pooler; also again."""
        machine, user = self.machines["pooler"], unprivileged_user()
        proxy = urlsplit(f"//{self.cluster.address}")
        place = f"host={proxy.hostname} port={proxy.port} dbname=next_in_line"
        listen = ("listen_addr = 127.0.0.1", f"listen_addr = {machine.address}")
        file = write_pooler_file(self.folder, place, POOLER_PORT, listen)
        self._run(
            "pooler", installed_pooler()[0], file,
            identity=(user.pw_uid, user.pw_gid) if user else None,
        )  # fmt: skip

    def ended(self) -> list[str]:
        """Return which of the processes that were started have ended, with their exit codes."""
        codes = {name: process.poll() for name, process in self._processes.items()}
        return [f"{name} ({code})" for name, code in codes.items() if code is not None]

    def rows(self, statement: str, **given: Any) -> list[Any]:
        """Ask the primary, as its superuser."""
        with psycopg.connect(self._url("postgres", self.cluster.address)) as connection:
            cursor = connection.execute(statement.encode(), given)
            return cursor.fetchall() if cursor.description else []

    def pooled_clients(self) -> int:
        """Return how many connections the pooler's clients have."""
        url = self._url("nextinline_app", f"{self.machines['pooler'].address}:{POOLER_PORT}")
        with psycopg.connect(url.replace("/next_in_line", "/pgbouncer"), autocommit=True) as admin:
            return len(admin.execute("SHOW CLIENTS").fetchall())

    def _url(self, role: str, address: str, name: str = "next_in_line") -> str:
        return f"postgres://{role}@{address}/{name}?connect_timeout=2"

    def _is_answering(self) -> bool:
        with suppress(OSError):
            urlopen(f"http://{self.address[0]}:{FRONT_PORT}/health/ready", timeout=2).close()
            return True
        return False

    def _run(self, name: str, *command: object, identity: tuple[int, int] | None = None) -> None:
        self._processes[name] = self.machines[name].start(
            command,
            log=self.folder / f"{name}.log",
            environment=self.environment,
            folder=harness.ROOT,
            identity=identity,
        )


@contextmanager
def machines_site(folder: Path, options: ClusterOptions, mail_port: int) -> Iterator[MachinesSite]:
    """A prepared site that has not started; machines and cluster are gone afterwards."""
    with (
        machines(*DATABASE_PARTS, "pooler", "front", *WEB, *PARTS) as where,
        patroni_cluster(options, where) as cluster,
    ):
        site = MachinesSite(folder, where, cluster, mail_port)
        site.prepare()
        yield site
