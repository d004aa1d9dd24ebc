"""The feed of events: every one exactly once and in order, however late it commits."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection, transaction

from tasks import control, events
from tasks.enqueue import NewTask, enqueue_many
from tasks.models import TaskEvent
from tests.support.feeds import wait_for_the_feed
from tests.tasks.claims import claimer
from tests.tasks.seen import add

__all__ = ["claimer"]
pytestmark = pytest.mark.django_db(transaction=True)


def read(
    position: events.Position, *, waiting: bool = True, **options: Any
) -> tuple[list[tuple[str, str]], Any]:
    """Read all events committed so far, in as many turns as it takes them to settle;
    unless someone's transaction would have to be waited for."""
    if waiting:
        wait_for_the_feed()
    found: list[tuple[str, str]] = []
    for _ in range(4):
        new, position = events.read_since(position, **options)
        found += [(str(event.task_id), event.kind) for event in new]
    return found, position


def test_what_happened_is_read_once_and_in_order(claimer: Any) -> None:
    start = events.newest_position()
    good, bad = str(add("test.noop")), str(add("test.noop"))
    worker = claimer()
    first, second = worker.claim()
    worker.succeed(first)
    worker.fail(second)

    found, position = read(start)

    assert found == [(good, "started"), (bad, "started"), (good, "succeeded"), (bad, "failed")]
    assert read(position)[0] == []


def test_a_page_continues_where_the_last_one_ended(claimer: Any) -> None:
    start = events.newest_position()
    enqueue_many([NewTask("test.noop")] * 5)
    claimer().claim()

    found, _ = read(start, limit=2)

    assert len(found) == len(set(found)) == 5


def test_an_event_that_commits_late_is_not_passed_over(claimer: Any) -> None:
    late, early = add("test.noop"), add("test.noop")
    start = events.newest_position()
    cancelled, go_on = threading.Event(), threading.Event()

    def cancel_slowly() -> None:
        with transaction.atomic():
            control.cancel(late, actor="ana")
            cancelled.set()
            go_on.wait(60)
        connection.close()

    thread = threading.Thread(target=cancel_slowly)
    thread.start()
    cancelled.wait(60)
    control.cancel(early, actor="ana")
    careless = TaskEvent.objects.order_by("-id").values_list("id", flat=True)[0]
    during, position = read(start, waiting=False)
    go_on.set()
    thread.join()
    after, _ = read(position)

    assert during + after == [(str(late), "cancelled"), (str(early), "cancelled")]
    missed = TaskEvent.objects.filter(id__gt=careless, kind="cancelled")
    assert not missed.exists()  # who remembers only the last id would not have seen the late one
