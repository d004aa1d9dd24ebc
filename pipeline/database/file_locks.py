"""Locks on files: the kernel drops them with their process, even after kill -9."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def open_lock(path: Path) -> int:
    """A descriptor of the lock file `path`; nobody else may open it, or they could block us."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


@contextmanager
def alone(path: Path) -> Iterator[int]:
    """Wait until nobody else is in here with the same `path`; gives the lock's descriptor.

    A child that inherits the descriptor keeps the lock for as long as it lives.
    """
    lock = open_lock(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


class Seat:
    """This process's place among the users of something shared."""

    def __init__(self, path: Path) -> None:
        self._lock = open_lock(path)
        self._owner = os.getpid()
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def is_mine(self) -> bool:
        """False in a forked child: it needs a seat of its own."""
        return self._owner == os.getpid()

    def forget(self) -> None:
        """In a forked child: let go of what was inherited; the parent's seat stays taken."""
        os.close(self._lock)

    def leave(self) -> bool:
        """Give the seat back; whether it was the last one taken."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            return True
        finally:
            os.close(self._lock)
