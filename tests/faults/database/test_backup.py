"""Backups are restored with the very commands of docs/operations.md, and the logs still verify."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from pipeline.database.cluster import PORT, Cluster, unprivileged_user
from pipeline.database.data_dir import make_reachable_folder
from tests.faults.conftest import reachable_folder
from tests.faults.database.cluster_users import clean_up
from tests.support.commands import commands
from tests.support.environment import ROOT

pytestmark = [pytest.mark.slow]

# Moves the demo's lines on, and anchors all logs.
MOVE_ON = """
import sys, django
django.setup()
from jobs.models import Job
from pipeline.audit.anchors import append
from pipeline.domain.states import Actor, ActorKind
from pipeline.services.joining import apply
from applicants.people import find_or_create_person
job = Job.objects.filter(status="OPEN").latest("seq")
for number in range(5):
    person = find_or_create_person(f"{sys.argv[1]}{number}@example.org")
    apply(job_id=job.id, applicant_id=person.id, name="Someone",
          actor=Actor(ActorKind.COMPANY, job.company_id))
append()
"""
SETTINGS = {"fsync": "off", "wal_level": "replica"}
EVENTS = "SELECT count(*)::int FROM pipeline_event"


class Installation:
    """A cluster, and the site's commands on it; anchors are kept in `folder`."""

    def __init__(self, socket_dir: Path, folder: Path, programs: Path) -> None:
        self.folder = folder
        self.address = f"host={socket_dir} port={PORT} user=postgres dbname=postgres"
        url = f"postgres://{{}}@{str(socket_dir).replace('/', '%2F')}/postgres"
        self.environment = {
            "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "DJANGO_SETTINGS_MODULE": "pipeline.settings",
            "SECRET_KEY": "of-a-test-0123456789-abcdefghijkl",
            "DATABASE_URL": url.format("the_site"),
            "MIGRATION_DATABASE_URL": url.format("postgres"),
            "SUPERUSER_URL": url.format("postgres"),
            "ANCHOR_FILE": str(folder / "anchors.jsonl"),
            "ANCHOR_KEY_FILE": str(folder / "anchor_key"),
        }

    def run(self, script: str, *, cwd: Path = ROOT, fails: bool = False, **identity: Any) -> str:
        """Run a script with bash; return its output."""
        run = subprocess.run(
            ["/bin/bash", "-euo", "pipefail", "-c", script],
            cwd=cwd,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=240,
            **identity,
        )
        assert bool(run.returncode) is fails, run.stdout
        return run.stdout

    def move_on(self, name: str) -> None:
        subprocess.run(
            [sys.executable, "-c", MOVE_ON, name], cwd=ROOT, env=self.environment, check=True
        )

    def ask(self, statement: str) -> Any:
        with psycopg.connect(self.address, autocommit=True) as connection:
            [value] = connection.execute(statement).fetchone() or [None]  # type: ignore[arg-type]
            return value


@pytest.fixture
def programs(folder: Path) -> Path:
    """The folder of PostgreSQL's programs, where the server's user reaches them."""
    return Cluster(folder / "primary").server.binaries.folder


@pytest.fixture(scope="module")
def prepared() -> Iterator[Path]:
    """The files of an installation with the demo and its anchors: to make them takes long."""
    with reachable_folder() as place:
        cluster = Cluster(place / "primary", **SETTINGS)
        cluster.ensure()
        made = Installation(cluster.socket_dir, place, cluster.server.binaries.folder)
        try:
            made.run("python manage.py migrate -v0 && python manage.py seed_demo > /dev/null")
            made.move_on("before")
            cluster.server.stop()
            yield place
        finally:
            cluster.release()
            clean_up(place / "primary")


@pytest.fixture
def primary(prepared: Path, folder: Path, programs: Path) -> Iterator[Installation]:
    """The demo in a cluster of its own, with anchors."""
    model = Cluster(prepared / "primary", **SETTINGS)
    cluster = Cluster(folder / "primary", **SETTINGS)
    make_reachable_folder(cluster.base, unprivileged_user())
    subprocess.run(["/bin/cp", "-a", model.server.data, cluster.server.data], check=True)
    for each in prepared.glob("anchor*"):
        shutil.copy(each, folder)
    cluster.ensure()
    try:
        yield Installation(cluster.socket_dir, folder, programs)
    finally:
        cluster.release()
        clean_up(folder / "primary")


