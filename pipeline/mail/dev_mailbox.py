"""Development mailbox: emails stored as files, shown at /dev/mail/ and never sent.

Each email is one file, written atomically and readable only by its owner. Old ones are deleted.
"""

from __future__ import annotations

import json
import logging
import os
import re
import secrets
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings
from django.core.mail import EmailMessage
from django.core.mail.backends.base import BaseEmailBackend

from applicants.addresses import masked_address

logger = logging.getLogger(__name__)

# Of each kind: emails about events, and private ones with codes and links, which an import of
# thousands of people must not push out.
MOST_KEPT = 200
PRIVATE = "p"  # the end of a private email's name
_NAME = re.compile(r"[0-9]{20}-[0-9a-f]{8}p?")
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class DevMail:
    """Stored email. Its name sorts by time."""

    name: str
    to: str
    subject: str
    text: str
    html: str = ""
    calendar: str = ""

    @property
    def at(self) -> datetime:
        """Return the time when it was stored, by this machine's clock."""
        return datetime.fromtimestamp(int(self.name[:20]) / 1e9, UTC)


class DevMailboxBackend(BaseEmailBackend):
    """Mail backend for Django that stores each email in settings.DEV_MAIL_FOLDER."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Store the emails, log where to read them, and return their number."""
        for message in email_messages:
            kept = keep(
                ", ".join(message.to),
                str(message.subject),
                str(message.body),
                html=find_part(message, "text/html"),
                calendar=find_part(message, "text/calendar"),
            )
            place = f"{settings.SITE_URL}/dev/mail/"
            logger.debug(
                "Email to %s: %s: read it at %s", masked_address(kept.to), kept.subject, place
            )
        return len(email_messages)


def find_part(message: EmailMessage, content_type: str) -> str:
    """Return the first part of an email that has this type; empty if there is none."""
    for part in message.message().walk():
        if part.get_content_type() == content_type:
            content = part.get_payload(decode=True)
            return content.decode() if isinstance(content, bytes) else ""
    return ""


def keep(to: str, subject: str, text: str, *, html: str = "", calendar: str = "") -> DevMail:
    """Store an email, and delete the oldest of its kind beyond MOST_KEPT."""
    folder = settings.DEV_MAIL_FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_private = not html  # only emails about events have HTML
    name = f"{time.time_ns():020d}-{secrets.token_hex(4)}{PRIVATE if is_private else ''}"
    mail = DevMail(name, to, subject, text, html, calendar)
    unfinished = folder / f"{mail.name}.part"
    unfinished.touch(mode=0o600)
    unfinished.write_text(json.dumps(asdict(mail)), encoding="utf-8")
    os.replace(unfinished, folder / f"{mail.name}{_SUFFIX}")
    alike = [name for name in _stored_names() if name.endswith(PRIVATE) == is_private]
    for name in alike[MOST_KEPT:]:
        _file_path(name).unlink(missing_ok=True)
    return mail


def read_newest() -> list[DevMail]:
    """Return the stored emails, newest first."""
    return [mail for mail in map(read, _stored_names()) if mail]


def read(name: str) -> DevMail | None:
    """Return the stored email with this name, or None."""
    if not _NAME.fullmatch(name):
        return None
    with suppress(FileNotFoundError):
        return DevMail(**json.loads(_file_path(name).read_text(encoding="utf-8")))
    return None


def forget(address: str) -> None:
    """Delete every stored email to an address."""
    for mail in read_newest():
        if address in mail.to.split(", "):
            _file_path(mail.name).unlink(missing_ok=True)


def _stored_names() -> list[str]:
    kept = settings.DEV_MAIL_FOLDER.glob(f"*{_SUFFIX}")
    return sorted((path.stem for path in kept), reverse=True)


def _file_path(name: str) -> Path:
    folder: Path = settings.DEV_MAIL_FOLDER
    return folder / f"{name}{_SUFFIX}"
