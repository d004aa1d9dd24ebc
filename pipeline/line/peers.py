"""Things that the processes of one web server share: a board in memory, bells and inboxes.

The server makes it before it forks them, so nothing else on the machine can reach it. Each process
gets a row of its own, and a new process gets that of one which has ended.
"""

from __future__ import annotations

import mmap
import os
import socket
from contextlib import suppress

# Later than any stamp: this process expects nobody, or has nothing that it has not seen.
NEVER = 2**62
# Jobs share this many cells of a row. Two jobs in one cell may wait for each other's requests.
CELLS = 64
_STATE, _GENERATION, _SEEN, _FIRST = range(4)
_WIDTH = _FIRST + CELLS
_FREE, _TAKEN, _OPEN = range(3)
# How many bytes of messages may wait in an inbox.
INBOX_BYTES = 1_048_576


class Peers:
    """Rows of the processes that share this, each with a bell and an inbox.

    Only the row's process writes into it, except that the server claims and releases rows. Each
    cell is written and read whole.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._cells = memoryview(mmap.mmap(-1, rows * _WIDTH * 8)).cast("q")
        self.bells = [os.pipe() for _ in range(rows)]
        self.inboxes = [
            socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(rows)
        ]
        for pipe in self.bells:
            for end in pipe:
                os.set_blocking(end, False)
        for way_in, _ in self.inboxes:
            way_in.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, INBOX_BYTES)
        for row in range(rows):
            self._clear(row)

    def close(self) -> None:
        """Close the bells and inboxes of this process."""
        for pipe in self.bells:
            for end in pipe:
                os.close(end)
        for pair in self.inboxes:
            for end_of_inbox in pair:
                end_of_inbox.close()

    def claim(self) -> int | None:
        """Return a free row for a process that is about to be forked, or None."""
        for row in range(self.rows):
            if self._cells[row * _WIDTH + _STATE] == _FREE:
                self._cells[row * _WIDTH + _STATE] = _TAKEN
                return row
        return None

    def open(self, row: int) -> None:
        """Mark a row's process as one that takes turns of others. Old messages are dropped."""
        inbox = self.inboxes[row][1]
        with suppress(BlockingIOError):
            while True:
                inbox.recv(INBOX_BYTES, socket.MSG_DONTWAIT)
        self._cells[row * _WIDTH + _STATE] = _OPEN

    def shut(self, row: int) -> None:
        """Mark a row's process as one that takes no more turns of others."""
        self._cells[row * _WIDTH + _STATE] = _TAKEN

    def release(self, row: int) -> None:
        """Free the row of a process that has ended."""
        self._clear(row)
        self._cells[row * _WIDTH + _GENERATION] += 1

    def generation(self, row: int) -> int:
        """Return a number that changes when the row's process has ended."""
        return self._cells[row * _WIDTH + _GENERATION]

    def open_rows(self) -> list[int]:
        """Return the rows whose processes take turns of others."""
        states = self._cells[_STATE::_WIDTH]
        return [row for row in range(self.rows) if states[row] == _OPEN]

    def expected(self, row: int, cell: int) -> tuple[int, int]:
        """Return the earliest stamp that a process still expects, and until when it has seen all.

        It has registered every request that reached it before the second, which is read first: a
        request could otherwise be registered and seen between the two.
        """
        start = row * _WIDTH
        seen = self._cells[start + _SEEN]
        return self._cells[start + _FIRST + cell], seen

    def expect(self, row: int, cell: int, stamp: int) -> None:
        """Publish the earliest stamp that a process still expects."""
        self._cells[row * _WIDTH + _FIRST + cell] = stamp

    def see(self, row: int, until: int) -> None:
        """Publish until when a process has seen everything."""
        self._cells[row * _WIDTH + _SEEN] = until

    def ring(self, row: int) -> None:
        """Ask a process to publish until when it has seen everything."""
        with suppress(BlockingIOError):  # it has been asked already
            os.write(self.bells[row][1], b"\0")

    def _clear(self, row: int) -> None:
        start = row * _WIDTH
        for cell in range(_SEEN, _WIDTH):
            self._cells[start + cell] = NEVER
        self._cells[start + _STATE] = _FREE
