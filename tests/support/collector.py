"""Fewer runs of Python's garbage collector: each would look at all that Django and pytest hold."""

from __future__ import annotations

import gc

# Objects that are made before the youngest are looked at; 700 is usual.
MANY = 20_000


def pytest_collection_finish() -> None:
    """Leave what exists before the first test to itself, and look at the rest less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(MANY, 20, 50)
