"""A whole site in separate processes, which can be killed one by one and started again."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from pipeline.database import file_locks
from pipeline.database.cluster import PORT, Cluster, unprivileged_user
from pipeline.database.data_dir import make_reachable_folder
from tests.support.environment import ROOT, process_environment
from tests.support.orphans import orphans
from tests.support.ports import port_for_server
from tests.support.task_workers import alive, children_of
from tests.support.template_database import fingerprint_of_product
from tests.support.waiting import eventually

SLOTS = 3
START_SECONDS = 60
MIGRATE_SECONDS = 240
# Short, so that what a killed worker had is soon given to the next one.
LEASE = "4"


def copy_migrated_files(cluster: Cluster) -> None:
    """Give a cluster that was never started the files of a migrated one.

    That one is made once, and kept until the product's code changes: migrating takes seconds.
    """
    model = Cluster(ROOT / ".local" / "migrated_site", **cluster.conf)
    for each in (model, cluster):
        make_reachable_folder(each.base, unprivileged_user())
    made = model.base / f"migrated-{fingerprint_of_product()}"
    with file_locks.hold(model.base / "made.lock"):
        if not made.exists():
            shutil.rmtree(model.server.data, ignore_errors=True)
            for outdated in model.base.glob("migrated-*"):
                outdated.unlink()
            _migrate(model)
            made.touch()
        subprocess.run(["/bin/cp", "-a", model.server.data, cluster.server.data], check=True)


def _migrate(cluster: Cluster) -> None:
    """Start a cluster, migrate its database with the owner's role, and stop it."""
    cluster.ensure()
    urls = {
        f"{prefix}DATABASE_URL": f"postgres://{role}@/{cluster.socket_dir}/postgres"
        for prefix, role in (("", "nextinline_app"), ("MIGRATION_", "nextinline_owner"))
    }
    environment = process_environment(**urls, DJANGO_SETTINGS_MODULE="pipeline.settings")
    command = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
    try:
        subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=MIGRATE_SECONDS)
    finally:
        cluster.release()  # else the next one cannot start


class Program:
    """Program of the site: it can be started, killed and started again."""

    def __init__(
        self, name: str, command: list[str], log: Path, environment: dict[str, str]
    ) -> None:
        self.name, self.command = name, command
        self._log, self.environment = log, environment
        self.process = self._start()

    def kill_master(self) -> None:
        """Send SIGKILL to the program's first process only."""
        self.process.kill()
        self.process.wait()

    def kill(self, *, only_children: bool = False) -> None:
        """Send SIGKILL to the program's session, or to the children that it restarts."""
        if only_children:
            for pid in children_of(self):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            return
        children = children_of(self)
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        eventually(lambda: not any(alive(pid) for pid in children))

    def stop(self) -> None:
        """Send SIGSTOP to all its processes."""
        for pid in (self.process.pid, *children_of(self)):
            os.kill(pid, signal.SIGSTOP)

    def resume(self) -> None:
        """Send SIGCONT to all its processes."""
        for pid in (self.process.pid, *children_of(self)):
            os.kill(pid, signal.SIGCONT)

    def start(self, *options: str, **environment: str) -> None:
        """Start it again; `options` and `environment` are for this time only."""
        self.process = self._start(*options, **environment)

    def _start(self, *options: str, **environment: str) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as said:
            return subprocess.Popen(
                [sys.executable, *self.command, *options],
                cwd=ROOT,
                env=self.environment | environment,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )


