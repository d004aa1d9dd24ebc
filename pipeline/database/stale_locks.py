"""Stale lock files of a killed server, which name a process id.

PostgreSQL forgets such a file when no process has the number. It refuses to start when the number
has meanwhile gone to another program, so that case is ours.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def remove_stale_lock(lock_file: Path, base: Path) -> None:
    """Remove `lock_file` if the process it names is alive and no server of a folder in `base`."""
    with suppress(OSError, ValueError, IndexError):
        process_id = abs(int(lock_file.read_text().split()[0]))
        with suppress(PermissionError):  # then it is alive
            os.kill(process_id, 0)  # raises ProcessLookupError when it is not
        if not _is_lock_in_use(process_id, base):
            lock_file.unlink()


def _is_lock_in_use(process_id: int, base: Path) -> bool:
    """Return whether that process is a server of ours, working in a data folder in `base`.

    A process that is dead but not yet collected has no working directory, and serves nothing.
    """
    if not (PROC / "self").exists():
        command = ["/bin/ps", "-ww", "-o", "command=", "-p", str(process_id)]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return str(base) in said
    with suppress(OSError):
        return (PROC / str(process_id) / "cwd" / "..").samefile(base)
    return False
