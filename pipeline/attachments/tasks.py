"""Tasks of attachments: the malware scan, and removal of what no application needs."""

from __future__ import annotations

import logging
from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from applicants.mail import post_private_email
from pipeline.attachments import scan, storage
from pipeline.attachments.scan import SCAN, ScannerAway
from pipeline.attachments.storage import BATCH, TIDY
from pipeline.domain.errors import AttachmentNotFound, AttachmentsUnreadable
from pipeline.models import Attachment
from pipeline.web.languages import in_language_of
from tasks.context import Context
from tasks.errors import Discard, Retry
from tasks.models import HIGHEST_PRIORITY
from tasks.registry import task_type
from tasks.retry import Backoff
from tasks.scheduling import schedules

security = logging.getLogger("security")

FIND_ORPHANS = "attachments.find_orphans"
EVERY_FIVE_MINUTES, EVERY_NIGHT = "*/5 * * * *", "50 3 * * *"
# After this long without a verdict, a scan is requested again, for example after a dead letter.
SCAN_OVERDUE = timedelta(minutes=30)

State = Attachment.State


@task_type(
    key=SCAN,
    owner="site",
    queue="files",
    timeout_seconds=180,
    max_attempts=20,
    backoff=Backoff(base_seconds=10, cap_seconds=900),
    cap=4,
    waits_for_service=True,
)
def scan_attachment(attachment_id: UUID) -> dict[str, str]:
    """Scan a file for malware: {"state"}. One with malware is removed, and its sender told."""
    row = Attachment.objects.filter(id=attachment_id, state=State.WAITING).first()
    if row is None or row.received_at is None or row.storage_key is None:
        raise Discard("the file is gone, or was scanned")
    if not scan.is_on():
        found, state = "", State.UNSCANNED
    else:
        try:
            found = scan.scan_pieces(storage.read(row.storage_key))
        except AttachmentNotFound:
            raise Discard("the file is gone") from None
        except (AttachmentsUnreadable, ScannerAway) as error:
            raise Retry(str(error)) from None
        state = State.REFUSED if found else State.CLEAN
    _note_verdict(attachment_id, state, found)
    return {"state": state.value}


@transaction.atomic
def _note_verdict(attachment_id: UUID, state: Attachment.State, malware: str) -> None:
    locked = Attachment.objects.select_for_update(of=("self",))
    row = locked.filter(id=attachment_id, state=State.WAITING).first()
    if row is None:  # removed meanwhile, or another run was faster
        return
    if state is State.REFUSED:
        assert row.storage_key is not None  # noqa: S101  its bytes were scanned
        storage.note_removal(row.storage_key, row.id)
        storage.request_removal()
        ids = {"attachment": str(row.id), "job": str(row.job_id), "malware": malware}
        security.warning("attachment.refused", extra=ids)
        row.storage_key, row.size_bytes = None, 0
        _tell_applicant(row)
    row.state = state
    row.save(update_fields=["state", "storage_key", "size_bytes"])


def _tell_applicant(row: Attachment) -> None:
    """Email the sender of a refused file, if their address is verified. Pages show it anyway.

    A file of a message may be the company's, and the thread shows what became of it.
    """
    application = row.application
    if (
        row.message_id
        or application is None
        or not application.is_verified
        or application.job.is_test
    ):
        return
    title, person = application.job.posting.title, application.applicant
    with in_language_of(*application.languages, application.job.posting.language):
        post_private_email(
            to=person.email,
            subject=_("A file for “%(title)s” was refused") % {"title": title},
            text=_(
                "The file “%(name)s” in your application for “%(title)s” did not pass the malware"
                " scan, so it was removed and the company cannot see it. Your place in line is not"
                " affected.\n\nIf you still wait in line, add a clean copy of the file here:"
                "\n%(link)s"
            )
            % {
                "name": row.name,
                "title": title,
                "link": f"{settings.SITE_URL}/me/applications/{application.id}/",
            },
        )


@task_type(key=TIDY, owner="site", queue="upkeep", timeout_seconds=240, max_attempts=5, cap=1)
def tidy(context: Context) -> dict[str, int]:
    """Remove expired uploads and the bytes of deleted files. Ask again for overdue scans."""
    counts = {"expired": 0, "removed": 0, "scans": _request_overdue_scans()}
    for name, step in (
        ("expired", storage.remove_expired_uploads),
        ("removed", storage.remove_due),
    ):
        while not context.cancelled:
            done = step()
            counts[name] += done
            if done < BATCH:
                break
    return counts


def _request_overdue_scans() -> int:
    """Request a scan of each file without a verdict, at most once an hour."""
    overdue = Attachment.objects.filter(state=State.WAITING, received_at__lt=Now() - SCAN_OVERDUE)
    ids = list(overdue.order_by("received_at").values_list("id", flat=True)[:BATCH])
    hour = timezone.now().strftime("%Y%m%d%H")
    for attachment_id in ids:
        scan.request(attachment_id, key=f"{attachment_id}:{hour}")
    return len(ids)


@task_type(
    key=FIND_ORPHANS, owner="site", queue="upkeep", timeout_seconds=3_600, max_attempts=3, cap=1
)
def find_orphans() -> dict[str, int]:
    """Remove objects of the storage that belong to no file: {"removed"}."""
    return {"removed": storage.remove_orphans()}


def ensure_tidying() -> None:
    """Create the schedules. Safe to call at every start and from many processes at once."""
    schedules.ensure("Attachments", EVERY_FIVE_MINUTES, TIDY, priority=HIGHEST_PRIORITY)
    schedules.ensure("Orphans of the attachment storage", EVERY_NIGHT, FIND_ORPHANS)
