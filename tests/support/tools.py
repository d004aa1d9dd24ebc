"""Programs that tests need besides Python. In CI, a missing one is a failure."""

from __future__ import annotations

import os
import shutil

import pytest


def needed_tool(name: str, install: str) -> str:
    """Return the path of a program; skip the test if it is missing, or fail in CI."""
    path = shutil.which(name)
    if path is None:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say(f"{name} is missing: {install}")
    return path
