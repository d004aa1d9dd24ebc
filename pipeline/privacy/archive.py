"""Everything kept about a person as one ZIP: the JSON of `my_data`, and the files themselves."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from django.core.serializers.json import DjangoJSONEncoder
from django.utils import timezone

from pipeline.attachments import storage
from pipeline.domain.errors import AttachmentNotFound
from pipeline.models import Attachment

DATA = "my-data.json"


def stream(kept: dict[str, Any], files: Iterable[Attachment]) -> Iterator[bytes]:
    """Yield the ZIP in pieces, of which one at a time is in memory.

    Each file is in a folder named by the id that it has in the JSON. Files that wait for the
    malware scan, or are erased meanwhile, are left out. Raises AttachmentsUnreadable; for the first
    file, before the first piece.
    """
    sink = _Sink()
    with ZipFile(sink, "w") as archive:
        for row in files:
            if not row.is_visible or not row.storage_key:
                continue
            pieces = storage.read(row.storage_key)
            try:
                first = next(pieces, b"")
            except AttachmentNotFound:
                continue
            info = _member(f"files/{row.id}/{row.name}", row.received_at or row.created_at)
            with archive.open(info, "w", force_zip64=True) as member:
                for piece in chain([first], pieces):
                    member.write(piece)
                    yield sink.take()
        text = json.dumps(kept, indent=2, ensure_ascii=False, cls=DjangoJSONEncoder)
        archive.writestr(_member(DATA, timezone.now()), text, ZIP_DEFLATED)
    yield sink.take()


def _member(name: str, at: datetime) -> ZipInfo:
    """Return an entry. Files are stored as they are: most of their kinds are compressed."""
    day = timezone.localtime(at)
    info = ZipInfo(name, (day.year, day.month, day.day, day.hour, day.minute, day.second))
    info.compress_type = ZIP_STORED
    return info


class _Sink(io.RawIOBase):
    """Bytes that were written and not taken yet. It cannot seek, so the ZIP never goes back."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self._pieces.append(bytes(data))
        return len(self._pieces[-1])

    def take(self) -> bytes:
        taken = b"".join(self._pieces)
        self._pieces.clear()
        return taken
