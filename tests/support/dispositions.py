"""Signal dispositions of started processes, which they would inherit from whoever ran the tests."""

from __future__ import annotations

import signal

# Ignored under nohup, or in the background of a script.
MAY_BE_IGNORED = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT)


def reset_dispositions() -> None:
    """Let these signals end the process; for `preexec_fn`."""
    for number in MAY_BE_IGNORED:
        signal.signal(number, signal.SIG_DFL)


def ignore_hang_up() -> None:
    """Ignore a hang-up, as nohup does; for `preexec_fn`."""
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
