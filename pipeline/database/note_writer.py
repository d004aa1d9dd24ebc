"""Notes that requests leave in memory, and the thread that writes them a moment later.

A process that crashes loses its last notes. While the database is away, they wait; beyond
MOST_WAITING they are dropped and counted.
"""

from __future__ import annotations

import atexit
import logging
import os
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from typing import Generic, TypeVar

from django.db import InterfaceError, OperationalError, connection
from prometheus_client import Counter

from pipeline.database.errors import ClusterError
from tasks.failure_log import failures

log = logging.getLogger(__name__)

# How many notes a process keeps in memory, and how many are written together.
MOST_WAITING, BATCH = 10_000, 1_000
# The time without a note after which the thread ends and closes its connection.
IDLE_SECONDS = 15.0
# How long an ending process waits for its last notes to be written.
FLUSH_SECONDS = 1.0

T = TypeVar("T")


class NoteWriter(ABC, Generic[T]):
    """Notes of one process, and the thread that writes them. A subclass says how (`store`)."""

    def __init__(self, name: str, *, gap_seconds: float, dropped: Counter) -> None:
        self.name = name
        self.gap_seconds = gap_seconds
        self.dropped = dropped
        self.is_on = False
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Reset the state in a child process: notes and thread are its parent's."""
        self._waiting: deque[T] = deque()
        self._thread: threading.Thread | None = None
        self._starting, self._writing = threading.Lock(), threading.Lock()
        self._wake = threading.Event()

    @abstractmethod
    def store(self, notes: list[T]) -> None:
        """Write notes."""

    def start(self) -> None:
        """Take notes from now on, and write the last ones when the process ends."""
        self.is_on = True
        atexit.register(self.flush)

    def keep(self, note: T) -> None:
        """Keep a note until the thread writes it. Never waits or fails."""
        if len(self._waiting) >= MOST_WAITING:
            self.dropped.inc()
            return
        self._waiting.append(note)
        if self._thread is None:
            self._start()

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                thread = threading.Thread(target=self._run, name=self.name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the system has none left; the next request tries again
                    return
                self._thread = thread

    def _run(self) -> None:
        last = time.monotonic()
        while True:
            self._wake.wait(self.gap_seconds)
            self._wake.clear()
            if self.write_notes():
                last = time.monotonic()
            elif time.monotonic() - last > IDLE_SECONDS:
                connection.close()
                with self._starting:
                    self._thread = None
                    if not self._waiting:
                        return
                    self._thread = threading.current_thread()

    def write_notes(self) -> int:
        """Write the waiting notes, and return how many. While the database is away, they stay."""
        written = 0
        with self._writing:
            while self._waiting:
                notes = [self._waiting.popleft() for _ in range(min(len(self._waiting), BATCH))]
                try:
                    self.store(notes)
                except (OperationalError, InterfaceError, ClusterError) as error:
                    self._waiting.extendleft(reversed(notes))
                    connection.close()
                    failures.write_failure(log, f"the {self.name} waits", error)
                    break
                except Exception as error:
                    self.dropped.inc(len(notes))
                    failures.write_failure(log, f"the {self.name} lost some", error)
                else:
                    written += len(notes)
                    failures.write_answer(log)
        return written

    def flush(self, seconds: float = FLUSH_SECONDS) -> bool:
        """Wait until everything is written, up to a timeout. Returns whether it was."""
        end = time.monotonic() + seconds
        while self._waiting or self._writing.locked():
            if time.monotonic() >= end:
                return False
            self._wake.set()
            time.sleep(0.005)
        return True