class Site:
    """Database, web server, decay worker and task worker, each as in production."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        # What is committed survives the kill of the server's processes. `fsync` would be for a
        # machine that loses its power; without it, the server would not wait for its own writes.
        self.cluster = Cluster(folder / "postgres", fsync="off", synchronous_commit="on")
        self.port = port_for_server()
        self._folder = folder
        self.environment = self._whole_environment(environment)
        self.programs: dict[str, Program] = {}

    def prepare(self, script: str, *arguments: str) -> str:
        """Start the migrated database, and run a module in the site's environment."""
        copy_migrated_files(self.cluster)
        self.cluster.ensure()
        return self.run("-m", script, *arguments)

    def run(self, *command: str, **environment: str) -> str:
        """Run a program of the product on the site's database; return what it printed."""
        done = subprocess.run(
            [sys.executable, *command],
            cwd=ROOT,
            env=self.environment | {"DJANGO_SETTINGS_MODULE": "pipeline.settings"} | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=START_SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self, **of_web: str) -> None:
        """Start the programs, and wait until the web server answers.

        `of_web` are variables in the environment of the web server alone.
        """
        bind = ["--bind", f"127.0.0.1:{self.port}", "--workers", "2"]
        config = ["-c", "python:pipeline.server.gunicorn_config"]
        commands = {
            "web": ["-m", "gunicorn", *config, *bind, "pipeline.asgi"],
            "decay": ["manage.py", "run_decay"],
            "tasks": ["manage.py", "run_tasks", "--slots", str(SLOTS), "--lease", LEASE],
        }
        for name, command in commands.items():
            environment = self.environment | (of_web if name == "web" else {})
            log = self._folder / f"{name}.log"
            self.programs[name] = Program(name, command, log, environment)
        eventually(self.is_answering, START_SECONDS)

    def is_answering(self) -> bool:
        """Tell whether the web server answers."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 2) as client:
            client.settimeout(2)
            client.sendall(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
            return client.recv(12) == b"HTTP/1.1 200"
        return False

    def orphans(self, *others: int) -> dict[int, str]:
        """The processes that belong neither to a program of the site nor to the given ones."""
        running = (program.process.pid for program in self.programs.values())
        return orphans(self._folder, (*running, *others))

    def kill_database(self) -> None:
        """Send SIGKILL to the server and to all its processes."""
        pids = self.database_processes()
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        eventually(lambda: not any(alive(pid) for pid in pids))

    def database_processes(self) -> list[int]:
        """The ids of the server and its children; empty if it does not run."""
        try:
            lines = (self.cluster.server.data / "postmaster.pid").read_text().splitlines()
            return [int(lines[0]), *_children(int(lines[0]))]
        except FileNotFoundError:
            return []

    def database_url(self, role: str, socket_dir: Path | None = None) -> str:
        """Return the database's address for a role, also through another socket."""
        return f"postgres://{role}@/{socket_dir or self.cluster.socket_dir}/postgres"

    def rows(self, statement: str, **given: Any) -> list[Any]:
        """Ask the database, as its superuser."""
        host = str(self.cluster.socket_dir)
        with psycopg.connect(
            host=host, port=PORT, user="postgres", dbname="postgres"
        ) as connection:
            cursor = connection.execute(statement.encode(), given)
            return cursor.fetchall() if cursor.description else []

    def stop(self) -> None:
        """End everything, and remove the database's files."""
        for program in self.programs.values():
            with suppress(ProcessLookupError):
                program.kill()  # stopped ones, too
        for left in self.orphans():
            with suppress(ProcessLookupError):
                os.kill(left, signal.SIGKILL)
        if self.cluster.base.exists():
            self.cluster.server.stop()
            self.cluster.release()
        shutil.rmtree(self.cluster.base, ignore_errors=True)
        shutil.rmtree(self.cluster.socket_dir, ignore_errors=True)

    def _whole_environment(self, more: dict[str, str]) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return kept | {
            "DATABASE_URL": self.database_url("nextinline_app"),
            "MIGRATION_DATABASE_URL": self.database_url("nextinline_owner"),
            "SECRET_KEY": "only-for-the-site-that-is-killed-0123456789",
            "SITE_URL": f"http://127.0.0.1:{self.port}",
            "SECURE_COOKIES": "off",
            "THROTTLE_API": "off",
            "THROTTLE_ANONYMOUS": "off",
            "WEBHOOK_ALLOW_PRIVATE": "on",
            "LOG_LEVEL": "WARNING",
            "TMPDIR": str(self._folder),
            "ANCHOR_FILE": str(self._folder / "anchors.jsonl"),
            "ANCHOR_KEY_FILE": str(self._folder / "anchor_key"),
            "DJANGO_SETTINGS_MODULE": "pipeline.settings",
            "PYTHONPATH": str(ROOT),
            **more,
        }


@contextmanager
def whole_site(folder: Path, **environment: str) -> Iterator[Site]:
    """A site on a separate port, with nothing running yet; everything is gone afterwards."""
    site = Site(folder, environment)
    try:
        yield site
    finally:
        site.stop()


def _children(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task")
    found = [(each / "children").read_text().split() for each in threads.iterdir()]
    return [int(child) for children in found for child in children]
