"""`manage.py up`: run the whole product on one machine until Ctrl-C."""

from __future__ import annotations

import argparse
import http.client
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection, connections

from pipeline.config.demo import COMPANY, OWNER
from pipeline.database.errors import ClusterError
from pipeline.management.demo import Demo, seed_demo_company
from pipeline.management.supervisor import (
    GRACE_SECONDS,
    NotReady,
    Program,
    ProgramEnded,
    Supervisor,
    on_stop_signals,
)
from tasks.advisory_locks import PREPARE_DATABASE

HOST = "127.0.0.1"
DEFAULT_PORT = 8000
HIGHEST_PORT = 65535
PORT_HELP = f"port of the web pages, on {HOST} ({DEFAULT_PORT})"
BACKLOG = 128

READY_PATH = "/health/ready"
READY_SECONDS = 60
WORKER_SECONDS = 10  # to wait for the workers before the welcome is printed anyway
PROBE_SECONDS = 2
ALL_THERE, SOMETHING_MISSING = 200, 503

DEMO = """
The demo company is {company}. One of its jobs moves by itself every minute.

  Sign in          {site}/account/login/
  Address          {owner}
  Password         {password}

Use the API with the demo's key:

  curl -H "Authorization: Bearer {demo.api_key}" \\
    {site}/api/v1/jobs/{demo.job_id}/pipeline

To act as one of its applicants over the API, create a token:

  .venv/bin/python manage.py create_applicant_token ana.li@demo.example
"""
CHANGED = "(you have changed it; an emailed code works too)"
STOPPING = (
    f"Stopping; running programs have up to {GRACE_SECONDS} s to finish. "
    "Longer background work continues at the next start."
)


