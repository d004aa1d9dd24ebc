"""Main loop of long-running processes: steps, rests, signals and lost connections."""

from __future__ import annotations

import logging
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from django.conf import settings
from django.db import close_old_connections, connections

from tasks.failure_log import failures

log = logging.getLogger(__name__)

# The rest after a failed step, which grows by as much with each further one up to the longest.
AFTER_A_FAILURE_SECONDS, LONGEST_AFTER_FAILURES_SECONDS = 1.0, 3.0
TOUCH_SECONDS = 1.0


class LoopPause:
    """Pause that ends early on SIGTERM or SIGINT, or when a file descriptor has data.

    Signals are written to a socket, so none is lost between a check and a wait. They are received
    only inside `listening`, in the main thread.
    """

    def __init__(self) -> None:
        self.stopped = False
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.setblocking(False)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Stop on SIGTERM and SIGINT inside this context. Use it only once."""

        def stop_loop(*_: object) -> None:
            self.stopped = True

        before = [
            (name, signal.signal(name, stop_loop)) for name in (signal.SIGTERM, signal.SIGINT)
        ]
        wakeup = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for name, handler in before:
                signal.signal(name, handler)
            self._reader.close()
            self._writer.close()

    def for_seconds(self, seconds: float, *sources: int) -> None:
        """Rest until the time is over, a signal arrives, or a file descriptor has data."""
        if not self.stopped:
            ends = [self._reader.fileno(), *sources]
            select.select(ends, [], [], max(0.0, seconds))


def run_forever(
    step: Callable[[], int],
    *,
    idle_seconds: Callable[[], float],
    sources: Callable[[], list[int]] = list,
) -> None:
    """Call `step` until SIGTERM or SIGINT; rest when there is nothing to do.

    `step` returns how much it did. After an idle step, `idle_seconds` returns how long to rest, and
    `sources` returns the file descriptors that end a rest early. After an exception, the loop logs
    it (see `failure_log`), closes the connections and continues. So neither a bad row nor a restart
    of the database ends the process. A container's health check can look at settings.ALIVE_FILE,
    which is touched every few seconds, with or without a database.
    """
    rest, touch = LoopPause(), alive_file_toucher(getattr(settings, "ALIVE_FILE", ""))
    failed = 0
    with rest.listening():
        while not rest.stopped:
            touch()
            close_old_connections()
            try:
                is_idle = not step()
                if failed:
                    failures.write_answer(log)
                failed = 0
                if is_idle and not rest.stopped:
                    rest.for_seconds(idle_seconds(), *sources())
            except Exception as error:
                failed += 1
                failures.write_failure(log, "a step failed", error)
                connections.close_all()
                wait_seconds = AFTER_A_FAILURE_SECONDS * failed
                rest.for_seconds(min(wait_seconds, LONGEST_AFTER_FAILURES_SECONDS))
    connections.close_all()


def alive_file_toucher(path: str) -> Callable[[], None]:
    """Return a function that touches the file, at most once a second; without a path, nothing.

    A file that cannot be written grows old, so that the health check fails and says so.
    """
    touched_at = float("-inf")

    def touch_alive_file() -> None:
        nonlocal touched_at
        now = time.monotonic()
        if path and now - touched_at >= TOUCH_SECONDS:
            touched_at = now
            with suppress(OSError):
                Path(path).touch()

    return touch_alive_file
