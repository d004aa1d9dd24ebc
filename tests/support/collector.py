"""Fewer runs of Python's garbage collector: each would scan all objects of Django and pytest."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

# Objects that are made before the youngest are looked at; 700 is usual.
MANY = 20_000


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect nothing while the tests are imported, because nearly everything stays.

    Skip it later too, and collect the rest less often.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(MANY, 20, 50)
        gc.enable()
