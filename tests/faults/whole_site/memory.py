"""The mistake that the control makes: emails and webhooks are kept in memory after the commit."""

from __future__ import annotations

import os
import queue
import threading
import time
from typing import Any

from django.apps import AppConfig

# How long they wait there, as they would for a slow mail server.
IN_MEMORY_SECONDS = 0.5


class Memory(AppConfig):
    """App that takes the tasks out of the statement which writes the events."""

    name = "tests.faults.whole_site"
    label = "memory"

    def ready(self) -> None:
        """Keep the tasks that changes derive, instead of writing them with the events."""
        from pipeline.line import write

        derivations = list(write._derivations)
        for derive in derivations:
            write.unregister_follow_up(derive)

        def keep_in_memory(*what: Any) -> list[Any]:
            tasks = [task for derive in derivations for task in derive(*what)]
            if tasks:
                _queue_of_process().put((time.monotonic() + IN_MEMORY_SECONDS, tasks))
            return []

        write.register_follow_up(keep_in_memory)


_queues: dict[int, queue.SimpleQueue[tuple[float, list[Any]]]] = {}


def _queue_of_process() -> queue.SimpleQueue[tuple[float, list[Any]]]:
    """Return this process's queue; the first call starts its thread."""
    if os.getpid() not in _queues:
        _queues[os.getpid()] = queue.SimpleQueue()
        threading.Thread(target=_write_later, daemon=True).start()
    return _queues[os.getpid()]


def _write_later() -> None:
    from django.db import connection

    from tasks.enqueue import enqueue_many

    while True:
        at, tasks = _queues[os.getpid()].get()
        time.sleep(max(0.0, at - time.monotonic()))
        enqueue_many(tasks)
        connection.close()
