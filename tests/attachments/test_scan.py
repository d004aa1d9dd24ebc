"""Malware scan: nobody sees a file before it; a refused one is removed, and its sender told."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core import mail
from django.db.models.functions import Now

from applicants.models import PrivateEmail
from pipeline.attachments import scan, storage, uploads
from pipeline.attachments.scan import SCAN, ScannerAway
from pipeline.attachments.storage import TIDY
from pipeline.attachments.tasks import scan_attachment
from pipeline.config.attachments import parse_scanner
from pipeline.models import Application, Attachment
from tasks.enqueue import enqueue
from tasks.errors import Discard, Retry
from tasks.models import Task
from tests.support import factories
from tests.support.clamd import EICAR, Clamd, clamd
from tests.support.documents import TXT, objects_in
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)
MINE = uploads.holder_of("browser", "mine")


@pytest.fixture(autouse=True)
def folder(attachment_folder: Path) -> Path:
    return attachment_folder


@pytest.fixture
def scanner(settings: Any) -> Iterator[Clamd]:
    """The scanner that the site uses."""
    with clamd() as server:
        settings.CLAMAV_ADDRESS = server.address
        yield server


@pytest.fixture
def waiting() -> Application:
    """An application that waits in line."""
    job_id = factories.job()
    factories.application(job_id)
    return factories.application(job_id)


def attached(application: Application, content: bytes) -> Attachment:
    """A file that the application has."""
    row = uploads.add(
        company_id=application.job.company_id,
        job_id=application.job_id,
        holder=MINE,
        name="cv.txt",
        size_bytes=len(content),
        content=[content],
    )
    uploads.attach_later([row.id], application_id=application.id, question_id=None, holder=MINE)
    return row


def state_of(row: Attachment) -> str:
    return Attachment.objects.get(id=row.id).state


def test_a_file_waits_for_its_scan_and_is_then_clean(scanner: Clamd, waiting: Application) -> None:
    row = attached(waiting, TXT)
    assert (state_of(row), row.is_visible) == ("WAITING", False)
    assert Task.objects.get(type__key=SCAN).payload == {"attachment_id": str(row.id)}

    assert scan_attachment(row.id) == {"state": "CLEAN"}

    assert state_of(row) == "CLEAN"
    assert scanner.scanned == [TXT]
    with pytest.raises(Discard):
        scan_attachment(row.id)  # again


def test_a_large_file_is_scanned_whole(scanner: Clamd, waiting: Application) -> None:
    content = b"line\n" * 500_000

    assert scan_attachment(attached(waiting, content).id) == {"state": "CLEAN"}

    assert scanner.scanned == [content]


def test_malware_is_removed_and_the_applicant_told(
    scanner: Clamd, waiting: Application, folder: Path
) -> None:
    row = attached(waiting, EICAR)

    assert scan_attachment(row.id) == {"state": "REFUSED"}
    storage.remove_due()

    refused = Attachment.objects.get(id=row.id)
    assert (refused.state, refused.storage_key, refused.size_bytes) == ("REFUSED", None, 0)
    assert not objects_in(folder)
    run_due_tasks("email.private")
    [email] = mail.outbox
    assert email.to == [waiting.applicant.email]
    assert "did not pass the malware scan" in email.body
    assert f"/me/applications/{waiting.id}/" in email.body


def test_an_unproved_address_gets_no_email_about_malware(scanner: Clamd) -> None:
    job_id = factories.job()
    stranger = factories.application(job_id, verified=False)

    scan_attachment(attached(stranger, EICAR).id)

    assert not PrivateEmail.objects.exists()


def test_an_upload_with_malware_is_not_attached(scanner: Clamd, waiting: Application) -> None:
    row = uploads.add(
        company_id=waiting.job.company_id,
        job_id=waiting.job_id,
        holder=MINE,
        name="cv.txt",
        size_bytes=len(EICAR),
        content=[EICAR],
    )
    scan_attachment(row.id)

    with pytest.raises(uploads.UploadRefused, match=r"cv\.txt"):
        uploads.attach_later([row.id], application_id=waiting.id, question_id=None, holder=MINE)


def test_a_scanner_that_is_down_is_tried_again(waiting: Application, settings: Any) -> None:
    with clamd() as server:
        settings.CLAMAV_ADDRESS = server.address
    row = attached(waiting, TXT)

    with pytest.raises(Retry, match="does not answer"):
        scan_attachment(row.id)

    assert state_of(row) == "WAITING"


def test_a_scanner_that_hangs_is_given_up(scanner: Clamd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "TIMEOUT_SECONDS", 0.1)
    scanner.hangs.set()

    with pytest.raises(ScannerAway, match="TimeoutError"):
        scan.scan_pieces([b"content"])


def test_a_file_over_the_scanners_own_limit_is_named(settings: Any) -> None:
    with clamd(most_bytes=100_000) as server:
        settings.CLAMAV_ADDRESS = server.address

        with pytest.raises(ScannerAway, match="StreamMaxLength"):
            scan.scan_pieces([bytes(65_536)] * 100)


def test_a_scanner_on_a_socket_is_reached(tmp_path: Path, settings: Any) -> None:
    path = tmp_path / "clamd.ctl"
    settings.CLAMAV_ADDRESS = str(path)

    def answer_once(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(64)
            connection.sendall(b"PONG\0")

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        thread = threading.Thread(target=answer_once, args=(server,))
        thread.start()
        scan.ping()
        thread.join()


def test_ping_says_whether_the_scanner_answers(scanner: Clamd) -> None:
    scan.ping()

    assert scanner.commands == ["zPING\0"]


def test_files_are_shown_as_unscanned_once_the_site_has_no_scanner(
    scanner: Clamd, waiting: Application, settings: Any
) -> None:
    row = attached(waiting, TXT)
    settings.CLAMAV_ADDRESS = ""

    assert scan_attachment(row.id) == {"state": "UNSCANNED"}


def test_an_overdue_scan_is_requested_again_once_an_hour(
    scanner: Clamd, waiting: Application
) -> None:
    row = attached(waiting, TXT)
    Task.objects.all().delete()
    Attachment.objects.filter(id=row.id).update(received_at=Now() - timedelta(hours=2))

    for _ in range(2):
        enqueue(TIDY)
        run_due_tasks(TIDY)

    assert Task.objects.filter(type__key=SCAN).count() == 1


def test_a_file_that_is_gone_is_not_scanned(scanner: Clamd) -> None:
    with pytest.raises(Discard):
        scan_attachment(uuid4())


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("", ""),
        ("clamav:3310", "clamav:3310"),
        ("tcp://clamav:3310", "clamav:3310"),
        ("/run/clamav/clamd.ctl", "/run/clamav/clamd.ctl"),
    ],
)
def test_the_scanners_address_is_a_port_or_a_socket(text: str, address: str) -> None:
    assert parse_scanner(text) == address
