"""Wait for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_SECONDS = 60.0  # nobody waits for so long, unless something is broken


def eventually(condition: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> float:
    """Wait until a condition holds; return how many seconds it took. Fail when it never does."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, "it never was so"
        time.sleep(0.01)
    return time.monotonic() - start
