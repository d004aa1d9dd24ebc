"""Archived logs that are removed from the database, and put back."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from pipeline.audit import archive, removal
from pipeline.audit.archive import (
    ArchiveBusy,
    BadArchive,
    archive_log,
    archive_logs,
    archived_log_path,
    find_archive_problems,
)
from pipeline.audit.removal import LogNotRemovableError, put_back_log, remove_archived_logs
from pipeline.audit.verify import verify_job
from pipeline.domain.errors import LogArchived, UnknownPlace
from pipeline.models import Event, RemovedLog
from pipeline.selectors.system import FeedPlace, read_feed
from tests.support import factories
from tests.support.archives import closed_job
from tests.support.feeds import wait_for_the_feed
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)

YEARS = 500 * 86_400


def ended_job() -> UUID:
    return closed_job(ago_seconds=YEARS)


def removed_job(folder: Path) -> UUID:
    job_id = ended_job()
    archive_logs(folder, after_days=30)
    assert remove_archived_logs(folder, after_days=400).refused == []
    return job_id


def rows_of(job_id: UUID) -> list[dict[str, Any]]:
    rows = list(Event.objects.filter(job_id=job_id).order_by("seq").values())
    return [row | {name: bytes(row[name]) for name in ("hash", "prev_hash")} for row in rows]


def test_what_is_put_back_is_as_it_was(tmp_path: Path) -> None:
    job_id, other = ended_job(), closed_job()
    archive_logs(tmp_path, after_days=30)
    before, kept = rows_of(job_id), rows_of(other)

    done = remove_archived_logs(tmp_path, after_days=400)

    assert done == (1, len(before), [])
    assert rows_of(job_id) == []
    assert rows_of(other) == kept
    with pytest.raises(LogArchived, match="moved to the archive on"):
        verify_job(job_id)
    assert find_archive_problems(tmp_path) == (2, [])
    assert archive_logs(tmp_path, after_days=30) == (0, 0, [])

    assert put_back_log(tmp_path, job_id) == len(before)

    assert rows_of(job_id) == before
    assert verify_job(job_id).is_sound
    assert not RemovedLog.objects.exists()
    assert find_archive_problems(tmp_path) == (2, [])


def test_the_feed_goes_on_and_refuses_a_place_in_a_removed_log(tmp_path: Path) -> None:
    job_id = ended_job()
    company_id = factories.row_of(job_id).company_id
    younger = factories.job(company_id=company_id)
    archive_logs(tmp_path, after_days=30)
    last = factories.row_of(job_id).seq
    wait_for_the_feed()
    whole = [(e.job_id, e.seq) for e in read_feed(company_id, after=None, limit=100).rows]

    remove_archived_logs(tmp_path, after_days=400)

    rest = [(e.job_id, e.seq) for e in read_feed(company_id, after=None, limit=100).rows]
    assert rest == [each for each in whole if each[0] == younger]
    assert read_feed(company_id, after=FeedPlace(job_id, last), limit=100).rows[0].job_id == younger
    with pytest.raises(LogArchived):
        read_feed(company_id, after=FeedPlace(job_id, last - 1), limit=100)
    with pytest.raises(UnknownPlace):
        read_feed(factories.company().id, after=FeedPlace(job_id, last), limit=100)
    put_back_log(tmp_path, job_id)
    back = [(e.job_id, e.seq) for e in read_feed(company_id, after=None, limit=100).rows]
    assert back == whole


def test_a_change_and_a_removal_wait_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = ended_job()
    archive_logs(tmp_path, after_days=30)
    monkeypatch.setattr(removal, "LOCK_WAIT", "300ms")
    with transaction.atomic():
        factories.Job.objects.select_for_update(no_key=True).get(id=job_id)

        [done] = together([lambda: remove_archived_logs(tmp_path, after_days=400)])

    assert (done.logs, len(done.refused)) == (0, 1)
    assert "is being changed" in done.refused[0]
    assert rows_of(job_id)


def test_refused_logs_do_not_count_among_the_most(tmp_path: Path) -> None:
    kept, gone, later = ended_job(), ended_job(), ended_job()
    archive_logs(tmp_path, after_days=30)
    archived_log_path(tmp_path, kept).unlink()

    done = remove_archived_logs(tmp_path, after_days=400, most=1)

    assert (done.logs, len(done.refused)) == (1, 1)
    assert [bool(rows_of(each)) for each in (kept, gone, later)] == [True, False, True]


def move_an_event(path: Path) -> None:
    """Change an event's place in the feed, which no hash covers."""
    text = gzip.decompress(path.read_bytes()).decode()
    moved = re.sub(r'"place":\[(\d+),\d+\]', r'"place":[\1,0]', text, count=1)
    assert moved != text
    path.write_bytes(gzip.compress(moved.encode()))


