"""Anchors: heads of the jobs' logs in a signed file that the database's roles cannot reach.

Each line is JSON with a job, its last `seq`, the `hash` of that event, the time, the SHA-256 of the
line before it and an Ed25519 signature of all that. A person who rewrites a log with its whole
chain cannot rewrite these lines without the key, and can remove only the last ones unnoticed.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from django.conf import settings
from django.db.models.functions import Now

from jobs.models import Job
from pipeline.line.event_log import logged_time
from pipeline.models import Event

FIRST = "0" * 64  # in the place of the hash of a line before the first
# Events whose transaction may not have been committed when the last anchors were written.
SLACK = timedelta(minutes=1)
TAIL_BYTES = 2**20


class BadAnchors(Exception):
    """The file, or the key, cannot be read as anchors; the text says why."""


class Anchor(NamedTuple):
    """Head of a job's log at a time."""

    job_id: UUID
    seq: int
    hash: str
    at: str


def append() -> int:
    """Append the heads of the logs that have grown since the last time; return how many.

    Safe to call from several processes at once. All lines are written, or none. Raises OSError if
    the file cannot be written, BadAnchors if its last line is not as it was signed.
    """
    path: Path = settings.ANCHOR_FILE
    with _hold_file(path) as file:
        key = _signing_key(settings.ANCHOR_KEY_FILE)
        try:
            last_line, recent = _read_end(file, key.public_key())
        except BadAnchors as error:
            raise BadAnchors(f"{path}: {error}") from None
        lines = []
        for anchor in _new_heads(recent):
            last_line = _signed_line(anchor, last_line, key)
            lines.append(last_line + b"\n")
        write(file, b"".join(lines))
        if not recent:
            sync_folder(path.parent)
    return len(lines)


def _new_heads(recent: list[Anchor]) -> list[Anchor]:
    """Return the heads that have changed since the newest anchor; all, if there is none."""
    jobs = Job.objects.filter(seq__gt=0)
    if recent:
        changed = Event.objects.filter(at__gt=_window_start(recent[0]))
        jobs = jobs.filter(id__in=changed.values_list("job_id", flat=True).distinct())
    known = {(anchor.job_id, anchor.seq) for anchor in recent}
    rows = jobs.order_by("id").values_list("id", "seq", "chain_head", Now())
    return [
        Anchor(job_id, seq, bytes(head).hex(), logged_time(now))
        for job_id, seq, head, now in rows
        if (job_id, seq) not in known
    ]


def _window_start(newest: Anchor) -> datetime:
    return datetime.fromisoformat(newest.at) - SLACK


@contextmanager
def _hold_file(path: Path) -> Iterator[int]:
    path.parent.mkdir(parents=True, exist_ok=True)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield file
    finally:
        os.close(file)


def _read_end(file: int, key: Ed25519PublicKey) -> tuple[bytes, list[Anchor]]:
    """Return the last line, and the anchors of about the last minute of the file, newest first.

    The rest of a line that a crash has cut off is removed: nobody has relied on it. Raises
    BadAnchors if the last line is not as it was signed; then nothing is changed.
    """
    with open(file, "rb", closefd=False) as reader:
        size = reader.seek(0, os.SEEK_END)
        reader.seek(max(0, size - TAIL_BYTES))
        whole, _, rest = reader.read().rpartition(b"\n")
    lines = whole.split(b"\n") if whole or size > len(rest) else []
    rest_is_whole = bool(rest) and not parse(rest, key)[2]  # only the line's end is missing
    if rest_is_whole:
        lines.append(rest)
    recent: list[Anchor] = []
    for line in reversed(lines):
        anchor, _, problem = parse(line, key)
        if problem and not recent:
            raise BadAnchors(
                f"its last line {problem}. Nothing was written. Keep the file, find out who changed"
                " it, and move it away: a new one then begins with the heads of all logs."
            )
        if anchor is None or (recent and anchor.at < logged_time(_window_start(recent[0]))):
            break
        recent.append(anchor)
    if rest_is_whole:
        write(file, b"\n")
    elif rest:
        os.ftruncate(file, size - len(rest))
    return lines[-1] if lines else b"", recent


def write(file: int, content: bytes) -> None:
    """Append bytes and flush them to the disk; after an error, remove them all."""
    size = os.fstat(file).st_size
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(file, left) :]
        os.fsync(file)
    except BaseException:
        os.ftruncate(file, size)
        raise


