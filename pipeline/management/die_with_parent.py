"""Run a command that ends with the process that started it, even after kill -9.

Used as `python -IS die_with_parent.py COMMAND …`, with a pipe as standard input
whose other end only the starter holds. The command keeps this process's id. A small watcher process
reads the pipe. When the starter is gone, the kernel closes the pipe, and the watcher stops the
command. (Linux has PR_SET_PDEATHSIG for this; a pipe works everywhere.)
"""

from __future__ import annotations

import os
import signal
import sys
import time

GRACE_SECONDS = 10
URGE_SECONDS = 5  # then it is asked to end again
TICK_SECONDS = 0.2
INHERITED_FDS = 256  # only what the starter passed on is open, with small numbers


def die_with_parent(command: list[str]) -> None:
    """Start the watcher, then become `command`."""
    leader = os.getpid()
    if os.fork() == 0:
        os.closerange(1, INHERITED_FDS)  # otherwise it would hold the port and the terminal
        while os.read(0, 1024):
            pass
        # Ask the leader to end, twice, then kill it and everything in its session.
        start = time.monotonic()
        for until in (start + URGE_SECONDS, start + GRACE_SECONDS):
            if _is_alive(leader):
                os.kill(leader, signal.SIGTERM)
            while _is_alive(leader) and time.monotonic() < until:
                time.sleep(TICK_SECONDS)
        if _is_alive(leader):
            os.killpg(leader, signal.SIGKILL)
        os._exit(0)
    os.execvp(command[0], command)  # noqa: S606 -- the command is our starter's


def _is_alive(leader: int) -> bool:
    """Tell whether `leader` is alive.

    Ids are reused, but no other process can become our parent.
    """
    return os.getppid() == leader


if __name__ == "__main__":
    die_with_parent(sys.argv[1:])
