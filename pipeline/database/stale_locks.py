"""Stale lock files of a killed server, which name a process id.

PostgreSQL ignores such a file if no process has the id. It refuses to start if the id now belongs
to another program, so that case is handled here.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def remove(lock_file: Path, base: Path) -> None:
    """Remove `lock_file` if its process is alive but is not a server of a folder in `base`."""
    with suppress(OSError, ValueError, IndexError):
        process_id = abs(int(lock_file.read_text().split()[0]))
        with suppress(PermissionError):  # then it is alive
            os.kill(process_id, 0)  # raises ProcessLookupError if it is not
        if not _is_used(process_id, base):
            lock_file.unlink()


def _is_used(process_id: int, base: Path) -> bool:
    """Return whether a process is one of our servers, working in a data folder in `base`.

    A dead process that is not yet reaped has no working directory and serves nothing.
    """
    if not (PROC / "self").exists():
        command = ["/bin/ps", "-ww", "-o", "command=", "-p", str(process_id)]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return str(base) in said
    with suppress(OSError):
        return (PROC / str(process_id) / "cwd" / "..").samefile(base)
    return False
