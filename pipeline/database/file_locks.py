"""File locks. The kernel releases them with their process, even after kill -9."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def open_private(path: Path) -> int:
    """Open the lock file `path`, closed to other users so that they cannot block us."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


@contextmanager
def hold(path: Path) -> Iterator[int]:
    """Hold the exclusive lock on `path` while the block runs, and yield its descriptor.

    A child that inherits the descriptor keeps the lock while it lives.
    """
    lock = open_private(path)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock
    finally:
        os.close(lock)


class SharedFileLock:
    """Shared lock of this process as one of a server's users."""

    def __init__(self, path: Path) -> None:
        self._lock = open_private(path)
        self._owner = os.getpid()
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def is_mine(self) -> bool:
        """Return whether this process holds the lock. A forked child needs its own."""
        return self._owner == os.getpid()

    def forget(self) -> None:
        """Close the inherited descriptor in a forked child. The parent keeps its lock."""
        os.close(self._lock)

    def leave(self) -> bool:
        """Release the lock, and return whether it was the last one."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        else:
            return True
        finally:
            os.close(self._lock)