def sync_folder(folder: Path) -> None:
    """Flush a folder's entries to the disk (fsync)."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _signed_line(anchor: Anchor, line_before: bytes, key: Ed25519PrivateKey) -> bytes:
    facts: dict[str, Any] = {
        "job": str(anchor.job_id),
        "seq": anchor.seq,
        "hash": anchor.hash,
        "at": anchor.at,
        "previous": sha256(line_before).hexdigest() if line_before else FIRST,
    }
    signature = base64.b64encode(key.sign(_canonical_bytes(facts))).decode()
    return _canonical_bytes(facts | {"signature": signature})


def _canonical_bytes(facts: dict[str, Any]) -> bytes:
    return json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()


def read_anchors(path: Path, key: Ed25519PublicKey) -> Iterator[tuple[Anchor | None, str]]:
    """Read the file line by line: each anchor, or the fault of the line."""
    before = FIRST
    try:
        with path.open("rb") as file:
            for number, line in enumerate((each.rstrip(b"\n") for each in file), start=1):
                anchor, previous, problem = parse(line, key)
                if previous != before and not problem:
                    yield None, f"lines before line {number} of the anchors are missing or changed"
                yield anchor, problem and f"line {number} of the anchors {problem}"
                before = sha256(line).hexdigest()
    except OSError as error:
        raise BadAnchors(f"Cannot read {path}: {error.strerror}.") from None


def parse(line: bytes, key: Ed25519PublicKey) -> tuple[Anchor | None, str, str]:
    """Return a line's anchor, the hash of the line before it, and its fault, if any."""
    try:
        facts = json.loads(line)
        signature = base64.b64decode(facts.pop("signature"))
        key.verify(signature, _canonical_bytes(facts))
        anchor = Anchor(UUID(facts["job"]), facts["seq"], facts["hash"], facts["at"])
    except InvalidSignature:
        return None, "", "is not signed with this key"
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None, "", "cannot be read"
    return anchor, facts["previous"], ""


def _signing_key(path: Path) -> Ed25519PrivateKey:
    """Read the key. The first time, create it with its public half beside it (.pub)."""
    encoding = serialization.Encoding.PEM
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        made = Ed25519PrivateKey.generate().private_bytes(encoding, form, plain)
        _put_key(path, made, mode=0o600)
    try:
        key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    except ValueError:
        raise BadAnchors(f"{path} is not a key in PEM.") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise BadAnchors(f"{path} is not an Ed25519 key.")
    public = path.with_name(path.name + ".pub")
    if not public.exists():
        info = serialization.PublicFormat.SubjectPublicKeyInfo
        _put_key(public, key.public_key().public_bytes(encoding, info), mode=0o644)
    return key


def _put_key(path: Path, content: bytes, *, mode: int) -> None:
    """Create a file, whole and flushed to the disk, unless it exists; of several calls one wins."""
    mine = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    file = os.open(mine, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        write(file, content)
        os.link(mine, path)
    except FileExistsError:
        pass
    finally:
        os.close(file)
        mine.unlink()
    sync_folder(path.parent)


def public_anchor_key(path: Path) -> Ed25519PublicKey:
    """Read a public key, or the public half of a private one. Raises BadAnchors."""
    try:
        content = path.read_bytes()
        if b"PRIVATE" in content:
            key = serialization.load_pem_private_key(content, password=None).public_key()
        else:
            key = serialization.load_pem_public_key(content)
    except OSError as error:
        raise BadAnchors(f"Cannot read the key {path}: {error.strerror}.") from None
    except ValueError:
        raise BadAnchors(f"{path} is not a key in PEM.") from None
    if not isinstance(key, Ed25519PublicKey):
        raise BadAnchors(f"{path} is not an Ed25519 key.")
    return key


# The end of the file of anchors, read without changing it: whether it is whole and up to date.


class LastAnchor(NamedTuple):
    """The last whole line: its anchor, or else its fault. Half a line may follow it."""

    anchor: Anchor | None
    fault: str
    is_cut_off: bool


def read_last(path: Path, key_path: Path) -> LastAnchor:
    """Read the end of the file. Without any whole line, anchor and fault are empty.

    Waits while a worker is writing to the file. Raises BadAnchors if the file or the key cannot be
    read.
    """
    key = public_anchor_key(key_path)
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            whole, end, rest = file.read().rpartition(b"\n")
    except OSError as error:
        raise BadAnchors(f"Cannot read {path}: {error.strerror}.") from None
    if rest:
        anchor, _, fault = parse(rest, key)
        if not fault:  # only the line's end is missing
            return LastAnchor(anchor, "", is_cut_off=False)
    if not end:
        return LastAnchor(None, "", is_cut_off=bool(rest))
    anchor, _, fault = parse(whole.rpartition(b"\n")[2], key)
    return LastAnchor(anchor, fault, is_cut_off=bool(rest))


def logs_grew(anchor: Anchor | None, *, before: timedelta) -> bool:
    """Tell whether a log grew after this anchor (ever, if None), and longer ago than `before`."""
    events = Event.objects.filter(at__lt=Now() - before)
    if anchor:
        events = events.filter(at__gt=datetime.fromisoformat(anchor.at))
    return events.exists()
