"""Buffer between a thread that produces a large response and a client that reads it.

The thread writes as fast as it can and then turns to other work. The event loop sends as fast as
the client reads. The bytes in between are on disk, within limits.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from tempfile import SpooledTemporaryFile
from typing import ClassVar

MEMORY_BYTES = 262_144
# How much of one response, and of all responses of a process, may wait for clients. Beyond that,
# the thread waits, and abandons a client that reads too little meanwhile: other requests need the
# thread, and the client can tell that the response is incomplete.
MOST_WAITING_BYTES = 33_554_432
MOST_BYTES_OF_ALL = 536_870_912
FEW_BYTES = 1_048_576
PATIENCE_SECONDS = 10.0


class Abandoned(Exception):
    """The client no longer reads the response."""


class AnswerSpool:
    """Part of a response that is produced but not yet sent.

    `wake` is called in the writing thread if there is more to send.
    """

    bytes_of_all: ClassVar[int] = 0
    _of_all = threading.Lock()

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._changed = threading.Condition()
        self._file = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115  closed by `close`
        self._written = self._taken = 0
        self._is_whole = self._is_abandoned = False

    def write(self, piece: bytes) -> None:
        """Store a piece. Raises Abandoned."""
        with self._changed:
            if not self._changed.wait_for(self._has_room, PATIENCE_SECONDS) or self._is_abandoned:
                raise Abandoned
            self._file.seek(self._written)
            self._file.write(piece)
            self._written += len(piece)
            self._count(len(piece))
        self._wake()

    def end(self) -> None:
        """Mark the response as complete."""
        with self._changed:
            self._is_whole = True
        self._wake()

    def take_bytes(self, length: int) -> tuple[bytes, bool]:
        """Return the next bytes to send, and whether nothing follows them."""
        with self._changed:
            if self._is_abandoned:
                return b"", False
            self._file.seek(self._taken)
            piece = self._file.read(min(length, self._written - self._taken))
            self._taken += len(piece)
            self._count(-len(piece))
            is_last = self._is_whole and self._taken == self._written
            if self._taken == self._written:  # the file stays short for a client that keeps up
                self._file.seek(0)
                self._file.truncate()
                self._taken = self._written = 0
            self._changed.notify()
        return piece, is_last

    def close(self) -> None:
        """Discard the rest, and tell the writing thread."""
        with self._changed:
            self._is_abandoned = True
            self._count(self._taken - self._written)
            self._taken = self._written
            self._file.close()
            self._changed.notify()

    def _has_room(self) -> bool:
        is_tight = AnswerSpool.bytes_of_all > MOST_BYTES_OF_ALL
        most = FEW_BYTES if is_tight else MOST_WAITING_BYTES
        return self._is_abandoned or self._written - self._taken < most

    def _count(self, change: int) -> None:
        with AnswerSpool._of_all:
            AnswerSpool.bytes_of_all += change
