"""Reading the mails that the running site has sent."""

from __future__ import annotations

import email
import email.policy
import re
import time
from pathlib import Path

PATIENCE_SECONDS = 60


def last_mail(folder: Path, address: str, *, saying: str = "") -> str:
    """The text of the newest mail to an address that says something; waits for it to come."""
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        found = [text for text in _mails(folder, address) if saying in text]
        if found:
            return found[-1]
        time.sleep(0.1)
    raise AssertionError(f"no mail to {address} says {saying!r}")


def forget_mails(folder: Path) -> None:
    """Remove all mails: the code that an earlier test got at the same address is not the newest."""
    for file in folder.glob("*.log"):
        file.unlink()


def code_in(text: str) -> str:
    """The code of a mail to sign in with."""
    found = re.search(r"^(\d{8})$", text, re.M)
    assert found, text
    return found[1]


def link_in(text: str, path: str) -> str:
    """The address, without the site, of the link of a mail that leads to a kind of page."""
    found = re.search(rf"https?://[^/\s]+({path}\S*)", text)
    assert found, text
    return found[1]


def letters_to(folder: Path, address: str) -> list[email.message.EmailMessage]:
    """All mails to an address, oldest first."""
    files = sorted(folder.glob("*.log"), key=lambda file: file.stat().st_mtime_ns)
    letters = [letter for file in files for letter in _letters(file.read_bytes(), address)]
    return [each for each in letters if each["To"] == address]


def _mails(folder: Path, address: str) -> list[str]:
    bodies = [each.get_body(("plain",)) for each in letters_to(folder, address)]
    return [str(body.get_content()) for body in bodies if body]


def _letters(kept: bytes, address: str) -> list[email.message.EmailMessage]:
    """Read those that name an address: Django's file backend writes dashes behind each mail."""
    parts = re.split(rb"^-{79}$", kept, flags=re.M)
    texts = [part.strip() for part in parts if address.encode() in part]
    parsed = [email.message_from_bytes(text, policy=email.policy.default) for text in texts]
    return [each for each in parsed if isinstance(each, email.message.EmailMessage)]