def test_a_file_with_other_places_in_the_feed_is_not_relied_on(tmp_path: Path) -> None:
    job_id = ended_job()
    archive_logs(tmp_path, after_days=30)
    move_an_event(archived_log_path(tmp_path, job_id))

    [refused] = remove_archived_logs(tmp_path, after_days=400).refused

    assert "the place of seq 1 in the feed differs" in refused
    assert rows_of(job_id)


def test_a_file_that_changes_while_it_is_read_is_not_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = removed_job(tmp_path)

    def verify_and_change(path: Path) -> archive.ArchiveHeader:
        header = archive.verify_archived_log(path)
        text = gzip.decompress(path.read_bytes())
        path.write_bytes(gzip.compress(text.replace(b'"SYSTEM"', b'"COMPANY"', 1)))
        return header

    monkeypatch.setattr(removal, "verify_archived_log", verify_and_change)
    with pytest.raises(BadArchive, match="it has changed meanwhile, at seq"):
        put_back_log(tmp_path, job_id)
    assert rows_of(job_id) == []
    assert RemovedLog.objects.get().pk == job_id


@pytest.mark.parametrize("moved", ["past", "future", "last", "twice"])
def test_a_file_with_other_places_in_the_feed_is_not_put_back(tmp_path: Path, moved: str) -> None:
    """Programs that read the feed would miss these events, or see them before others."""
    job_id = removed_job(tmp_path)
    path = archived_log_path(tmp_path, job_id)
    lines = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    line = {"past": 2, "future": 1, "last": len(lines) - 1, "twice": 2}[moved]
    place = {"past": "[1,1]", "future": f"[{2**62},1]", "last": r"[\1,0]"}
    place["twice"] = re.search(r'"place":(\[\d+,\d+\])', lines[1])[1]  # type: ignore[index]
    lines[line] = re.sub(
        r'"place":\[(\d+),\d+\]', f'"place":{place[moved]}'.replace("\\1", r"\1"), lines[line]
    )
    path.write_bytes(gzip.compress("".join(lines).encode()))

    with pytest.raises(BadArchive, match="in the feed was changed"):
        put_back_log(tmp_path, job_id)

    assert rows_of(job_id) == []
    assert RemovedLog.objects.get().pk == job_id


def test_one_run_at_a_time_uses_the_archive(tmp_path: Path) -> None:
    job_id = removed_job(tmp_path)

    def attempt() -> None:
        for act in (
            lambda: remove_archived_logs(tmp_path, after_days=400),
            lambda: put_back_log(tmp_path, job_id),
        ):
            with pytest.raises(ArchiveBusy):
                act()

    with archive.exclusive_writing():
        assert together([attempt]) == [None]


def test_a_file_of_an_earlier_format_is_written_anew_before_its_log_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = ended_job()
    before = rows_of(job_id)
    with monkeypatch.context() as patched:
        patched.setattr(archive, "FORMAT", archive.WITHOUT_PLACES)
        archive_log(tmp_path, job_id)
    assert remove_archived_logs(tmp_path, after_days=400, dry_run=True).logs == 1
    assert not archive.has_places(archived_log_path(tmp_path, job_id))

    assert remove_archived_logs(tmp_path, after_days=400).logs == 1

    assert archive.has_places(archived_log_path(tmp_path, job_id))
    put_back_log(tmp_path, job_id)
    assert rows_of(job_id) == before


def test_what_is_not_the_removed_log_is_not_put_back(tmp_path: Path) -> None:
    job_id, other = removed_job(tmp_path), closed_job()
    path = archived_log_path(tmp_path, job_id)
    whole = path.read_bytes()

    with pytest.raises(LogNotRemovableError, match="in the database"):
        put_back_log(tmp_path, other)
    path.write_bytes(archive_log(tmp_path, other).read_bytes())
    with pytest.raises(BadArchive, match="not the log that was removed"):
        put_back_log(tmp_path, job_id)
    assert find_archive_problems(tmp_path, job_ids=[job_id])[1]
    path.unlink()
    assert "Bring it back from a copy" in archive_logs(tmp_path, after_days=30)[2][0]
    assert find_archive_problems(tmp_path, job_ids=[job_id])[1]
    assert RemovedLog.objects.get().pk == job_id

    path.write_bytes(whole)
    put_back_log(tmp_path, job_id)
    assert verify_job(job_id).is_sound