class Command(BaseCommand):
    """Prepares the database, then runs the web server and the workers until Ctrl-C or SIGTERM."""

    requires_system_checks = ("environment",)  # the other checks load every URL
    help = "Migrate, seed the demo, then run the web server and the workers until Ctrl-C."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add --port and --no-demo."""
        parser.add_argument("--port", type=port_to_bring_up, default=DEFAULT_PORT, help=PORT_HELP)
        parser.add_argument("--no-demo", action="store_true", help="start without the demo company")

    def handle(self, *, port: int, no_demo: bool, **options: Any) -> None:
        """Run everything. Raises CommandError if the port is taken or web ends by itself."""
        on_stop_signals(leave_up_in_order)
        bring_up_site_name(port)
        with bring_up_listener(port) as listener:
            demo = self.prepare(no_demo=no_demo)
            with Supervisor(
                programs_to_bring_up(listener), folder=settings.BASE_DIR, say=self.stdout.write
            ) as supervisor:
                listener.close()  # web has inherited it; held here too, it would outlive web
                self.watch(supervisor, port, demo)
                self.stdout.write(STOPPING)

    def prepare(self, *, no_demo: bool) -> Demo | None:
        """Migrate and seed, one `up` at a time; return the demo unless it is switched off."""
        self.stdout.write("Preparing the database (the first time takes a few seconds) ...")
        bring_up_database()
        with bring_up_one_at_a_time():
            call_command("migrate", interactive=False, verbosity=0)
            demo = None if no_demo else seed_demo_company()
        connections.close_all()
        return demo

    def watch(self, supervisor: Supervisor, port: int, demo: Demo | None) -> None:
        """Print the welcome once the web pages answer, then wait until everything ends."""
        try:
            wait_for_web_and_workers(supervisor, port)
            if not supervisor.is_stopping:
                self.print_welcome(port, demo)
            supervisor.wait()
        except ProgramEnded as ended:
            raise CommandError(f"{ended}; the others were stopped.") from None
        except NotReady:
            raise CommandError(f"The web pages did not answer in {READY_SECONDS} s.") from None

    def print_welcome(self, port: int, demo: Demo | None) -> None:
        """Print the URLs and how to sign in."""
        site = f"http://{HOST}:{port}"
        self.stdout.write(self.style.SUCCESS(f"\nNext in Line is ready: {site}/"))
        self.stdout.write(f"API reference: {site}/api/v1/docs/")
        if settings.DEV_MAIL:
            self.stdout.write(f"Emails are kept on this machine: {site}/dev/mail/")
        if demo:
            password = demo.password or CHANGED
            given = {"site": site, "company": COMPANY, "owner": OWNER, "password": password}
            self.stdout.write(DEMO.format(demo=demo, **given))
        self.stdout.write("\nCtrl-C stops everything.")


def port_to_bring_up(text: str) -> int:
    """Parse a port. Raises ArgumentTypeError if it is not one."""
    with suppress(ValueError):
        if 1 <= (port := int(text)) <= HIGHEST_PORT:
            return port
    raise argparse.ArgumentTypeError(f"{text} is not a port (1 to {HIGHEST_PORT})")


def leave_up_in_order(number: int, frame: FrameType | None) -> None:
    """Exit through the exit handlers, which stop the database. Ignore a second signal."""
    on_stop_signals(lambda *_: None)
    sys.exit(128 + number)


def bring_up_site_name(port: int) -> None:
    """Point links in emails to the port in use, for this process and the programs it starts.

    A SITE_URL that is already set is kept, because the site is then behind a proxy.
    """
    if not os.environ.get("SITE_URL", "").strip():
        os.environ["SITE_URL"] = settings.SITE_URL = f"http://{HOST}:{port}"


@contextmanager
def bring_up_listener(port: int) -> Iterator[socket.socket]:
    """Open the port before anything else starts, so that no other program takes it."""
    try:
        listener = socket.create_server((HOST, port), backlog=BACKLOG)
    except OSError as error:
        raise CommandError(
            f"Cannot use port {port}: {error.strerror}. Stop the program that uses it, "
            f"or choose another port, for example --port {port % HIGHEST_PORT + 1}."
        ) from None
    with listener:
        yield listener


def programs_to_bring_up(listener: socket.socket) -> list[Program]:
    """List the programs: web, on the open port, and the workers, which are restarted."""
    web = [sys.executable, "-m", "gunicorn", "-c", "python:pipeline.server.gunicorn_config"]
    bind = ["--bind", f"fd://{listener.fileno()}", "--log-level", "warning"]
    return [
        Program("web", [*web, *bind, "pipeline.asgi"], pass_fds=(listener.fileno(),)),
        Program("decay", [sys.executable, "manage.py", "run_decay"], restarts=True),
        Program("tasks", [sys.executable, "manage.py", "run_tasks"], restarts=True),
    ]


def bring_up_database() -> None:
    """Connect to the database. Raises CommandError with the reason in one sentence."""
    try:
        connection.ensure_connection()
    except (OperationalError, ClusterError) as error:
        reason = " ".join(str(error).split())
        raise CommandError(f"Cannot reach the database: {reason}") from None


@contextmanager
def bring_up_one_at_a_time() -> Iterator[None]:
    """Wait, without a time limit, for any other `up` that is preparing the same database."""
    holder = connection.copy()  # migrating changes the role of the usual connection
    try:
        with holder.cursor() as cursor:
            cursor.execute("SET lock_timeout = 0")
            cursor.execute("SELECT pg_advisory_lock(%s)", [PREPARE_DATABASE])
        yield
    finally:
        holder.close()  # which frees the lock
        connection.close()


def wait_for_web_and_workers(supervisor: Supervisor, port: int) -> None:
    """Wait until the web pages respond, and a little longer for the workers.

    Raises ProgramEnded if a program ends meanwhile, and NotReady if the web pages do not answer.
    """
    answers = (ALL_THERE, SOMETHING_MISSING)
    supervisor.wait_until(lambda: readiness_of_brought_up(port) in answers, seconds=READY_SECONDS)
    with suppress(NotReady):
        supervisor.wait_until(
            lambda: readiness_of_brought_up(port) == ALL_THERE, seconds=WORKER_SECONDS
        )


def readiness_of_brought_up(port: int) -> int | None:
    """Return the HTTP status of the readiness check; None if there is no answer."""
    client = http.client.HTTPConnection(HOST, port, timeout=PROBE_SECONDS)
    try:
        client.request("GET", READY_PATH)
        return client.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        client.close()
