"""Folder of the archive: what is in the way there, and what must stay."""

from __future__ import annotations

import errno
import gzip
from pathlib import Path
from typing import Any

import pytest

from pipeline.audit import archive
from pipeline.audit.archive import archive_logs, archived_log_path
from pipeline.domain.states import Outcome
from pipeline.services.jobs import close_job
from pipeline.services.leaving import remove
from tests.support import factories
from tests.support.archives import MONTH, closed_job
from tests.support.clock import let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_damaged_file_is_not_replaced_by_a_longer_log(tmp_path: Path) -> None:
    job_id = factories.job(capacity=1)
    [active] = factories.applications(job_id, 1)
    close_job(job_id=job_id, actor=factories.RECRUITER)
    let_time_pass(job_id, MONTH)
    archive_logs(tmp_path, after_days=30)
    path = archived_log_path(tmp_path, job_id)
    rows = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    damaged = gzip.compress(b"".join([*rows[:2], b'{"forged":1}\n', *rows[3:]]))
    path.write_bytes(damaged)
    remove(application_id=active.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)

    written, _, problems = archive_logs(tmp_path, after_days=30)

    assert (written, len(problems)) == (0, 1)
    assert path.read_bytes() == damaged


def test_a_file_in_the_place_of_a_folder_does_not_keep_other_logs_out(tmp_path: Path) -> None:
    first = second = closed_job()
    while first.hex[-2:] == second.hex[-2:]:  # both belong into one folder
        second = closed_job()
    (tmp_path / first.hex[-2:]).write_text("in the way")

    written, _, problems = archive_logs(tmp_path, after_days=30)

    assert written
    assert str(first) in problems[0]


def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    closed_job()

    with pytest.raises(FileNotFoundError):
        archive_logs(tmp_path / "not mounted", after_days=30)

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_does_not_keep_other_logs_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed, write = [closed_job() for _ in range(2)], archive.write_archived_log

    def refuse(file: Any, header: Any) -> None:
        if header.job_id == closed[0]:
            raise PermissionError(13, "Permission denied")
        write(file, header)

    monkeypatch.setattr(archive, "write_archived_log", refuse)

    written, _, problems = archive_logs(tmp_path, after_days=30)

    assert (written, len(problems)) == (1, 1)
    assert "Permission denied" in problems[0]


def test_a_full_disk_ends_the_run_instead_of_filling_the_list_of_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed_job()

    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(archive, "write_archived_log", refuse)

    with pytest.raises(OSError, match="No space left"):
        archive_logs(tmp_path, after_days=30)
    assert list(tmp_path.rglob("*.part")) == []


def test_a_log_that_is_too_long_is_left_out_and_counted(tmp_path: Path) -> None:
    long, short = closed_job(), factories.job()
    close_job(job_id=short, actor=factories.RECRUITER)
    let_time_pass(short, MONTH)
    events = factories.row_of(long).seq

    assert archive_logs(tmp_path, after_days=30, longest=events - 1) == (1, 1, [])
    assert not archived_log_path(tmp_path, long).exists()
    assert archive_logs(tmp_path, after_days=30, longest=events) == (1, 0, [])
    assert archived_log_path(tmp_path, long).exists()
