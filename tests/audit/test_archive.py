"""The archive of closed jobs' logs: complete, sound, and never replaced by another history."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, connections

from pipeline.audit import archive, task
from pipeline.audit import archive as archived_log
from pipeline.audit.archive import (
    archive_log,
    archive_logs,
    archived_log_path,
    find_archive_problems,
    replay_archived_log,
    verify_archived_log,
)
from pipeline.audit.verify import replay, verify_job
from pipeline.domain.states import Outcome
from pipeline.models import Event
from pipeline.services.jobs import close_job
from pipeline.services.leaving import remove
from tasks.errors import Fatal
from tests.audit.test_forged_logs import forge
from tests.support import factories
from tests.support.archives import MONTH, closed_job, said_by
from tests.support.clock import let_time_pass
from tests.support.handlers import Run
from tests.support.sandboxes import sandbox

pytestmark = pytest.mark.django_db(transaction=True)


def test_only_jobs_closed_long_enough_ago_are_archived_and_only_once(tmp_path: Path) -> None:
    old, young, opened = closed_job(), closed_job(ago_seconds=86_400), factories.job()
    test_job = factories.job(company_id=sandbox().id)
    close_job(job_id=test_job, actor=factories.RECRUITER)
    let_time_pass(test_job, MONTH)
    let_time_pass(opened, MONTH)

    assert archive_logs(tmp_path, after_days=30) == (1, 0, [])
    made = archived_log_path(tmp_path, old).stat()
    assert archive_logs(tmp_path, after_days=30) == (0, 0, [])
    assert archive_logs(tmp_path, after_days=1) == (1, 0, [])

    assert archived_log_path(tmp_path, young).exists()
    assert archived_log_path(tmp_path, old).stat().st_ino == made.st_ino


def test_a_log_that_has_grown_replaces_its_file(tmp_path: Path) -> None:
    job_id = factories.job(capacity=1)
    [active] = factories.applications(job_id, 1)
    close_job(job_id=job_id, actor=factories.RECRUITER)
    let_time_pass(job_id, MONTH)
    assert archive_logs(tmp_path, after_days=30) == (1, 0, [])

    remove(application_id=active.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)

    assert find_archive_problems(tmp_path) == (1, []), "it may have more events than its file"
    assert archive_logs(tmp_path, after_days=30) == (1, 0, [])
    header = verify_archived_log(archived_log_path(tmp_path, job_id))
    assert header.events == factories.row_of(job_id).seq
    names = {each.name for each in tmp_path.rglob("*.*")}
    assert names == {f"{job_id}.jsonl.gz", "manifest.jsonl"}


def test_the_same_log_gives_the_same_bytes(tmp_path: Path) -> None:
    job_id = closed_job()

    first = archive_log(tmp_path, job_id).read_bytes()
    second = archive_log(tmp_path, job_id).read_bytes()

    assert first == second


def test_an_unsound_log_is_named_and_does_not_keep_others_out(tmp_path: Path) -> None:
    bad, good = closed_job(ago_seconds=2 * MONTH), closed_job()
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        Event.objects.filter(job_id=bad, seq=3).update(actor_id=uuid4())
        cursor.execute("RESET session_replication_role")

    written, _, problems = archive_logs(tmp_path, after_days=30)

    assert (written, len(problems)) == (1, 1)
    assert problems[0] == f"{bad} was not archived: its log is not sound. Run verify_log."
    assert not archived_log_path(tmp_path, bad).exists()
    assert archived_log_path(tmp_path, good).exists()


def test_a_log_rewritten_with_its_chain_differs_from_its_file_and_cannot_replace_it(
    tmp_path: Path,
) -> None:
    job_id = factories.job(capacity=1)
    active, *_ = factories.applications(job_id, 3)
    close_job(job_id=job_id, actor=factories.RECRUITER)
    factories.settle_all()
    let_time_pass(job_id, MONTH)
    archive_logs(tmp_path, after_days=30)
    kept = archived_log_path(tmp_path, job_id).read_bytes()

    seq = forge(job_id, "APPLIED", lambda row: setattr(row, "actor_id", job_id))
    assert verify_job(job_id).is_sound
    grows = [False, True]
    for grown in grows:
        if grown:
            remove(application_id=active.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)
        _, [problem] = find_archive_problems(tmp_path)
        assert problem.endswith(
            f"{job_id}.jsonl.gz: the log in the database differs from seq {seq} on"
        )
        assert archive_logs(tmp_path, after_days=30) == (0, 0, [problem])
        with pytest.raises(CommandError, match=f"differs from seq {seq} on"):
            said_by("verify_log", archive=tmp_path)

    assert archived_log_path(tmp_path, job_id).read_bytes() == kept


def test_events_that_are_gone_from_the_database_are_in_the_file(tmp_path: Path) -> None:
    job_id = closed_job()
    path, line = archive_log(tmp_path, job_id), replay(job_id)
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        Event.objects.filter(job_id=job_id).delete()
        cursor.execute("RESET session_replication_role")

    assert find_archive_problems(tmp_path)[1] == [
        f"{path}: the log in the database differs from seq 1 on"
    ]
    assert replay_archived_log(path) == line


STEPS = {
    "while the file is written": (archived_log, "_encode_line"),
    "before it is read back": (archive, "verify_archived_log"),
    "before it gets its name": (Path, "replace"),
    "after it got its name": (archive.anchors, "sync_folder"),
}


@pytest.mark.parametrize("when", STEPS)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_kill_leaves_the_file_before_or_the_one_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str, is_first: bool
) -> None:
    job_id = factories.job(capacity=1)
    [active] = factories.applications(job_id, 1)
    close_job(job_id=job_id, actor=factories.RECRUITER)
    let_time_pass(job_id, MONTH)
    path = archived_log_path(tmp_path, job_id)
    if not is_first:
        archive_log(tmp_path, job_id)
        remove(application_id=active.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)
    before = path.read_bytes() if path.exists() else None

    connections.close_all()
    if (child := os.fork()) == 0:
        with suppress(BaseException):
            where, name = STEPS[when]
            monkeypatch.setattr(where, name, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
            archive_log(tmp_path, job_id)
        os._exit(0)
    _, status = os.waitpid(child, 0)

    assert os.WIFSIGNALED(status), "the step was reached"
    after = path.read_bytes() if path.exists() else None
    if when == "after it got its name":
        assert verify_archived_log(path).events == factories.row_of(job_id).seq
    else:
        assert after == before
        assert list(path.parent.glob("*.part"))
    assert archive_logs(tmp_path, after_days=30)[2] == []
    assert verify_archived_log(path).events == factories.row_of(job_id).seq
    assert find_archive_problems(tmp_path) == (1, [])


def test_unfinished_files_of_a_dead_process_are_removed_after_a_day(tmp_path: Path) -> None:
    (tmp_path / "ab").mkdir()
    old, young = tmp_path / "ab" / "x.part", tmp_path / "ab" / "y.part"
    old.touch()
    young.touch()
    os.utime(old, (0, 0))

    archive_logs(tmp_path, after_days=30)

    assert (old.exists(), young.exists()) == (False, True)


def test_the_task_archives_every_night_if_there_is_a_folder(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = closed_job()
    assert Run(task.ARCHIVE_KEY, {}, None).result == {"archived": 0}
    settings.ARCHIVE_DIR, settings.ARCHIVE_AFTER_DAYS = tmp_path, 30

    monkeypatch.setattr(task, "LONGEST_IN_TASK", 3)
    assert Run(task.ARCHIVE_KEY, {}, None).result == {"archived": 0, "too_long": 1}
    monkeypatch.undo()
    cancelled = Run(task.ARCHIVE_KEY, {}, None, cancelled_after=0)
    assert cancelled.result == {"archived": 0, "too_long": 0}
    assert Run(task.ARCHIVE_KEY, {}, None).result == {"archived": 1, "too_long": 0}

    archived_log_path(tmp_path, job_id).write_bytes(b"no archive")
    with pytest.raises(Fatal, match="1 problem with the archive"):
        Run(task.ARCHIVE_KEY, {}, None)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, settings: Any) -> None:
    closed_job()
    (tmp_path / "file").touch()
    settings.ARCHIVE_DIR = tmp_path / "file"

    with pytest.raises(Fatal, match=r"ARCHIVE_DIR.*Not a directory"):
        Run(task.ARCHIVE_KEY, {}, None)
    with pytest.raises(CommandError, match=r"The archive cannot be written: .*Not a directory"):
        said_by("archive_logs", folder=tmp_path / "file")
    with pytest.raises(CommandError, match="There is no folder"):
        said_by("verify_log", archive=tmp_path / "file")


def test_commands_write_verify_and_replay(tmp_path: Path) -> None:
    job_id = closed_job()
    with pytest.raises(CommandError, match="Set ARCHIVE_DIR"):
        said_by("archive_logs")

    assert "1 log archived in" in said_by("archive_logs", folder=tmp_path, after_days=30)
    assert "1 archived log verified: sound, as in the database." in said_by(
        "verify_log", archive=tmp_path
    )
    assert "1 archived log verified" in said_by("verify_log", job_id, archive=tmp_path)
    with pytest.raises(CommandError, match="No such file"):
        said_by("verify_log", factories.job(), archive=tmp_path)

    path = archived_log_path(tmp_path, job_id)
    line, now = json.loads(said_by("replay_archive", path, seq=5)), replay(job_id, seq=5)
    assert [each["application_id"] for each in line["waitlist"]] == [
        str(each.application_id) for each in now.waitlist
    ]
    assert (line["seq"], line["capacity"], line["policy"]["acknowledge_first_seat"]) == (5, 2, True)
    for wrong, why in (
        ({"seq": 0}, "before the job's first event"),
        ({"seq": 99}, "no such event"),
    ):
        with pytest.raises(CommandError, match=why):
            said_by("replay_archive", path, **wrong)
    with pytest.raises(CommandError, match="Add the time zone"):
        call_command("replay_archive", str(path), "--at", "2026-11-24T09:00:00")
    with pytest.raises(CommandError, match="No such file"):
        said_by("replay_archive", tmp_path / "none")
