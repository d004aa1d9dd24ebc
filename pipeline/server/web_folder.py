"""Temporary folder of a web server: counters for /metrics, and uploads.

A kill leaves it behind. The next web server on the machine removes it.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from pipeline.database import file_locks

PREFIX, STARTING_PREFIX = "next-in-line-web-", "next-in-line-starting-"
LOCK = "lock"


def make() -> str:
    """Create a folder, and lock it for as long as this process or a child that it forks lives.

    It gets its name only once it is locked, so that no other server removes it before.
    """
    folder = Path(tempfile.mkdtemp(prefix=STARTING_PREFIX))
    fcntl.flock(file_locks.open_private(folder / LOCK), fcntl.LOCK_EX)
    name = PREFIX + folder.name.removeprefix(STARTING_PREFIX)
    return str(folder.rename(folder.with_name(name)))


def remove_left() -> None:
    """Remove the folders of this user whose web servers are gone."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            if folder.lstat().st_uid != os.getuid():
                continue
            lock = os.open(folder / LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:  # another server removes it, or it is none of ours
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            continue
        finally:
            os.close(lock)