def test_a_dump_is_restored_into_another_cluster_and_verifies(
    primary: Installation, folder: Path, programs: Path
) -> None:
    events = primary.ask(EVENTS)
    primary.run(commands("dump", backups=str(folder)))
    primary.move_on("after")
    cluster = Cluster(folder / "other", fsync="off")
    cluster.ensure()
    try:
        other = Installation(cluster.socket_dir, folder, programs)
        shutil.copy(folder / "anchors.jsonl", folder / "later.jsonl")
        lines = (folder / "anchors.jsonl").read_text().splitlines(keepends=True)

        other.run(commands("restore-dump", backups=str(folder)))
        # The copy of the anchors that was made together with the dump.
        (folder / "anchors.jsonl").write_text("".join(lines[: len(lines) - 1]))
        said = other.run(commands("verify-restored", backups=str(folder)))

        assert "All is well" in said
        assert "The logs agree with all" in said
        assert other.ask(EVENTS) == events
        assert (
            other.ask("SELECT has_table_privilege('the_site', 'pipeline_event', 'UPDATE')") is False
        )
        # Anchors that are newer than the backup say what was lost, and where.
        (folder / "later.jsonl").replace(folder / "anchors.jsonl")
        lost = other.run(commands("verify-restored", backups=str(folder)), fails=True)
        assert "now there is none" in lost
        other.move_on("again")
        assert "All is well" in other.run("python manage.py verify_log")
    finally:
        cluster.release()
        clean_up(folder / "other")


