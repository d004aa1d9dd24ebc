"""Threads for requests, which open their database connections one at a time."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from django.db import Error, connection

from pipeline.database.errors import ClusterError

logger = logging.getLogger(__name__)

Result = TypeVar("Result")


class NoThread(Exception):
    """No thread could be started, and there is none yet."""


def open_thread_connection() -> None:
    """Connect this thread to the database. If that fails, the thread's first request reports it."""
    with suppress(Error, ClusterError):
        connection.ensure_connection()


class RequestThreads:
    """Pool of up to `most` threads. Another one starts if all are busy and none is starting.

    A starting thread calls `warm`, because a connection takes several times the CPU of a request.
    If a crowd started all threads at once, it would wait for all of them; this way, existing
    threads keep answering. The first thread does not wait for `warm`, so that a process can answer
    requests that need no database even if there is none.
    """

    def __init__(self, most: int, warm: Callable[[], None] = open_thread_connection) -> None:
        self._most = most
        self._warm = warm
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0  # work that no thread has started yet
        self._idle = 0
        self._is_starting = False
        self.count = 0

    async def call(self, function: Callable[[], Result]) -> Result:
        """Call a function in a thread, and wait for its result. Raises NoThread.

        asyncio's `run_in_executor` does the same with a second future and its locks, which takes
        several percent of the CPU of a small request.
        """
        loop = asyncio.get_running_loop()
        called: asyncio.Future[Result] = loop.create_future()

        def call_in_request_thread() -> None:
            if called.cancelled():  # nobody waits any more
                return
            settle: Callable[[Any], None] = called.set_result
            try:
                outcome: Any = function()
            except BaseException as error:
                outcome, settle = error, called.set_exception
            with suppress(RuntimeError):  # the loop has been closed
                loop.call_soon_threadsafe(
                    _finish_thread_call_unless_cancelled, called, settle, outcome
                )

        self.begin(call_in_request_thread)
        return await called

    def begin(self, work: Callable[[], None]) -> None:
        """Have a thread do work that raises nothing. Raises NoThread."""
        with self._lock:
            self._waiting += 1
            self._start_if_needed()
            if not self.count:
                self._waiting -= 1
                raise NoThread
        self._work.put(work)

    def _start_if_needed(self) -> None:
        enough = self._idle >= self._waiting or self.count >= self._most
        if enough or self._is_starting:
            return
        name = f"request_{self.count + 1}"
        thread = threading.Thread(
            target=self._answer, args=[self.count == 0], name=name, daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # the system has none left; the next request tries again
            logger.exception("A thread for requests could not be started")
        else:
            self._is_starting = True
            self.count += 1

    def _answer(self, is_first: bool) -> None:
        if not is_first:
            try:
                self._warm()
            except Exception:
                logger.exception("A thread for requests could not be prepared")
        with self._lock:
            self._is_starting = False
            self._idle += 1
            self._start_if_needed()
        while True:
            work = self._work.get()
            with self._lock:
                self._idle -= 1
                self._waiting -= 1
            work()
            with self._lock:
                self._idle += 1


def _finish_thread_call_unless_cancelled(
    called: asyncio.Future[Any], settle: Callable[[Any], None], outcome: Any
) -> None:
    if not called.cancelled():
        settle(outcome)
