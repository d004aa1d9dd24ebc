"""`manage.py up`: run the whole product on one machine until Ctrl-C."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection, connections
from django.db.backends.utils import CursorWrapper

from pipeline.config import env
from pipeline.config.demo_addresses import APPLICANT, COMPANY, OWNER, demo_address
from pipeline.database.errors import ClusterError
from pipeline.management import keep_up
from pipeline.management.demo import seed
from pipeline.management.demo.seed import Demo
from pipeline.management.keep_up import HOST, Plan, Program, install_stop_handler
from pipeline.web import addresses
from tasks.advisory_locks import PREPARE_DATABASE

DEFAULT_PORT = 8000
HIGHEST_PORT = 65535
PORT_HELP = f"port of the web pages, on {HOST} ({DEFAULT_PORT})"
BACKLOG = 128
# How often one `up` looks whether another has prepared the database.
LOOK_SECONDS = 0.1

DEMO = """
The demo has three companies. In one of their jobs, people come and go while you watch.
{links}
  Sign in          {site}/account/login/
  Address          {owner}
  Password         {password}

Use the API with the demo's key:

  curl -H "Authorization: Bearer {demo.api_key}" \\
    {site}/api/v1/jobs/{demo.job_id}/pipeline

To act as one of its applicants over the API, create a token:

  .venv/bin/python manage.py create_applicant_token {applicant}
"""
LINKS = """
As the owner of {company}, with one click, for an hour:
  {site}/demo/sign-in/{owner}/
As a hiring manager who sees one job alone:
  {site}/demo/sign-in/{hiring}/
As the applicant {name}:
  {site}/demo/sign-in/{applicant}/

Or with a password:
"""
CHANGED = "(you have changed it; an emailed code works too)"


class Command(BaseCommand):
    """Prepares the database, then runs the web server and the workers until Ctrl-C or SIGTERM."""

    requires_system_checks = ("environment",)  # the other checks load every URL
    help = "Migrate, seed the demo, then run the web server and the workers until Ctrl-C."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add --port and --no-demo."""
        parser.add_argument("--port", type=parse_port, default=DEFAULT_PORT, help=PORT_HELP)
        parser.add_argument("--no-demo", action="store_true", help="start without the demo company")

    def handle(self, *, port: int, no_demo: bool, **options: Any) -> None:
        """Prepare everything, then become `keep_up`. Raises CommandError if the port is taken."""
        install_stop_handler(keep_up.stop)
        with open_port(port) as listener:
            set_site_url(port)
            demo = self.prepare(no_demo=no_demo)
            cluster = settings.EMBEDDED_POSTGRES
            keep_up.exec_plan(
                Plan(
                    list_programs(listener, demo),
                    folder=str(settings.BASE_DIR),
                    port=port,
                    welcome=self.welcome(port, demo),
                    database=str(cluster.base) if cluster else None,
                    conf=cluster.conf if cluster else {},
                )
            )

    def prepare(self, *, no_demo: bool) -> Demo | None:
        """Migrate and seed, one `up` at a time; return the demo unless it is switched off."""
        self.stdout.write(
            "Preparing the database and the demo (the first time takes about 20 seconds) ..."
        )
        connect_database()
        with sole_instance():
            call_command("migrate", interactive=False, verbosity=0)
            demo = None if no_demo else seed.create_missing()
        connections.close_all()
        return demo

    def welcome(self, port: int, demo: Demo | None) -> str:
        """Return the URLs and how to sign in."""
        site = f"http://{HOST}:{port}"
        lines = [
            self.style.SUCCESS(f"\nNext in Line is ready: {site}/"),
            f"API reference: {site}/api/v1/docs/",
        ]
        if settings.DEV_MAIL:
            lines.append(f"Emails are kept on this machine: {site}/dev/mail/")
        if demo:
            lines.append(
                DEMO.format(
                    demo=demo,
                    site=site,
                    links=demo_links(site),
                    owner=OWNER,
                    password=demo.password or CHANGED,
                    applicant=demo_address(APPLICANT),
                )
            )
        return "\n".join([*lines, "\nCtrl-C stops everything."])


def demo_links(site: str) -> str:
    """Return the sign-in links of the demo; an empty string with a separate database."""
    if settings.EMBEDDED_POSTGRES is None:
        return ""
    return LINKS.format(
        site=site,
        company=COMPANY,
        owner=addresses.demo_access_token(addresses.OWNER),
        hiring=addresses.demo_access_token(addresses.HIRING),
        name=APPLICANT,
        applicant=addresses.demo_access_token(addresses.APPLICANT),
    )


def parse_port(text: str) -> int:
    """Parse a port. Raises ArgumentTypeError if it is not one."""
    with suppress(ValueError):
        if 1 <= (port := int(text)) <= HIGHEST_PORT:
            return port
    raise argparse.ArgumentTypeError(f"{text} is not a port (1 to {HIGHEST_PORT})")


def set_site_url(port: int) -> None:
    """Point links in emails to the port in use, for this process and the programs it starts.

    A SITE_URL that is already set is kept, because the site is then behind a proxy. With the
    embedded database, the address is noted for other commands, such as `doctor`.
    """
    if not os.environ.get("SITE_URL", "").strip():
        os.environ["SITE_URL"] = settings.SITE_URL = f"http://{HOST}:{port}"
        if settings.EMBEDDED_POSTGRES and not env.TESTING:
            env.UP_ADDRESS_FILE.write_text(f"{settings.SITE_URL}\n")


@contextmanager
def open_port(port: int) -> Iterator[socket.socket]:
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


def list_programs(listener: socket.socket, demo: Demo | None) -> list[Program]:
    """List the programs: web, on the open port, and the workers.

    The demo's invented people get emails, which must not leave this machine. So they move only
    where emails are kept.
    """
    moving = ["--moving-job", str(demo.job_id)] if demo and settings.DEV_MAIL else []
    web = [sys.executable, "-m", "gunicorn", "-c", "python:pipeline.server.gunicorn_config"]
    bind = ["--bind", f"fd://{listener.fileno()}", "--log-level", "warning"]
    return [
        Program(
            "web", [*web, *bind, "pipeline.asgi"], pass_fds=(listener.fileno(),), must_start=True
        ),
        Program("decay", [sys.executable, "manage.py", "run_decay", *moving]),
        Program("tasks", [sys.executable, "manage.py", "run_tasks"]),
    ]


def connect_database() -> None:
    """Connect to the database. Raises CommandError with the reason in one sentence."""
    try:
        connection.ensure_connection()
    except (OperationalError, ClusterError) as error:
        reason = " ".join(str(error).split())
        raise CommandError(f"Cannot reach the database: {reason}") from None


@contextmanager
def sole_instance() -> Iterator[None]:
    """Wait, without a time limit, for any other `up` that is preparing the same database."""
    holder = connection.copy()  # migrating changes the role of the usual connection
    try:
        with holder.cursor() as cursor:
            # A statement that waits for the lock has a snapshot, and an index that is built without
            # holding up the site waits for every older one.
            while not _try_lock(cursor):
                time.sleep(LOOK_SECONDS)
        yield
    finally:
        holder.close()  # which frees the lock
        connection.close()


def _try_lock(cursor: CursorWrapper) -> bool:
    cursor.execute("SELECT pg_try_advisory_lock(%s)", [PREPARE_DATABASE])
    return bool(cursor.fetchone()[0])
