"""Fewer runs of Python's garbage collector: each would look at all that Django and pytest hold."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

# Objects that are made before the youngest are looked at; 700 is usual.
MANY = 20_000


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look at nothing while the tests are imported: nearly all of it stays.

    Leave that to itself later, too, and look at the rest less often.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(MANY, 20, 50)
        gc.enable()
