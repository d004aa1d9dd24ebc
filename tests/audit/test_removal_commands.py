"""Commands that remove archived logs, and what verify_log says of such logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from pipeline.audit import anchor_comparison, anchors, removal
from pipeline.audit.archive import (
    archive_log,
    archive_logs,
    archived_log_path,
    find_archive_problems,
)
from pipeline.audit.removal import remove_archived_logs
from pipeline.domain.states import Outcome
from pipeline.services.jobs import close_job
from pipeline.services.leaving import remove
from tests.audit.test_removal import ended_job, removed_job, rows_of
from tests.support import factories
from tests.support.archives import said_by

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_commands_say_what_they_do(tmp_path: Path, settings: Any) -> None:
    job_id = ended_job()
    archive_logs(tmp_path, after_days=30)
    events = len(rows_of(job_id))
    with pytest.raises(CommandError, match="Set ARCHIVE_DIR"):
        call_command("remove_archived_logs")
    with pytest.raises(CommandError, match="from 200 to 36,500"):
        call_command("remove_archived_logs", folder=tmp_path, after_days=199)
    with pytest.raises(CommandError, match="at least 1"):
        call_command("remove_archived_logs", folder=tmp_path, most=0)
    settings.ARCHIVE_DIR = tmp_path

    tried = said_by("remove_archived_logs", folder=tmp_path, dry_run=True)
    assert tried == f"1 log would be removed, with {events} events.\n"
    assert len(rows_of(job_id)) == events
    assert (
        said_by("remove_archived_logs", folder=tmp_path)
        == f"1 log removed, with {events} events.\n"
    )
    said = said_by("verify_log")
    assert f"{job_id}: in the archive, removed on" in said
    assert "1 log in the archive alone. Verify with --archive FOLDER." in said
    assert "1 archived log verified" in said_by("verify_log", archive=tmp_path)
    assert (
        said_by("put_back_logs", str(job_id), folder=tmp_path)
        == f"{job_id}: {events} events put back.\n"
    )
    with pytest.raises(CommandError, match="1 log could not be put back"):
        call_command("put_back_logs", str(job_id), folder=tmp_path)
    assert "in the archive" not in said_by("verify_log")


def test_a_row_that_is_not_as_the_file_of_its_removed_log_is_named(tmp_path: Path) -> None:
    job_id = removed_job(tmp_path)
    path = archived_log_path(tmp_path, job_id)
    lapsed = factories.Application.objects.filter(job_id=job_id, decay_count=1).order_by("id")[0]
    assert find_archive_problems(tmp_path) == (1, [])

    factories.Application.objects.filter(id=lapsed.id).update(decay_count=0)

    assert find_archive_problems(tmp_path)[1] == [
        f"{path}: application {lapsed.id}: decay_count is 0, the log says 1"
    ]
    assert f"{job_id}: in the archive" in said_by("verify_log"), "without the file nothing tells"
    with pytest.raises(CommandError, match=r"1 of 1 .*: decay_count is 0, the log says 1"):
        said_by("verify_log", archive=tmp_path)
    factories.Application.objects.filter(id=lapsed.id).update(passes_used=1)
    [problem] = find_archive_problems(tmp_path)[1]
    assert problem.endswith("the log says 1, and 1 more difference")


def test_an_older_file_is_not_that_of_the_removed_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "FEWEST_DAYS", 0)  # a time that passes would change the hashes
    job_id = factories.job(capacity=1)
    factories.applications(job_id, 1)
    close_job(job_id=job_id, actor=factories.RECRUITER)
    older = archive_log(tmp_path, job_id).read_bytes()
    remove_active(job_id)
    archive_logs(tmp_path, after_days=0)
    assert remove_archived_logs(tmp_path, after_days=0).logs == 1
    path = archived_log_path(tmp_path, job_id)

    path.write_bytes(older)

    assert find_archive_problems(tmp_path)[1] == [
        f"{path}: it is not the log that was removed from the database"
    ]


def test_anchors_are_compared_with_the_file_of_a_removed_log(
    tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removal, "FEWEST_DAYS", 0)  # a time that passes would change the hashes
    settings.ANCHOR_FILE, settings.ANCHOR_KEY_FILE = tmp_path / "anchors", tmp_path / "key"
    job_id = factories.job(capacity=1)
    anchors.append()
    factories.applications(job_id, 2)
    anchors.append()
    close_job(job_id=job_id, actor=factories.RECRUITER)
    factories.settle_all()
    remove_active(job_id)
    anchors.append()
    archive_logs(tmp_path, after_days=0)
    assert remove_archived_logs(tmp_path, after_days=0).refused == []
    files = (settings.ANCHOR_FILE, settings.ANCHOR_KEY_FILE)

    assert anchor_comparison.compare(*files) == (1, []), "of the last event alone"
    assert anchor_comparison.compare(*files, archive=tmp_path) == (3, [])
    archived_log_path(tmp_path, job_id).unlink()
    assert len(anchor_comparison.compare(*files, archive=tmp_path)[1]) == 1


def remove_active(job_id: UUID) -> None:
    for each in factories.Application.objects.filter(job_id=job_id, status="ACTIVE"):
        remove(application_id=each.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)
