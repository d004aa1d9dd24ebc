"""Mails on a developer's machine: kept as files, to be read at /dev/mail/, and sent to nobody.

Each mail is one file that is there whole or not at all, for its owner alone. The newest are kept.
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

from applicants.mail import masked

logger = logging.getLogger(__name__)

MOST_KEPT = 200
_NAME = re.compile(r"[0-9]{20}-[0-9a-f]{8}")
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class Mail:
    """A mail that was kept. Its name is in the order of time."""

    name: str
    to: str
    subject: str
    text: str

    @property
    def at(self) -> datetime:
        """When it was kept, by this machine's clock."""
        return datetime.fromtimestamp(int(self.name[:20]) / 1e9, UTC)


class Backend(BaseEmailBackend):
    """Django's mail backend that keeps each mail in settings.DEV_MAIL_FOLDER."""

    def send_messages(self, email_messages: Sequence[EmailMessage]) -> int:
        """Keep them, and say of each where it can be read; gives how many there were."""
        for message in email_messages:
            kept = keep(", ".join(message.to), str(message.subject), str(message.body))
            place = f"{settings.SITE_URL}/dev/mail/"
            logger.debug("Mail to %s: %s: read it at %s", masked(kept.to), kept.subject, place)
        return len(email_messages)


def keep(to: str, subject: str, text: str) -> Mail:
    """Keep a mail, and let go of the oldest when there are too many."""
    folder = settings.DEV_MAIL_FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    mail = Mail(f"{time.time_ns():020d}-{secrets.token_hex(4)}", to, subject, text)
    unfinished = folder / f"{mail.name}.part"
    unfinished.touch(mode=0o600)
    unfinished.write_text(json.dumps(asdict(mail)), encoding="utf-8")
    os.replace(unfinished, folder / f"{mail.name}{_SUFFIX}")
    for name in _names()[MOST_KEPT:]:
        _path(name).unlink(missing_ok=True)
    return mail


def newest() -> list[Mail]:
    """The mails that are kept, newest first."""
    return [mail for mail in map(read, _names()[:MOST_KEPT]) if mail]


def read(name: str) -> Mail | None:
    """The mail of that name, if it is kept."""
    if not _NAME.fullmatch(name):
        return None
    with suppress(FileNotFoundError):
        return Mail(**json.loads(_path(name).read_text(encoding="utf-8")))
    return None


def forget(address: str) -> None:
    """Let go of every mail to an address"""
    for mail in newest():
        if address in mail.to.split(", "):
            _path(mail.name).unlink(missing_ok=True)


def _names() -> list[str]:
    kept = settings.DEV_MAIL_FOLDER.glob(f"*{_SUFFIX}")
    return sorted((path.stem for path in kept), reverse=True)


def _path(name: str) -> Path:
    folder: Path = settings.DEV_MAIL_FOLDER
    return folder / f"{name}{_SUFFIX}"
