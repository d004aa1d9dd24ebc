"""`manage.py doctor` on applicants' files, and the command after a restore."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models.functions import Now

from pipeline.attachments import storage, uploads
from pipeline.models import Attachment
from tests.management.test_doctor import _emails_and_anchors_in_order, only
from tests.support import factories
from tests.support.clamd import clamd
from tests.support.documents import PDF, objects_in

__all__ = ["_emails_and_anchors_in_order"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(attachment_folder: Path) -> Path:
    return attachment_folder


def upload() -> Attachment:
    job_id = factories.job()
    return uploads.add(
        company_id=factories.row_of(job_id).company_id,
        job_id=job_id,
        holder=uploads.holder_of("browser", "mine"),
        name="cv.pdf",
        size_bytes=len(PDF),
        content=[PDF],
    )


def test_a_storage_that_takes_files_is_fine_and_left_empty(folder: Path) -> None:
    assert only("attachments")[0] == "ok"
    assert not objects_in(folder)


def test_a_storage_that_cannot_be_written_is_a_problem(folder: Path) -> None:
    folder.write_text("not a folder")

    level, message, advice = only("attachments")

    assert (level, "cannot be stored" in message) == ("problem", True)
    assert "ATTACHMENT_STORAGE" in advice


def test_without_a_scanner_there_is_a_warning() -> None:
    assert only("scanner")[0] == "warning"


def test_a_scanner_that_is_away_or_behind_is_a_problem(settings: Any) -> None:
    with clamd() as server:
        settings.CLAMAV_ADDRESS = server.address
        assert only("scanner")[0] == "ok"
        row = upload()
        Attachment.objects.filter(id=row.id).update(received_at=Now() - timedelta(hours=1))
        level, message, _ = only("scanner")
        assert (level, message) == ("problem", "1 file could not be scanned for 15 minutes.")

    assert only("scanner")[0] == "problem"


def test_files_that_a_restore_brought_back_are_removed_again(folder: Path, settings: Any) -> None:
    row = upload()
    kept = upload()
    saved = (folder / str(row.storage_key)).read_bytes()
    uploads.discard(row.id, holder=bytes(row.holder))
    storage.remove_due()
    (folder / str(row.storage_key)).write_bytes(saved)
    row.save(force_insert=True)

    call_command("remove_restored_attachments", settings.ATTACHMENT_REMOVALS_FILE)

    assert [each.id for each in Attachment.objects.all()] == [kept.id]
    assert [path.read_bytes() for path in objects_in(folder)] == [PDF]


def test_a_list_that_cannot_be_read_is_explained(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="cannot be read"):
        call_command("remove_restored_attachments", tmp_path / "none")
