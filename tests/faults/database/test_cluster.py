"""The embedded PostgreSQL under real processes: kills, leftovers, and several users at once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from pipeline.database import file_locks
from pipeline.database.cluster import Cluster
from tests.faults.database.cluster_users import (
    FORKING_USER,
    PATIENCE_SECONDS,
    User,
    is_up,
    kill_server,
    query,
    server_of,
)
from tests.support.waiting import eventually


def test_the_last_user_stops_the_server(folder: Path, users: Callable[..., User]) -> None:
    first, second = users(folder), users(folder)
    assert (first.hear(), second.hear()) == ("up", "up")

    first.leave()
    assert is_up(folder)

    second.leave()
    assert not is_up(folder)
    assert server_of(folder) == 0


def test_a_server_left_by_a_killed_user_is_found_and_stopped_by_the_next(
    folder: Path, users: Callable[..., User]
) -> None:
    killed = users(folder)
    killed.hear()
    killed.kill()
    left = server_of(folder)

    after = users(folder)
    assert after.hear() == "up"
    assert server_of(folder) == left

    after.leave()
    assert server_of(folder) == 0


def test_after_kill_9_of_everything_it_starts_again_with_its_data(
    folder: Path, users: Callable[..., User]
) -> None:
    killed = users(folder, FSYNC="on")
    killed.hear()
    query(folder, "CREATE TABLE kept AS SELECT 42 AS answer")

    kill_server(folder)
    killed.kill()

    assert users(folder).hear() == "up"
    assert query(folder, "SELECT answer FROM kept") == "42"


def test_a_user_brings_a_killed_server_back(folder: Path, users: Callable[..., User]) -> None:
    user = users(folder)
    user.hear()

    kill_server(folder)

    assert user.ensure_again() == "up"
    assert query(folder, "SELECT 1") == "1"


def test_many_first_users_at_once_share_one_server(
    folder: Path, users: Callable[..., User]
) -> None:
    together = [users(folder) for _ in range(5)]

    assert [user.hear() for user in together] == ["up"] * 5

    assert query(folder, "SELECT 1") == "1"
    for user in together:
        user.leave()
    assert server_of(folder) == 0


def test_a_forked_child_counts_as_a_user_of_its_own(
    folder: Path, users: Callable[..., User]
) -> None:
    family = users(folder, FORKING_USER)
    assert family.hear() == "up"
    family.process.wait(PATIENCE_SECONDS)  # the parent
    assert is_up(folder)

    family.leave()

    eventually(lambda: server_of(folder) == 0)


def test_an_initdb_cut_off_by_kill_9_is_begun_afresh(
    folder: Path, users: Callable[..., User]
) -> None:
    cut_off = users(folder)
    half_made = folder / "initdb.half-made"
    while not (half_made / "postgresql.conf").exists():
        time.sleep(0.01)
    cut_off.kill()
    assert half_made.exists()  # or it was not cut off
    assert server_of(folder) == 0

    assert users(folder).hear() == "up"

    assert query(folder, "SELECT 1") == "1"
    assert not (folder / "initdb.half-made").exists()


def test_a_pid_that_went_to_another_program_is_no_obstacle(
    folder: Path, users: Callable[..., User]
) -> None:
    earlier = users(folder)
    earlier.hear()
    left_behind = (Cluster(folder).server.data / "postmaster.pid").read_text()
    earlier.leave()
    stranger = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    pretend_to_be_server(folder, left_behind, stranger.pid)

    assert users(folder).hear() == "up"

    assert query(folder, "SELECT 1") == "1"
    assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def pretend_to_be_server(base: Path, postmaster_pid: str, process_id: int) -> None:
    server = Cluster(base).server
    text = f"{process_id}\n" + postmaster_pid.split("\n", 1)[1]
    for lock_file in (server.data / "postmaster.pid", Path(f"{server.socket}.lock")):
        lock_file.write_text(text)
        shutil.copystat(server.data / "PG_VERSION", lock_file)
        owner = (server.data / "PG_VERSION").stat()
        os.chown(lock_file, owner.st_uid, owner.st_gid)


def test_the_lock_really_keeps_others_out(folder: Path, users: Callable[..., User]) -> None:
    with file_locks.hold(folder / "start.lock"):
        waiting = users(folder)
        time.sleep(0.5)
        assert not list(folder.glob("data-*"))

    assert waiting.hear() == "up"
