"""Manifest of the archive: files that are lost, older or foreign, and runs at the same time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError

from pipeline.audit import archive, task
from pipeline.audit.archive import (
    ArchiveBusy,
    archive_log,
    archive_logs,
    archived_log_path,
    find_archive_problems,
    verify_archived_log,
)
from pipeline.audit.verify import verify_job
from pipeline.domain.states import Outcome
from pipeline.services.jobs import close_job
from pipeline.services.leaving import remove
from tasks.errors import Fatal
from tests.audit.test_forged_logs import forge
from tests.support import factories
from tests.support.archives import MONTH, closed_job, said_by
from tests.support.clock import let_time_pass
from tests.support.handlers import Run
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)


def growing_job() -> tuple[UUID, Any]:
    """A closed job whose log grows when its company decides on the person with the seat."""
    job_id = factories.job(capacity=1)
    [active] = factories.applications(job_id, 1)
    close_job(job_id=job_id, actor=factories.RECRUITER)
    let_time_pass(job_id, MONTH)
    return job_id, active


def decide(active: Any) -> None:
    remove(application_id=active.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)


def test_a_lost_file_is_named_and_written_again_but_not_in_silence(
    tmp_path: Path, settings: Any
) -> None:
    job_id = closed_job()
    path = archived_log_path(tmp_path, job_id)
    archive_logs(tmp_path, after_days=30)
    whole = path.read_bytes()
    path.unlink()

    assert find_archive_problems(tmp_path) == (
        1,
        [f"{path}: it cannot be read: No such file or directory"],
    )
    with pytest.raises(CommandError, match="1 of 1 archived logs do not agree"):
        said_by("verify_log", archive=tmp_path)
    settings.ARCHIVE_DIR, settings.ARCHIVE_AFTER_DAYS = tmp_path, 30
    with pytest.raises(Fatal, match=r"1 problem with the archive: .* was gone"):
        Run(task.ARCHIVE_KEY, {}, None)

    assert path.read_bytes() == whole
    assert archive_logs(tmp_path, after_days=30) == (0, 0, [])
    assert find_archive_problems(tmp_path) == (1, [])


def test_a_lost_file_is_not_written_again_from_another_log(tmp_path: Path) -> None:
    job_id = closed_job()
    path = archived_log_path(tmp_path, job_id)
    archive_logs(tmp_path, after_days=30)
    path.unlink()
    forge(job_id, "APPLIED", lambda row: setattr(row, "actor_id", job_id))
    assert verify_job(job_id).is_sound

    assert archive_logs(tmp_path, after_days=30) == (
        *(0, 0),
        [f"{path}: the log in the database is not the one that was archived"],
    )
    assert not path.exists()


def test_an_older_file_is_named_and_replaced_but_not_in_silence(tmp_path: Path) -> None:
    job_id, active = growing_job()
    archive_logs(tmp_path, after_days=30)
    path = archived_log_path(tmp_path, job_id)
    old = path.read_bytes()
    decide(active)
    archive_logs(tmp_path, after_days=30)
    newest = verify_archived_log(path).events
    path.write_bytes(old)

    _, [problem] = find_archive_problems(tmp_path)
    assert problem.startswith(f"{path}: it is older: it has ")
    written, _, [problem] = archive_logs(tmp_path, after_days=30)

    assert (written, problem.startswith(f"{path} was older than the manifest says")) == (1, True)
    assert verify_archived_log(path).events == newest


def test_a_manifest_that_names_another_log_is_named(tmp_path: Path) -> None:
    path = archive_log(tmp_path, job_id := closed_job())
    manifest, head = tmp_path / "manifest.jsonl", bytes(factories.row_of(job_id).chain_head)
    manifest.write_text(manifest.read_text().replace(head.hex(), "0" * 64))

    assert find_archive_problems(tmp_path) == (
        *(1,),
        [f"{path}: it is not the file that the manifest names"],
    )


def test_a_file_that_no_run_has_written_is_named(tmp_path: Path) -> None:
    known, other = closed_job(), closed_job()
    archive_log(tmp_path, other)
    (tmp_path / "manifest.jsonl").unlink()
    archive_log(tmp_path, known)

    path = archived_log_path(tmp_path, other)
    assert find_archive_problems(tmp_path) == (2, [f"{path}: it is not in the manifest"])


def test_a_lost_manifest_is_told_and_begun_again(tmp_path: Path) -> None:
    closed_job()
    archive_logs(tmp_path, after_days=30)
    manifest = tmp_path / "manifest.jsonl"
    manifest.unlink()

    written, _, problems = archive_logs(tmp_path, after_days=30)

    assert (written, len(problems)) == (0, 1)
    assert problems[0].startswith(f"{manifest} was gone")
    assert archive_logs(tmp_path, after_days=30) == (0, 0, [])
    assert find_archive_problems(tmp_path) == (1, [])


def drop_first(lines: list[bytes]) -> None:
    del lines[0]


def change_middle(lines: list[bytes]) -> None:
    lines[1] = lines[1].replace(b'"events":', b'"events":1')


def break_last(lines: list[bytes]) -> None:
    lines[-1] = b"{\n"


@pytest.mark.parametrize("damage", [drop_first, change_middle, break_last])
def test_a_damaged_manifest_is_named_and_nothing_is_written(tmp_path: Path, damage: Any) -> None:
    for _ in range(3):
        closed_job()
    archive_logs(tmp_path, after_days=30)
    closed_job()
    manifest = tmp_path / "manifest.jsonl"
    lines = manifest.read_bytes().splitlines(keepends=True)
    damage(lines)
    manifest.write_bytes(b"".join(lines))

    _, [problem] = find_archive_problems(tmp_path)
    assert problem.startswith(f"{manifest}: line")
    assert archive_logs(tmp_path, after_days=30) == (0, 0, [problem])


def test_a_line_that_a_crash_has_cut_off_is_written_again(tmp_path: Path) -> None:
    closed_job()
    other = closed_job()
    archive_logs(tmp_path, after_days=30)
    manifest = tmp_path / "manifest.jsonl"
    manifest.write_bytes(manifest.read_bytes()[:-20])

    assert len(find_archive_problems(tmp_path)[1]) == 1, "its file is there without a line"
    assert archive_logs(tmp_path, after_days=30) == (0, 0, [])
    assert find_archive_problems(tmp_path) == (2, [])
    assert archived_log_path(tmp_path, other).exists()


def test_a_run_that_is_overtaken_does_not_put_its_older_file_in_place_of_the_newer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, active = growing_job()
    verify = verify_archived_log

    def overtaken(path: Path) -> Any:
        monkeypatch.setattr(archive, "verify_archived_log", verify)
        decide(active)
        archive_log(tmp_path, job_id)
        return verify(path)

    monkeypatch.setattr(archive, "verify_archived_log", overtaken)

    path = archive_log(tmp_path, job_id)

    assert verify_archived_log(path).events == factories.row_of(job_id).seq
    assert find_archive_problems(tmp_path) == (1, [])
    assert not list(path.parent.glob("*.part"))


def test_one_run_at_a_time_writes_an_archive(tmp_path: Path, settings: Any) -> None:
    closed_job()
    seen: list[Any] = []

    def second() -> None:
        try:
            archive_logs(tmp_path, after_days=30)
        except ArchiveBusy as error:
            seen.append(error)
        settings.ARCHIVE_DIR = tmp_path
        seen.append(Run(task.ARCHIVE_KEY, {}, None).result)
        with pytest.raises(CommandError, match="Another run is writing the archive"):
            said_by("archive_logs", folder=tmp_path)

    def is_stopped() -> bool:
        together([second])
        return True

    archive_logs(tmp_path, after_days=30, is_stopped=is_stopped)

    assert [type(each) for each in seen] == [ArchiveBusy, dict]
    assert seen[1] == {"archived": 0}
    assert archive_logs(tmp_path, after_days=30) == (1, 0, [])


def test_a_file_gets_its_name_and_its_line_once_the_disk_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = closed_job()
    steps: list[str] = []
    sync, replace = os.fsync, Path.replace

    def note_sync(file: int) -> None:
        steps.append(Path(os.readlink(f"/proc/self/fd/{file}")).suffix or "folder")
        sync(file)

    def note_name(path: Path, target: Path) -> Path:
        steps.append("name")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(Path, "replace", note_name)

    archive_log(tmp_path, job_id)

    assert steps == [".part", "name", "folder", "folder", ".jsonl"]


def test_an_unfinished_file_that_cannot_be_removed_keeps_no_log_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed_job()
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab" / "x.part").touch()
    os.utime(tmp_path / "ab" / "x.part", (0, 0))
    unlink = Path.unlink

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path.name == "x.part":
            raise PermissionError(13, "Permission denied")
        unlink(path, missing_ok)

    monkeypatch.setattr(Path, "unlink", refuse)

    assert archive_logs(tmp_path, after_days=30) == (1, 0, [])


def test_verification_says_how_many_closed_jobs_were_never_archived(
    tmp_path: Path, settings: Any
) -> None:
    settings.ARCHIVE_AFTER_DAYS = 20
    archive_log(tmp_path, closed_job())
    closed_job()

    assert "1 closed job not in it yet." in said_by("verify_log", archive=tmp_path)
