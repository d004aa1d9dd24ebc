"""Wait for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_SECONDS = 60.0  # nobody waits for so long, unless something is broken


def eventually(condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> float:
    """Wait until a condition holds; return how many seconds it took. Fail when it never does.

    What takes long is asked for less often: to ask may start a process of the database.
    """
    start = time.monotonic()
    while not condition():
        waited = time.monotonic() - start
        assert waited < seconds, "it never was so"
        time.sleep(min(max(waited / 20, 0.01), 0.25))
    return time.monotonic() - start
