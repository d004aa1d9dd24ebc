"""Findings about applicants' files: their storage, and the malware scanner."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import timedelta
from secrets import token_hex

from django.conf import settings
from django.db.models.functions import Now

from pipeline.attachments import scan, storage
from pipeline.attachments.scan import ScannerAway
from pipeline.management.doctor.findings import Finding, found_ok, found_problem, found_warning
from pipeline.models import Attachment
from pipeline.wording.english import count

UNSEEN_AFTER = timedelta(minutes=15)


def check_storage() -> Iterator[Finding]:
    """Write an object to the storage, read it and remove it."""
    key = f"doctor/{token_hex(8)}"
    try:
        storage.write(key, io.BytesIO(b"doctor"))
        is_same = b"".join(storage.read(key)) == b"doctor"
        storage.remove(key)
    except Exception as error:  # each storage raises its own
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        yield found_problem(
            f"Applicants' files cannot be stored: {text}",
            "Correct ATTACHMENT_STORAGE, or the rights of its folder or bucket.",
        )
        return
    if is_same:
        yield found_ok("Applicants' files can be stored.")
    else:
        yield found_problem(
            "The storage of applicants' files returns other bytes than it was given.",
            "Replace it, and restore the files from a backup.",
        )


def check_scanner() -> Iterator[Finding]:
    """Ask the malware scanner, if there is one, and look for files that it has not seen."""
    if not scan.is_on():
        yield found_warning(
            "Applicants' files are not scanned for malware, and pages say so.",
            "Run clamd and set CLAMAV_ADDRESS, or add --skip scanner.",
        )
        return
    try:
        scan.ping()
    except ScannerAway as error:
        yield found_problem(
            f"{error} Nobody can open new files.", "Start clamd, or correct CLAMAV_ADDRESS."
        )
        return
    overdue = Attachment.objects.filter(state="WAITING", received_at__lt=Now() - UNSEEN_AFTER)
    if files := overdue.count():
        yield found_problem(
            f"{count(files, 'file')} could not be scanned for 15 minutes.",
            "Look at the errors in manage.py tasks list --type attachments.scan; for large files,"
            f" raise clamd's StreamMaxLength above {settings.ATTACHMENT_BYTES}.",
        )
    else:
        yield found_ok("The malware scanner answers.")
