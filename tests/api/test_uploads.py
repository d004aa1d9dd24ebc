"""Uploads over the API: in one step or two, repeated safely, and only for who may."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.test.client import BOUNDARY, MULTIPART_CONTENT, encode_multipart

from jobs.models import Company
from pipeline.attachments.uploads import MOST_LOOSE
from pipeline.models import Application, Attachment, IdempotencyRecord
from pipeline.privacy.erase import erase_person
from tests.support import factories
from tests.support.callers import Caller, code_of, key_of, person, signed_in
from tests.support.documents import PDF, TXT, objects_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def folder(attachment_folder: Path) -> Path:
    return attachment_folder


@pytest.fixture
def key(company: Company) -> Caller:
    """A key of the company."""
    return key_of(company.id)


@pytest.fixture
def waiting(company: Company) -> Application:
    """An application that waits in line at the company."""
    job_id = factories.job(company_id=company.id)
    factories.application(job_id)
    return factories.application(job_id)


def form(job_id: Any, content: bytes = PDF, **fields: Any) -> bytes:
    """The body of a form with a file."""
    file = SimpleUploadedFile("cv.pdf", content)
    return encode_multipart(BOUNDARY, {"job_id": job_id, "file": file} | fields)


def put(caller: Caller, upload_id: str, content: bytes) -> Any:
    """Send the bytes of an upload."""
    path = f"/uploads/{upload_id}/content"
    return caller._send("PUT", path, content, {"content_type": "application/octet-stream"})


def test_a_file_is_uploaded_by_a_form_and_added_to_an_application(
    key: Caller, waiting: Application
) -> None:
    made = key.post("/uploads", form(waiting.job_id), content_type=MULTIPART_CONTENT)
    assert (made.status_code, made.json()["state"], made.json()["size_bytes"]) == (
        201,
        "UNSCANNED",
        len(PDF),
    )

    path = f"/applications/{waiting.id}/files"
    added = key.post(path, {"upload_ids": [made.json()["id"]]})

    assert [each["id"] for each in added.json()["data"]] == [made.json()["id"]]
    assert key.get(f"/uploads/{made.json()['id']}").json()["application_id"] == str(waiting.id)
    assert key.delete(f"{path}/{made.json()['id']}").status_code == 204
    assert key.get(path).json() == {"data": [], "next_cursor": None}


def test_a_company_does_not_remove_what_the_applicant_sent(
    key: Caller, waiting: Application
) -> None:
    theirs = signed_in(waiting.applicant)
    made = theirs.post("/uploads", form(waiting.job_id), content_type=MULTIPART_CONTENT).json()
    path = f"/applications/{waiting.id}/files"
    theirs.post(path, {"upload_ids": [made["id"]]})

    refused = key.delete(f"{path}/{made['id']}")

    assert code_of(refused) == (403, "PERMISSION_DENIED")
    assert [each["id"] for each in key.get(path).json()["data"]] == [made["id"]]
    assert theirs.delete(f"{path}/{made['id']}").status_code == 204


def test_a_file_is_announced_and_then_sent(key: Caller, waiting: Application, folder: Path) -> None:
    announced = {"job_id": str(waiting.job_id), "name": "cv.txt", "size_bytes": len(TXT)}
    made = key.post("/uploads", announced)
    assert (made.status_code, made.json()["state"], made.json()["received_at"]) == (
        201,
        "WAITING",
        None,
    )

    sent = put(key, made.json()["id"], TXT)

    assert (sent.status_code, sent.json()["content_type"]) == (200, "text/plain")
    assert put(key, made.json()["id"], TXT).status_code == 200
    assert [path.read_bytes() for path in objects_in(folder)] == [TXT]


def test_a_repeated_form_under_a_key_makes_one_upload(key: Caller, waiting: Application) -> None:
    body = form(waiting.job_id)
    first, again = (
        key.post("/uploads", body, content_type=MULTIPART_CONTENT, idempotency_key="k")
        for _ in range(2)
    )
    other = form(waiting.job_id, TXT)
    wrong = key.post("/uploads", other, content_type=MULTIPART_CONTENT, idempotency_key="k")

    assert first.json() == again.json()
    assert wrong.status_code == 422
    assert Attachment.objects.count() == 1


def test_refusals_have_their_codes(key: Caller, waiting: Application, settings: Any) -> None:
    job_id = str(waiting.job_id)
    announced = {"job_id": job_id, "name": "cv.txt", "size_bytes": 9}
    small = key.post("/uploads", announced).json()["id"]

    def codes(**fields: Any) -> tuple[int, str]:
        answer = key.post("/uploads", announced | fields)
        return answer.status_code, answer.json()["code"]

    svg = key.post("/uploads", form(job_id, b"<svg>"), content_type=MULTIPART_CONTENT)
    assert (svg.status_code, svg.json()["code"]) == (422, "FILE_NOT_ACCEPTED")
    assert codes(size_bytes=10 * 2**20 + 1) == (400, "VALIDATION_ERROR")
    assert codes(job_id=str(factories.job())) == (404, "NOT_FOUND")
    assert key.post("/uploads", b"job_id=1", content_type="text/plain").status_code == 415
    assert put(key, small, b"").json()["code"] == "FILE_NOT_ACCEPTED"
    assert put(key, small, bytes(10 * 2**20 + 1)).status_code == 413
    path = f"/applications/{waiting.id}/files"
    assert key.post(path, {"upload_ids": [small]}).json()["code"] == "INVALID_TRANSITION"
    assert key.post(path, {"upload_ids": [str(waiting.id)]}).status_code == 404
    Attachment.objects.filter(id=small).update(expires_at="2020-01-01T00:00Z")
    assert put(key, small, TXT).json()["code"] == "UPLOAD_EXPIRED"
    settings.ATTACHMENT_BYTES_PER_COMPANY = 1
    assert codes() == (409, "FILES_FULL")


def test_strangers_reach_neither_uploads_nor_files(key: Caller, waiting: Application) -> None:
    made = key.post("/uploads", form(waiting.job_id), content_type=MULTIPART_CONTENT).json()["id"]
    path = f"/applications/{waiting.id}/files"
    key.post(path, {"upload_ids": [made]})

    for stranger in (key_of(factories.company().id), person()[1]):
        assert stranger.get(f"/uploads/{made}").status_code == 404
        assert put(stranger, made, PDF).status_code == 404
        assert stranger.get(path).status_code == 404
        assert stranger.get(f"{path}/{made}").status_code == 404
        assert stranger.delete(f"{path}/{made}").status_code == 404
        assert stranger.delete(f"/uploads/{made}").status_code == 204
    assert Client().post("/api/v1/uploads", {}, content_type="application/json").status_code == 401
    assert Attachment.objects.get().application_id == waiting.id


def test_an_applicant_cannot_keep_the_room_for_others_with_announcements() -> None:
    announced = {"job_id": str(factories.job()), "name": "a", "size_bytes": 10 * 2**20}
    _, caller = person()
    for number in range(MOST_LOOSE):
        assert caller.post("/uploads", announced, idempotency_key=str(number)).status_code == 201

    refused = caller.post("/uploads", announced)

    assert code_of(refused) == (409, "LIMIT_REACHED")
    assert caller.post("/uploads", announced, idempotency_key="0").status_code == 201  # repeated
    caller.delete(f"/uploads/{Attachment.objects.earliest('id').id}")
    assert caller.post("/uploads", announced).status_code == 201


def test_nothing_is_kept_of_the_names_of_an_erased_persons_files() -> None:
    job_id = factories.job()
    applicant, caller = person()
    mine = factories.application(job_id, applicant)
    named = {"job_id": str(job_id), "name": "zelda.pdf", "size_bytes": 1}
    caller.post("/uploads", named, idempotency_key="loose")
    body = form(job_id)
    made = caller.post(
        "/uploads", body, content_type=MULTIPART_CONTENT, idempotency_key="attached"
    ).json()["id"]
    Attachment.objects.filter(id=made).update(application=mine, expires_at=None)
    assert IdempotencyRecord.objects.exclude(body=None).count() == 2

    erase_person(applicant_id=applicant.id)

    assert not IdempotencyRecord.objects.exclude(body=None).exists()


def test_an_applicant_reads_the_bytes_of_their_own_file() -> None:
    job_id = factories.job()
    factories.application(job_id)
    applicant, caller = person()
    mine = factories.application(job_id, applicant)
    made = caller.post("/uploads", form(job_id), content_type=MULTIPART_CONTENT).json()["id"]
    path = f"/applications/{mine.id}/files"
    assert caller.post(path, {"upload_ids": [made]}).status_code == 200

    file: Any = caller.get(f"{path}/{made}")

    assert b"".join(file) == PDF
    assert file["Content-Disposition"] == 'attachment; filename="cv.pdf"'
    assert "default-src 'none'" in file["Content-Security-Policy"]
    assert file["Cache-Control"] == "no-store"
