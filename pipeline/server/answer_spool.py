"""Store between a thread that makes a large answer and a client that takes it.

The thread writes as fast as it can and goes on to other work; the event loop sends as fast as the
client reads. What waits in between lies on disk, within bounds.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from tempfile import SpooledTemporaryFile
from typing import ClassVar

MEMORY_BYTES = 262_144
# How much of one answer may wait for its client, and how much of all answers of a process. Beyond
# that the thread waits, and gives up a client that takes too little meanwhile: other requests need
# the thread, and the client can tell that the answer is not whole.
MOST_WAITING_BYTES = 33_554_432
MOST_BYTES_OF_ALL = 536_870_912
FEW_BYTES = 1_048_576
PATIENCE_SECONDS = 10.0


class Abandoned(Exception):
    """Nobody takes the answer any more."""


class AnswerSpool:
    """Part of an answer that is made and not sent yet.

    `wake` is called in the writing thread when there is more to send.
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
        """Note that the answer is whole."""
        with self._changed:
            self._is_whole = True
        self._wake()

    def take(self, length: int) -> tuple[bytes, bool]:
        """Return the next bytes to send, and whether nothing follows them."""
        with self._changed:
            if self._is_abandoned:
                return b"", False
            self._file.seek(self._taken)
            piece = self._file.read(min(length, self._written - self._taken))
            self._taken += len(piece)
            self._count(-len(piece))
            is_last = self._is_whole and self._taken == self._written
            if self._taken == self._written:  # a client that keeps up leaves the file short
                self._file.seek(0)
                self._file.truncate()
                self._taken = self._written = 0
            self._changed.notify()
        return piece, is_last

    def close(self) -> None:
        """Forget what is left, and let the thread that writes know."""
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
