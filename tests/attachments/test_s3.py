"""The attachment storage in S3, against a local server that speaks its protocol."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import boto3
import pytest
from django.core.exceptions import ImproperlyConfigured
from moto.server import ThreadedMotoServer

from pipeline.attachments import storage, uploads
from pipeline.config.attachments import parse_storage
from pipeline.models import Attachment
from tests.support import factories
from tests.support.documents import PDF

pytestmark = pytest.mark.django_db(transaction=True)
BUCKET, PREFIX = "files", "of/applicants"


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """Run a server of S3's protocol, and return its address."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3: str, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Any:
    """A bucket that the site keeps its attachments in."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "tests")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "tests")
    options = f"endpoint_url={s3}&region_name=us-east-1&addressing_style=path"
    entry = parse_storage(f"s3://{BUCKET}/{PREFIX}?{options}")
    settings.STORAGES = settings.STORAGES | {"attachments": entry}
    settings.ATTACHMENT_REMOVALS_FILE = tmp_path / "removed.jsonl"
    made = boto3.resource("s3", endpoint_url=s3, region_name="us-east-1").Bucket(BUCKET)
    made.create()
    yield made
    made.objects.all().delete()
    made.delete()
    made.meta.client.close()


def upload(content: bytes = PDF) -> Attachment:
    job_id = factories.job()
    return uploads.add(
        company_id=factories.row_of(job_id).company_id,
        job_id=job_id,
        holder=uploads.holder_of("browser", "mine"),
        name="cv.pdf",
        size_bytes=len(content),
        content=[content],
    )


def keys_in(bucket: Any) -> list[str]:
    return [each.key for each in bucket.objects.all()]


@pytest.mark.parametrize("content", [PDF, b"line\n" * 2_000_000], ids=["small", "ten megabytes"])
def test_a_file_is_stored_read_and_removed(bucket: Any, content: bytes) -> None:
    row = upload(content)
    assert keys_in(bucket) == [f"{PREFIX}/{row.storage_key}"]
    assert b"".join(storage.read(row.storage_key or "")) == content

    uploads.discard(row.id, holder=bytes(row.holder))
    storage.remove_due()

    assert keys_in(bucket) == []
    with pytest.raises(storage.AttachmentNotFound):
        next(storage.read(row.storage_key or ""))


def test_orphans_are_found_and_removed(bucket: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = upload()
    bucket.put_object(Key=f"{PREFIX}/ab/abcd", Body=b"left by a restored backup")
    assert storage.remove_orphans() == 0  # it could still be on its way

    monkeypatch.setattr(storage, "ORPHAN_AGE", timedelta(0))

    assert storage.remove_orphans() == 1
    assert keys_in(bucket) == [f"{PREFIX}/{kept.storage_key}"]


@pytest.mark.parametrize("text", ["s3://", "s3://bucket?access_key=1", "https://bucket", "ftp://a"])
def test_a_malformed_setting_is_explained(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="ATTACHMENT_STORAGE"):
        parse_storage(text)
