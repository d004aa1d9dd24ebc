"""A web server that is stopped with a job's lock in its hands: who waits how long, and for what."""

from __future__ import annotations

import http.client
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from uuid import UUID

import psycopg
import pytest
from django.db import OperationalError, connection, transaction

from pipeline.server import gunicorn_config
from pipeline.services.leaving import withdraw
from tests.support import factories
from tests.support.environment import ROOT
from tests.support.invariants import assert_line_is_sound
from tests.support.server import serving
from tests.support.task_workers import alive, children_of
from tests.support.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)

# Locks a job, says so, and is stopped by the test.
HOLDER = """
import sys, time, uuid, django
django.setup()
from django.db import connection, transaction
from pipeline.line.lock import lock_job
with transaction.atomic():
    with connection.cursor() as cursor:
        cursor.execute("SET idle_in_transaction_session_timeout = %s", [sys.argv[2]])
    lock_job(uuid.UUID(sys.argv[1]))
    print("locked", flush=True)
    time.sleep(600)
"""
StopWithLock = Callable[[UUID, str], int]


@pytest.fixture
def stop_with_lock(environment: dict[str, str]) -> Iterator[StopWithLock]:
    """Stop a process that has a job's lock; the second argument is when the server ends it."""
    holders = []

    def stop(job_id: UUID, idle_limit: str) -> int:
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(job_id), idle_limit],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        holders.append(holder)
        assert holder.stdout
        assert holder.stdout.readline() == "locked\n"
        holder.send_signal(signal.SIGSTOP)
        return holder.pid

    yield stop
    for holder in holders:
        holder.kill()
        holder.communicate()


@contextmanager
def limited_wait(limit: str) -> Iterator[None]:
    """Wait for locks no longer than this."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('lock_timeout', %s, false)", [limit])
        yield
        cursor.execute("RESET lock_timeout")


def is_locked(job_id: UUID) -> bool:
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM jobs_job WHERE id = %s FOR UPDATE NOWAIT", [job_id])
    except OperationalError:
        return True
    return False


def test_every_session_has_the_limits_that_free_a_lock() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('lock_timeout'),"
            " current_setting('idle_in_transaction_session_timeout')"
        )
        limits = cursor.fetchone()

    assert limits == ("3s", "30s")
    assert gunicorn_config.timeout == 30


def test_the_database_takes_the_lock_from_a_stopped_process(stop_with_lock: StopWithLock) -> None:
    made = factories.application(factories.job())
    other = factories.job()
    unlimited = stop_with_lock(other, "0")
    holder = stop_with_lock(made.job_id, "2s")

    with limited_wait("100ms"), pytest.raises(OperationalError) as refused:
        withdraw(application_id=made.id, actor=factories.owner_of(made))
    eventually(lambda: not is_locked(made.job_id))
    withdraw(application_id=made.id, actor=factories.owner_of(made))

    assert isinstance(refused.value.__cause__, psycopg.errors.LockNotAvailable)
    assert factories.status_of(made) == "WITHDRAWN"
    assert_line_is_sound(made.job_id)
    assert alive(holder)
    # The control: without the limit, the lock stays where it is, though it was taken earlier.
    assert alive(unlimited)
    assert is_locked(other)


def test_gunicorn_replaces_a_stopped_worker_and_its_clients_are_told(
    environment: dict[str, str], tmp_path: Path
) -> None:
    environment["GUNICORN_CMD_ARGS"] = "--timeout 3"
    this = SimpleNamespace(process=SimpleNamespace(pid=os.getpid()))
    before = children_of(this)  # type: ignore[arg-type]
    with serving(environment, tmp_path / "web.log", workers=1) as url:
        master, worker = sorted(children_of(this) - before)  # type: ignore[arg-type]
        client = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        with closing(client):
            client.request("GET", "/health/live")
            client.getresponse().read()
            os.kill(worker, signal.SIGSTOP)
            client.request("GET", "/health/live")  # over the connection that the worker has

            with pytest.raises((http.client.HTTPException, OSError)):
                client.getresponse()

            eventually(lambda: not alive(worker))
            client.close()
            client.request("GET", "/health/live")
            answer = client.getresponse()
            answer.read()
        assert answer.status == 200
        assert alive(master)