def as_server() -> tuple[dict[str, Any], pwd.struct_passwd | None]:
    """Return options of subprocess to run as the user of the server: it refuses to run as root."""
    user = unprivileged_user()
    return ({"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}), user


class Copies:
    """Servers that are restored from a primary's backups, with the commands of the page."""

    def __init__(self, primary: Installation, folder: Path) -> None:
        self.primary, self.folder, self.backups = primary, folder, folder / "backups"
        self.identity, self.user = as_server()
        self.at = {"backups": str(self.backups)}
        self._make_folder(self.backups)

    def _make_folder(self, place: Path) -> None:
        place.mkdir()
        if self.user:
            os.chown(place, self.user.pw_uid, self.user.pw_gid)

    def on(self, installation: Installation, name: str, **replaced: str) -> str:
        script = commands(name, **replaced)
        return installation.run(script, cwd=self.folder, **self.identity)

    def moment(self) -> tuple[int, str]:
        """Note the present moment and its number of events, keep its anchors, and go on."""
        events = self.primary.ask(EVENTS)
        moment = self.primary.ask("SELECT clock_timestamp()::text")
        for name in ("anchors.jsonl", "anchor_key.pub"):
            shutil.copy(self.folder / name, self.backups)
        time.sleep(0.1)
        self.primary.move_on(f"after{events}")
        return events, moment

    def archived(self, name: str = "archive") -> set[str]:
        return {path.name for path in (self.backups / name).iterdir()}

    @contextmanager
    def restored(self, name: str, moment: str) -> Iterator[tuple[Installation, Path]]:
        """Restore a moment as the page says; the socket of this server is in its own folder."""
        data = self.folder / name / "restored"
        self._make_folder(data.parent)
        # The settings of our embedded server are beside its data; a restored one needs as many
        # connections, and a socket of its own.
        (data.parent / "embedded.conf").write_text(
            "listen_addresses = ''\nmax_connections = 200\n"
            f"unix_socket_directories = '{data.parent}'\nport = {PORT}\n"
        )
        programs = Path(self.primary.environment["PATH"].split(":")[0])
        copy = Installation(data.parent, self.folder, programs)
        self.on(copy, "restore-moment", **self.at, data=str(data), moment=moment)
        try:
            self.on(copy, "wait-restored")
            assert copy.ask("SELECT pg_is_in_recovery()") is False
            yield copy, data
        finally:
            copy.run(f"pg_ctl -D {data} -m immediate stop", cwd=self.folder, **self.identity)


@pytest.mark.in_turns(2)
def test_a_moment_is_restored_in_a_rehearsal_and_again_in_earnest(
    primary: Installation, folder: Path
) -> None:
    copies = Copies(primary, folder)
    copies.on(primary, "archive", **copies.at)
    restart(folder / "primary")
    copies.on(primary, "base-backup", **copies.at)
    primary.move_on("archived")
    kept, moment = copies.moment()
    copies.on(primary, "switch-log")

    # The rehearsal, while the site runs: it writes, but nothing into the live server's archive.
    with copies.restored("rehearsal", moment) as (copy, _):
        said = copy.run(commands("verify-restored", **copies.at))
        assert copy.ask(EVENTS) == kept
        assert "All is well" in said
        assert "The logs agree with all" in said
        before = copies.archived()
        copy.move_on("rehearsed")
        copy.ask("SELECT pg_switch_wal()::text")
        time.sleep(2)  # an archiver would take the file at once
        assert copy.ask("SHOW archive_mode") == "off"
        assert [name for name in copies.archived() - before if name[:8] != "00000001"] == []

    # The restore, from the same base, to a moment after the rehearsal.
    kept, moment = copies.moment()
    primary.run('psql "$SUPERUSER_URL" -qc "DROP TABLE pipeline_throttle"', **copies.identity)
    primary.move_on("mistaken")
    copies.on(primary, "switch-log")
    Cluster(folder / "primary").server.stop()
    with copies.restored("server", moment) as (copy, data):
        said = copy.run(commands("verify-restored", **copies.at))
        assert copy.ask(EVENTS) == kept
        assert copy.ask("SELECT to_regclass('pipeline_throttle') IS NOT NULL") is True
        assert "All is well" in said
        assert "The logs agree with all" in said

        before = copies.archived()
        copies.on(copy, "go-live", **copies.at, data=str(data))
        copy.move_on("afterwards")
        copies.on(copy, "switch-log")
        assert copies.archived() == before
        assert any(name.startswith("00000002") for name in copies.archived("archive-2"))
        assert copy.ask("SELECT count(*)::int FROM pipeline_heartbeat WHERE worker = 'backup'") == 1

    copies.on(primary, "remove-old", **copies.at)
    assert copies.archived() < before


@pytest.mark.in_turns(2)
def test_doctor_knows_the_backup_and_the_archive(primary: Installation, folder: Path) -> None:
    copies = Copies(primary, folder)
    copies.on(primary, "archive", **copies.at)
    restart(folder / "primary")
    copies.on(primary, "switch-log")
    eventually_archived(primary, "last_archived_time IS NOT NULL")
    copies.on(primary, "base-backup", **copies.at)
    good = doctor_levels(primary)
    copies.backups.joinpath("archive").rename(copies.backups / "unmounted")
    copies.on(primary, "switch-log")
    eventually_archived(primary, "last_failed_time > last_archived_time")
    bad = doctor_levels(primary)
    copies.backups.joinpath("unmounted").rename(copies.backups / "archive")
    copies.on(primary, "switch-log")
    eventually_archived(primary, "last_failed_time < last_archived_time")
    mended = doctor_levels(primary)

    assert (good["WAL archive"][0], good["backup"][0]) == ("ok", "ok")
    assert "archived" in good["WAL archive"][1]
    assert bad["WAL archive"][0] == "problem"
    assert "failed. The last success was" in bad["WAL archive"][1]
    assert mended["WAL archive"][0] == "ok"


def doctor_levels(installation: Installation) -> dict[str, tuple[str, str]]:
    """Return level and message of each check's last finding; workers are missing."""
    said = installation.run("python manage.py doctor --json 2> /dev/null", fails=True)
    rows = json.loads(said)["findings"]
    return {row["check"]: (row["level"], row["message"]) for row in rows}


def eventually_archived(installation: Installation, condition: str) -> None:
    for _ in range(300):
        if installation.ask(f"SELECT {condition} FROM pg_stat_archiver"):
            return
        time.sleep(0.1)
    raise AssertionError(f"never: {condition}")


def restart(base: Path) -> None:
    """Restart a cluster, so that settings apply that only a start reads."""
    cluster = Cluster(base, **SETTINGS)
    cluster.server.stop()
    cluster.ensure()
