"""A place for clusters, and processes that use them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.database.cluster_users import User, clean_up


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty directory that every user can reach (pytest's own are closed)."""
    with reachable_folder() as path:
        yield path


@contextmanager
def reachable_folder() -> Iterator[Path]:
    """An empty directory that every user can reach, as long as the block runs."""
    path = Path(tempfile.mkdtemp(prefix="cluster-", dir="/tmp")).resolve()
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def users() -> Iterator[Callable[..., User]]:
    """Starts processes that use a cluster, and sees them off; the last one stops the server."""
    started: list[User] = []
    bases: set[Path] = set()

    def start(base: Path, *arguments: str, **environment: str) -> User:
        bases.add(base)
        started.append(User(base, *arguments, **environment))
        return started[-1]

    yield start
    for user in started:
        user.kill()
    for base in bases:
        clean_up(base)
