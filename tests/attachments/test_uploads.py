"""Uploads: whole or not at all, bound to who sent them, within limits, and attached once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from threading import Barrier
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.db.models.functions import Now

from pipeline.attachments import storage, uploads
from pipeline.attachments.reads import read_attachments
from pipeline.domain.errors import (
    ApplicationNotFound,
    AttachmentAnswers,
    AttachmentsAway,
    AttachmentsFixed,
    AttachmentsFull,
    AttachmentsUnreadable,
    AttachmentTooLarge,
    FileKindRefused,
    LineError,
    TooManyAttachments,
    UploadExpired,
    UploadNotFound,
    UploadNotReady,
    UploadRefused,
)
from pipeline.models import Application, Attachment, RemovedObject
from pipeline.privacy import retention
from pipeline.privacy.erase import erase_person
from pipeline.services.leaving import withdraw
from tests.support import factories
from tests.support.documents import JPEG, PDF, TXT, objects_in
from tests.support.task_runs import run_due_tasks
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)

MINE, THEIRS = uploads.holder_of("browser", "mine"), uploads.holder_of("browser", "theirs")


@pytest.fixture(autouse=True)
def folder(attachment_folder: Path) -> Path:
    return attachment_folder


@pytest.fixture
def waiting() -> Application:
    """An application that waits in line."""
    job_id = factories.job()
    factories.application(job_id)
    return factories.application(job_id)


def upload(
    job_id: UUID,
    content: bytes = PDF,
    *,
    pieces: Iterator[bytes] | None = None,
    holder: bytes = MINE,
    **how: Any,
) -> Attachment:
    company_id = factories.row_of(job_id).company_id
    given = {"name": "cv.pdf", "size_bytes": len(content)} | how
    return uploads.add(
        company_id=company_id, job_id=job_id, holder=holder, content=pieces or [content], **given
    )


def attach(application: Application, *rows: Attachment, holder: bytes = MINE) -> None:
    uploads.attach_later(
        [row.id for row in rows],
        application_id=application.id,
        question_id=None,
        holder=holder,
    )


def expire(row: Attachment) -> None:
    Attachment.objects.filter(id=row.id).update(expires_at=Now() - timedelta(seconds=1))


def test_an_upload_keeps_its_bytes_and_says_what_they_are(folder: Path) -> None:
    row = upload(factories.job(), name="C:\\My\u202e CVs\\cv.pdf")

    assert (row.name, row.content_type, row.size_bytes) == ("cv.pdf", "application/pdf", len(PDF))
    assert bytes(row.sha256 or b"") == sha256(PDF).digest()
    assert row.state == Attachment.State.UNSCANNED
    assert b"".join(storage.read(row.storage_key or "")) == PDF
    assert [path.read_bytes() for path in objects_in(folder)] == [PDF]


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("", "file"),
        ("..", "file"),
        ('a"b\r\nX: y.pdf', "a'bX: y.pdf"),
        ("\u202efdp.exe", "fdp.exe"),
        ("x" * 400 + ".pdf", "x" * 139 + ".pdf"),
        ("x" * 400, "x" * 150),
        ("a\0b", "ab"),
    ],
)
def test_names_are_cleaned_for_display(given: str, shown: str) -> None:
    assert uploads.clean_file_name(given) == shown


@pytest.mark.parametrize("content", [b"", b"<svg>", b"\x7fELF"])
def test_nothing_is_left_of_a_refused_file(folder: Path, content: bytes) -> None:
    with pytest.raises(FileKindRefused):
        upload(factories.job(), content)

    assert not Attachment.objects.exists()
    assert not objects_in(folder)


def test_a_file_that_is_larger_than_it_said_is_refused(settings: Any, folder: Path) -> None:
    settings.ATTACHMENT_BYTES = 2**16
    read = []

    def endless() -> Iterator[bytes]:
        for n in range(1_000):
            read.append(n)
            yield bytes(2**14)

    with pytest.raises(AttachmentTooLarge, match=r"at most 0\.0625 MB"):
        upload(factories.job(), pieces=endless())

    assert len(read) == 5
    assert not Attachment.objects.exists()
    assert not objects_in(folder)
    with pytest.raises(AttachmentTooLarge):
        upload(factories.job(), size_bytes=2**16 + 1)


def test_bytes_that_were_not_announced_count_against_the_quota(settings: Any, folder: Path) -> None:
    settings.ATTACHMENT_BYTES_PER_COMPANY = 2 * len(PDF)
    job_id = factories.job()
    facts = {"company_id": factories.row_of(job_id).company_id, "job_id": job_id}
    rows = [uploads.create(**facts, holder=MINE, name="a", size_bytes=1) for _ in range(3)]
    uploads.receive(rows[0].id, holder=MINE, content=[PDF])

    with pytest.raises(AttachmentsFull):
        uploads.receive(rows[1].id, holder=MINE, content=[PDF])

    assert len(objects_in(folder)) == 1


def test_a_company_has_a_quota_that_counts_running_uploads(settings: Any) -> None:
    settings.ATTACHMENT_BYTES_PER_COMPANY = 2 * len(PDF)
    job_id = factories.job()
    company_id = factories.row_of(job_id).company_id
    upload(job_id)
    uploads.create(company_id=company_id, job_id=job_id, holder=MINE, name="b", size_bytes=len(PDF))

    with pytest.raises(AttachmentsFull, match="ask the company to make room"):
        upload(job_id, TXT)

    upload(factories.job(), TXT)  # another company's quota


def test_an_upload_is_attached_by_its_holder_alone(waiting: Application) -> None:
    row = upload(waiting.job_id)

    with pytest.raises(UploadNotFound):
        attach(waiting, row, holder=THEIRS)
    attach(waiting, row)

    assert [each.id for each in read_attachments(waiting.id)] == [row.id]
    assert Attachment.objects.get().expires_at is None
    attach(waiting, row)  # again, by a retry


def _refused(application: Application, **how: Any) -> type[LineError]:
    given = {"upload_ids": [uuid4()], "job_id": application.job_id, "holder": MINE} | how
    with transaction.atomic(), pytest.raises(LineError) as refusal:
        uploads.attach(application_id=application.id, question_id=None, **given)
    return refusal.type


def test_each_reason_not_to_attach_has_a_name(waiting: Application, settings: Any) -> None:
    other = factories.application(factories.job())
    row, attached, old = (upload(waiting.job_id) for _ in range(3))
    begun = uploads.create(
        company_id=row.company_id, job_id=row.job_id, holder=MINE, name="b", size_bytes=9
    )
    attach(waiting, attached)
    expire(old)
    malware = upload(waiting.job_id)
    Attachment.objects.filter(id=malware.id).update(state="REFUSED")

    assert _refused(waiting) is UploadNotFound
    assert _refused(other, upload_ids=[row.id], job_id=other.job_id) is UploadNotFound
    assert _refused(other, upload_ids=[attached.id], job_id=row.job_id) is UploadNotFound
    assert _refused(waiting, upload_ids=[row.id, old.id]) is UploadExpired
    assert _refused(waiting, upload_ids=[begun.id]) is UploadNotReady
    assert _refused(waiting, upload_ids=[malware.id]) is UploadRefused
    settings.ATTACHMENTS_PER_APPLICATION = 1
    assert _refused(waiting, upload_ids=[row.id]) is TooManyAttachments


def test_files_change_only_while_the_application_waits_in_line() -> None:
    seated = factories.application(factories.job())
    row = upload(seated.job_id)

    with pytest.raises(AttachmentsFixed):
        attach(seated, row)
    with pytest.raises(AttachmentsFixed):
        uploads.remove(row.id, application_id=seated.id)


def test_a_file_that_answers_a_question_stays(waiting: Application) -> None:
    row = upload(waiting.job_id)
    uploads.attach_later(
        [row.id], application_id=waiting.id, question_id=waiting.job_id, holder=bytes(row.holder)
    )

    with pytest.raises(AttachmentAnswers):
        uploads.remove(row.id, application_id=waiting.id)


def test_a_removed_file_is_gone_from_the_storage_and_listed(
    waiting: Application, folder: Path, settings: Any
) -> None:
    row = upload(waiting.job_id)
    attach(waiting, row)

    uploads.remove(row.id, application_id=waiting.id)
    storage.remove_due()

    assert not objects_in(folder)
    assert not RemovedObject.objects.exists()
    listed = json.loads(settings.ATTACHMENT_REMOVALS_FILE.read_text())
    assert (listed["id"], listed["key"]) == (str(row.id), row.storage_key)


def test_an_upload_that_nobody_attaches_expires_with_its_bytes(folder: Path) -> None:
    row, kept = upload(factories.job()), upload(factories.job())
    expire(row)

    assert storage.remove_expired_uploads() == 1
    storage.remove_due()

    assert [each.id for each in Attachment.objects.all()] == [kept.id]
    assert len(objects_in(folder)) == 1


def test_an_object_that_cannot_be_removed_stays_due(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = upload(factories.job())
    Attachment.objects.all().delete()

    def refuse(_key: str) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(storage, "remove", refuse)
        with pytest.raises(PermissionError):
            storage.remove_due()

    assert RemovedObject.objects.get().storage_key == row.storage_key
    storage.remove_due()
    assert not objects_in(folder)


def test_an_object_that_cannot_be_removed_does_not_hold_up_others(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = upload(factories.job()).storage_key
    Attachment.objects.all().delete()
    upload(factories.job(), TXT)
    Attachment.objects.all().delete()

    def remove(key: str) -> None:
        if key == stuck:
            raise PermissionError
        storage.attachment_storage().delete(key)

    monkeypatch.setattr(storage, "remove", remove)
    for _ in range(2):
        with pytest.raises(PermissionError):
            storage.remove_due()

    assert [path.read_bytes() for path in objects_in(folder)] == [PDF]
    assert RemovedObject.objects.get().storage_key == stuck


def test_an_upload_says_that_the_storage_is_away_and_can_be_repeated(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    job_id, upload_id = factories.job(), uuid4()
    with monkeypatch.context() as patch:
        patch.setattr(storage, "write", fail)
        with pytest.raises(AttachmentsAway, match="Try again in a few minutes"):
            upload(job_id, upload_id=upload_id)

    assert upload(job_id, upload_id=upload_id).received_at
    assert len(objects_in(folder)) == 1


def test_erasing_a_person_removes_their_files_and_loose_uploads(
    waiting: Application, folder: Path
) -> None:
    person = waiting.applicant_id
    mine = uploads.holder_of("person", person)
    attach(waiting, upload(waiting.job_id, holder=mine), holder=mine)
    upload(waiting.job_id, holder=mine)
    other = upload(waiting.job_id, TXT, holder=THEIRS)

    erase_person(applicant_id=person)
    storage.remove_due()

    assert [each.id for each in Attachment.objects.all()] == [other.id]
    assert [path.read_bytes() for path in objects_in(folder)] == [TXT]


def test_a_file_that_arrives_while_the_person_is_erased_is_not_kept(
    waiting: Application, folder: Path
) -> None:
    holder = uploads.holder_of("person", waiting.applicant_id)

    def erase_halfway() -> Iterator[bytes]:
        yield PDF[:100]
        erase_person(applicant_id=waiting.applicant_id)
        yield PDF[100:]

    row = uploads.create(
        company_id=factories.row_of(waiting.job_id).company_id,
        job_id=waiting.job_id,
        holder=holder,
        name="cv.pdf",
        size_bytes=len(PDF),
    )
    with pytest.raises(UploadNotFound):
        uploads.receive(row.id, holder=holder, content=erase_halfway())

    assert not Attachment.objects.exists()
    assert not objects_in(folder)


def test_bytes_that_are_written_after_the_persons_erasure_are_removed(
    waiting: Application, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = storage.write

    def write_late(key: str, file: Any) -> None:
        erase_person(applicant_id=waiting.applicant_id)
        storage.remove_due()
        write(key, file)

    monkeypatch.setattr(storage, "write", write_late)
    with pytest.raises(UploadNotFound):
        upload(waiting.job_id, holder=uploads.holder_of("person", waiting.applicant_id))

    assert not objects_in(folder)


def test_a_file_is_not_attached_to_an_erased_application(waiting: Application) -> None:
    row = upload(waiting.job_id)
    erase_person(applicant_id=waiting.applicant_id)

    with pytest.raises(ApplicationNotFound):
        attach(waiting, row)


def test_an_upload_is_repeated_under_its_id_and_its_bytes_once(folder: Path) -> None:
    job_id, upload_id = factories.job(), uuid4()
    first = upload(job_id, upload_id=upload_id)

    again = upload(job_id, TXT, upload_id=upload_id)

    assert again.id == first.id == upload_id
    assert [path.read_bytes() for path in objects_in(folder)] == [PDF]


def test_the_end_of_retention_removes_files(waiting: Application, folder: Path) -> None:
    attach(waiting, upload(waiting.job_id))
    withdraw(application_id=waiting.id, actor=factories.owner_of(waiting))
    Application.objects.filter(id=waiting.id).update(ended_at=Now() - timedelta(days=800))

    assert retention.erase_batch() == 1
    run_due_tasks(storage.TIDY)

    assert not Attachment.objects.exists()
    assert not objects_in(folder)


# Attempts at the same time.


def announced(job_id: UUID) -> Attachment:
    return uploads.create(
        company_id=factories.row_of(job_id).company_id,
        job_id=job_id,
        holder=MINE,
        name="cv.pdf",
        size_bytes=len(PDF),
    )


def test_attempts_at_the_same_time_all_end_with_the_same_file(folder: Path) -> None:
    row, number = announced(factories.job()), 6
    barrier = Barrier(number)

    def pieces() -> Iterator[bytes]:
        yield PDF[:10]
        barrier.wait()
        yield PDF[10:]

    found = together([lambda: uploads.receive(row.id, holder=MINE, content=pieces())] * number)

    assert {each.storage_key for each in found} == {Attachment.objects.get().storage_key}
    let_attempts_end()
    storage.remove_due()
    assert [path.read_bytes() for path in objects_in(folder)] == [PDF]
    assert not RemovedObject.objects.exists()


def test_an_attempt_that_a_later_one_overtook_counts_if_it_ends_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = announced(factories.job())
    write = storage.write

    def write_while_another_begins(key: str, file: Any) -> None:
        write(key, file)
        uploads._begin_attempt(row)

    monkeypatch.setattr(storage, "write", write_while_another_begins)
    whole = uploads.receive(row.id, holder=MINE, content=[PDF])

    let_attempts_end()
    storage.remove_due()
    assert b"".join(storage.read(whole.storage_key or "")) == PDF


def test_an_attempt_whose_bytes_are_gone_by_then_can_be_repeated(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = announced(factories.job())
    write = storage.write

    def write_too_slowly(key: str, file: Any) -> None:
        write(key, file)
        uploads._begin_attempt(row)
        let_attempts_end()
        storage.remove_due()

    monkeypatch.setattr(storage, "write", write_too_slowly)
    with pytest.raises(AttachmentsAway):
        uploads.receive(row.id, holder=MINE, content=[PDF])

    monkeypatch.undo()
    assert uploads.receive(row.id, holder=MINE, content=[PDF]).received_at


def let_attempts_end() -> None:
    """Let the time pass after which what other attempts wrote is removed."""
    RemovedObject.objects.update(due_at=Now())


# A storage that is away.


def test_a_file_that_cannot_be_read_now_is_not_called_missing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = upload(factories.job())

    def refuse(*_: Any) -> None:
        raise ConnectionError("no route")

    monkeypatch.setattr(storage.attachment_storage(), "open", refuse)
    with pytest.raises(AttachmentsUnreadable):
        next(storage.read(row.storage_key or ""))


def test_a_picture_is_stored_without_its_metadata_and_described_as_stored(folder: Path) -> None:
    comment = b"\xff\xfe\x00\x08secret"

    row = upload(factories.job(), JPEG[:2] + comment + JPEG[2:], name="me.jpg")

    assert [path.read_bytes() for path in objects_in(folder)] == [JPEG]
    assert (row.size_bytes, bytes(row.sha256 or b"")) == (len(JPEG), sha256(JPEG).digest())
