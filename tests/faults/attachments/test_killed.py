"""A process that dies at any step of an upload loses no file and leaves no orphan."""

from __future__ import annotations

import signal
from datetime import timedelta
from pathlib import Path

import pytest
from django.db.models import F
from django.db.models.functions import Now

from pipeline.attachments import storage
from pipeline.models import Attachment, RemovedObject
from tests.faults.attachments.killed_upload import STEPS
from tests.support import factories
from tests.support.documents import PDF, objects_in
from tests.support.forked import RunForked

pytestmark = pytest.mark.django_db(transaction=True)
MODULE = "tests.faults.attachments.killed_upload"
# Steps after which the application has the file: it was attached, and not yet removed.
ATTACHED = {"after it is attached", "before its removal is committed"}


def let_hours_pass() -> None:
    """Let uploads expire, and run what removes them."""
    loose = Attachment.objects.filter(application=None)
    loose.update(expires_at=Now() - timedelta(seconds=1))
    storage.remove_expired_uploads()
    RemovedObject.objects.update(due_at=F("due_at") - timedelta(hours=1))
    storage.remove_due()


@pytest.mark.parametrize("step", STEPS)
def test_a_killed_upload_is_attached_whole_or_gone(
    step: str, run_forked: RunForked, attachment_folder: Path
) -> None:
    job_id = factories.job()
    factories.application(job_id)
    waiting = factories.application(job_id)

    ended = run_forked(MODULE, step, str(waiting.id), str(attachment_folder))
    let_hours_pass()

    assert ended == (0 if step == "never" else -signal.SIGKILL)
    rows = list(Attachment.objects.all())
    assert [row.application_id for row in rows] == [waiting.id] * (step in ATTACHED)
    assert [path.read_bytes() for path in objects_in(attachment_folder)] == [PDF] * len(rows)
    assert not RemovedObject.objects.exists()
