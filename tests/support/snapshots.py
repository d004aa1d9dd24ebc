"""How long the sessions of the site hold back a snapshot while something runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from uuid import UUID

from django.db import connection

from pipeline.services.leaving import withdraw
from tests.support import factories
from tests.support.together import started

_HELD = """
SELECT pid, backend_xmin::text FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL
  AND backend_type = 'client backend'
"""


@contextmanager
def busy_job(job_id: UUID) -> Iterator[list[int]]:
    """Let people apply to a job and withdraw all the time; yield a list with one item a change."""
    done, changes = Event(), list[int]()

    def change() -> None:
        while not done.is_set():
            person = factories.application(job_id)
            withdraw(application_id=person.id, actor=factories.owner_of(person))
            changes.append(1)
            done.wait(0.1)  # less than a slowed-down reader folds meanwhile

    with started(change) as answers:
        try:
            yield changes
        finally:
            done.set()
    assert answers == [None], answers


def longest_snapshot_seconds(act: Callable[[], object]) -> tuple[float, object]:
    """Run an act beside this thread; the longest time that one snapshot was held, and the answer.

    A snapshot is recognised by its session and the oldest transaction that it holds back.
    """
    done = Event()

    def run() -> object:
        try:
            return act()
        finally:
            done.set()

    longest, since = 0.0, dict[tuple[int, str], float]()
    with started(run) as answers, connection.cursor() as cursor:
        while not done.is_set():
            cursor.execute(_HELD)
            now = time.monotonic()
            since = {held: since.get(held, now) for held in cursor.fetchall()}
            longest = max([longest, *(now - began for began in since.values())])
            time.sleep(0.01)
    return longest, answers[0]
