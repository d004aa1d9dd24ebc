"""The end of the file of anchors, read without changing it: whether it is whole and up to date."""

from __future__ import annotations

import fcntl
import os
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from django.db.models.functions import Now

from pipeline.audit.anchors import (
    TAIL_BYTES,
    Anchor,
    BadAnchors,
    parse_anchor,
    public_anchor_key,
)
from pipeline.models import Event


class LastAnchor(NamedTuple):
    """The last whole line: its anchor, or else its fault. Half a line may follow it."""

    anchor: Anchor | None
    fault: str
    is_cut_off: bool


def read_last_anchor(path: Path, key_path: Path) -> LastAnchor:
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
        anchor, _, fault = parse_anchor(rest, key)
        if not fault:  # only the line's end is missing
            return LastAnchor(anchor, "", is_cut_off=False)
    if not end:
        return LastAnchor(None, "", is_cut_off=bool(rest))
    anchor, _, fault = parse_anchor(whole.rpartition(b"\n")[2], key)
    return LastAnchor(anchor, fault, is_cut_off=bool(rest))


def logs_grew_after_anchor(anchor: Anchor | None, *, before: timedelta) -> bool:
    """Tell whether a log grew after this anchor (ever, if None), and longer ago than `before`."""
    events = Event.objects.filter(at__lt=Now() - before)
    if anchor:
        events = events.filter(at__gt=datetime.fromisoformat(anchor.at))
    return events.exists()
