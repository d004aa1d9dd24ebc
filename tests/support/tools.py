"""Programs that tests need besides Python. In CI, a missing one is a failure."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest


def needed_tool(name: str, install: str) -> str:
    """Return the path of a program; skip the test if it is missing, or fail in CI."""
    path = shutil.which(name)
    if path is None:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say(f"{name} is missing: {install}")
    return path


def needed_node_packages(*names: str) -> Path:
    """Return the folder of globally installed npm packages; skip or fail if one is missing."""
    npm = needed_tool("npm", "the package npm")
    root = subprocess.run([npm, "root", "--global"], capture_output=True, text=True, check=True)
    folder = Path(root.stdout.strip())
    missing = [name for name in names if not (folder / name).exists()]
    if missing:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say(f"npm install --global --ignore-scripts {' '.join(missing)}")
    return folder


def needed_module(name: str) -> None:
    """Skip the test if a module of the tests' requirements is not installed, or fail in CI."""
    if find_spec(name) is None:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say(f"the module {name} is missing: install requirements-dev.txt")
