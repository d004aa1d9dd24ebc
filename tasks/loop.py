"""Loop of every long process: steps, rests, signals, and connections that come and go."""

from __future__ import annotations

import logging
import select
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from django.db import close_old_connections, connections

log = logging.getLogger(__name__)

AFTER_A_FAILURE_SECONDS = 1.0


class Rest:
    """Rest that ends early: at once on SIGTERM or SIGINT, or when something can be read.

    The signal's arrival is written to a socket, so that no signal is lost between a check and a
    wait. Signals are received only within `listening`, in the main thread.
    """

    def __init__(self) -> None:
        self.stopped = False
        self._reader, self._writer = socket.socketpair()
        for end in (self._reader, self._writer):
            end.setblocking(False)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Stop on SIGTERM and SIGINT, inside this context; use it once."""

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
    """Call `step` until SIGTERM or SIGINT; rest when it found nothing to do.

    `step` returns how much it did. After an idle step `idle_seconds` returns how long to rest, and
    `sources` the file descriptors that end a rest early. An exception is logged, the connections
    are closed, and the loop goes on: neither a bad row nor a restart of the database ends it.
    """
    rest = Rest()
    with rest.listening():
        while not rest.stopped:
            close_old_connections()
            try:
                if not step() and not rest.stopped:
                    rest.for_seconds(idle_seconds(), *sources())
            except Exception:
                log.exception("a step failed; going on in %s s", AFTER_A_FAILURE_SECONDS)
                connections.close_all()
                rest.for_seconds(AFTER_A_FAILURE_SECONDS)
    connections.close_all()
