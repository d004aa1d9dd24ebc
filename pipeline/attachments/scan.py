"""Malware scan of attachments by ClamAV's daemon, over its own protocol.

A client library would be longer than the part of the protocol that is used (`man clamd`).
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from uuid import UUID

from django.conf import settings

from tasks.enqueue import enqueue

SCAN = "attachments.scan"  # the type of the task
# A person waits for the scan, but not in front of a page.
PRIORITY = 10
TIMEOUT_SECONDS = 30.0
_LONGEST_ANSWER = 4_096
_FOUND = re.compile(r"stream: (.{1,200}) FOUND")


class ScannerAway(Exception):
    """The scanner cannot be reached, takes too long, or cannot scan the file."""


def is_on() -> bool:
    """Return whether the site has a malware scanner."""
    return bool(settings.CLAMAV_ADDRESS)


def request(attachment_id: UUID, *, key: str | None = None) -> None:
    """Have a task scan an attachment, once the caller's transaction commits."""
    payload = {"attachment_id": str(attachment_id)}
    enqueue(SCAN, payload, priority=PRIORITY, idempotency_key=key)


def scan_pieces(pieces: Iterable[bytes]) -> str:
    """Scan a file, and return the name of the malware in it, or "". Raises ScannerAway."""
    try:
        with _connect() as connection:
            answer = _send(connection, pieces)
    except OSError as error:
        raise ScannerAway(f"The scanner does not answer: {type(error).__name__}.") from error
    if answer == "stream: OK":
        return ""
    if found := _FOUND.fullmatch(answer):
        return found[1]
    if "size limit exceeded" in answer:
        raise ScannerAway("The file is larger than clamd's StreamMaxLength. Raise that.")
    raise ScannerAway(f"The scanner answered {answer[:200]!r}.")


def ping() -> None:
    """Check that the scanner answers. Raises ScannerAway."""
    try:
        with _connect() as connection:
            connection.sendall(b"zPING\0")
            answer = _receive(connection)
    except OSError as error:
        raise ScannerAway(f"The scanner does not answer: {type(error).__name__}.") from error
    if answer != "PONG":
        raise ScannerAway(f"The scanner answered {answer[:200]!r}.")


def _connect() -> socket.socket:
    address: str = settings.CLAMAV_ADDRESS
    if not address.startswith("/"):
        host, _, port = address.rpartition(":")
        return socket.create_connection((host.strip("[]"), int(port)), timeout=TIMEOUT_SECONDS)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(TIMEOUT_SECONDS)
        connection.connect(address)
    except BaseException:
        connection.close()
        raise
    return connection


def _send(connection: socket.socket, pieces: Iterable[bytes]) -> str:
    try:
        connection.sendall(b"zINSTREAM\0")
        for piece in pieces:
            connection.sendall(len(piece).to_bytes(4) + piece)
        connection.sendall(bytes(4))
    except (BrokenPipeError, ConnectionResetError):
        pass  # it closes early when the file is too long, and has said so
    return _receive(connection)


def _receive(connection: socket.socket) -> str:
    answer = b""
    while b"\0" not in answer and len(answer) < _LONGEST_ANSWER:
        piece = connection.recv(_LONGEST_ANSWER)
        if not piece:
            break
        answer += piece
    return answer.partition(b"\0")[0].decode("utf-8", "replace").strip()
