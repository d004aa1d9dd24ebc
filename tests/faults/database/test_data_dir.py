"""The embedded PostgreSQL in awkward places and environments, with real processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.database.cluster import Cluster
from pipeline.database.errors import ClusterError
from tests.faults.database.cluster_users import User, query


@pytest.mark.parametrize(
    "name",
    ["with spaces and ümlauts", "it's, quoted", "long-" * 20],
    ids=["spaces", "quotes", "long"],
)
def test_it_runs_in_an_awkward_path(folder: Path, name: str, users: Callable[..., User]) -> None:
    base = folder / name

    assert users(base).hear() == "up"

    assert query(base, "SELECT lower('ÄÉ')") == "äé"
    assert len(str(Cluster(base).server.socket)) <= 107
    assert Cluster(base).socket_dir.stat().st_mode & 0o777 == 0o700


def test_a_closed_parent_stays_closed(folder: Path, users: Callable[..., User]) -> None:
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0o700)
    base = closed / "cluster"

    assert users(base).hear() == "up"

    assert query(base, "SELECT 1") == "1"
    assert closed.stat().st_mode & 0o777 == 0o700


def test_two_folders_are_two_clusters(folder: Path, users: Callable[..., User]) -> None:
    here, there = folder / "here", folder / "there"
    assert (users(here).hear(), users(there).hear()) == ("up", "up")

    query(here, "CREATE TABLE only_here ()")

    assert query(there, "SELECT to_regclass('only_here') IS NULL") == "True"


def test_the_environment_of_another_postgresql_changes_nothing(
    folder: Path, users: Callable[..., User]
) -> None:
    user = users(folder, PGPORT="6543", PGDATA="/nowhere", LC_ALL="xx_XX.UTF-8")

    assert user.hear() == "up"

    assert query(folder, "SELECT 1") == "1"


def test_the_test_cluster_trades_safety_for_speed(folder: Path, users: Callable[..., User]) -> None:
    users(folder).hear()

    shown = query(
        folder,
        "SELECT string_agg(setting, ' ' ORDER BY name) FROM pg_settings WHERE name IN "
        "('fsync', 'full_page_writes', 'max_connections', 'synchronous_commit')",
    )
    assert shown == "off off 200 off"


def test_a_folder_of_somebody_else_is_refused(folder: Path) -> None:
    other = folder / "other"
    other.mkdir()
    other.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(other, 65534, 65534)
    else:
        other = Path("/usr")

    with pytest.raises(ClusterError, match="belongs to another user"):
        Cluster(other).ensure()
