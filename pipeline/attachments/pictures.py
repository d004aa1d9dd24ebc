"""Pictures without their metadata: where and when they were taken, with what, and by whom.

Nothing is decoded. Parts of the file that are neither the picture nor needed to show it as it is
meant (orientation, colours, density) are left out; the picture itself stays as it is, byte by byte.
So a hostile picture meets no decoder here, and a small one that unpacks to gigabytes costs nothing.
JPEG: ITU-T T.81; PNG: the W3C's third edition; orientation: Exif 2.32.
"""

from __future__ import annotations

import os
import re
from struct import Struct
from typing import IO
from zlib import crc32

from django.utils.translation import gettext_lazy as _

from pipeline.attachments.kinds import JPEG, PNG, Kind
from pipeline.domain.errors import FileKindRefused

_PIECE = 2**16
# Segments or chunks of one file. Pictures have dozens; each costs time.
_MOST_PARTS = 20_000
_LONGEST_EXIF = 2**16

_SOI, _EOI = b"\xff\xd8", b"\xff\xd9"
_SOS, _COM, _APP1, _APPS = 0xDA, 0xFE, 0xE1, range(0xE0, 0xF0)
_ALONE = (0x01, *range(0xD0, 0xD8))  # markers without a segment
_EXIF = b"Exif\0\0"
# What stays of the segments of applications: density, colour profile, colour transform.
_KEPT = {0xE0: b"JFIF\0", 0xE2: b"ICC_PROFILE\0", 0xEE: b"Adobe"}
_JFIF_WITHOUT_THUMBNAIL = 12
_NEXT_MARKER = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]")

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHUNK = Struct(">I4s")
_KEPT_CHUNKS = frozenset(
    b"IHDR PLTE IDAT IEND tRNS gAMA cHRM sRGB iCCP cICP sBIT pHYs bKGD".split()
)

_TIFF, _ENTRY = Struct(">2sHI"), Struct(">HHIHH")
_ORIENTATION, _SHORT = 0x0112, 3
_UPRIGHT = 1


def copy_without_metadata(source: IO[bytes], target: IO[bytes], kind: Kind) -> None:
    """Copy a picture without its metadata. Raises FileKindRefused for one that is damaged."""
    {JPEG: _copy_jpeg, PNG: _copy_png}[kind](source, target)


def _damaged() -> FileKindRefused:
    return FileKindRefused(
        why=_("This picture is damaged. Open it, save it again, and choose the new file.")
    )


def _copy_jpeg(source: IO[bytes], target: IO[bytes]) -> None:
    source.seek(len(_SOI))
    target.write(_SOI)
    has_picture = False
    for _part in range(_MOST_PARTS):
        marker = _read_marker(source)
        if marker == _EOI[1] or (marker is None and has_picture):  # a lost end is put right
            target.write(_EOI)
            return
        if marker is None:
            break
        if marker in _ALONE:
            continue
        size = int.from_bytes(source.read(2))
        data = source.read(size - 2) if size >= 2 else b""
        if size != len(data) + 2:
            break
        if kept := _kept_segment(marker, data):
            target.write(bytes((0xFF, marker)) + (len(kept) + 2).to_bytes(2) + kept)
        if marker == _SOS:
            has_picture = True
            _copy_scan(source, target)
    raise _damaged()


def _read_marker(source: IO[bytes]) -> int | None:
    """Return the second byte of a marker, which any number of 0xFF can precede; None at the end."""
    if source.read(1) != b"\xff":
        return None
    while (byte := source.read(1)) == b"\xff":
        pass
    return byte[0] if byte else None


def _kept_segment(marker: int, data: bytes) -> bytes:
    """Return what stays of a segment."""
    if marker == _APP1 and data.startswith(_EXIF):
        orientation = _read_orientation(data[len(_EXIF) :])
        return b"" if orientation == _UPRIGHT else _EXIF + _only_orientation(orientation)
    if marker == _COM or marker in _APPS:
        start = _KEPT.get(marker)
        if start is None or not data.startswith(start):
            return b""
        if marker == 0xE0:
            return data[:_JFIF_WITHOUT_THUMBNAIL].ljust(_JFIF_WITHOUT_THUMBNAIL, b"\0") + b"\0\0"
    return data


def _copy_scan(source: IO[bytes], target: IO[bytes]) -> None:
    """Copy compressed data up to the next marker, which is then next in the source."""
    while piece := source.read(_PIECE):
        found = _NEXT_MARKER.search(piece)
        end = found.start() if found else len(piece) - piece.endswith(b"\xff")
        target.write(piece[:end])
        source.seek(end - len(piece), os.SEEK_CUR)
        if found or not end:
            return


def _copy_png(source: IO[bytes], target: IO[bytes]) -> None:
    size = source.seek(0, os.SEEK_END)
    source.seek(len(_SIGNATURE))
    target.write(_SIGNATURE)
    for _part in range(_MOST_PARTS):
        header = source.read(_CHUNK.size)
        if len(header) < _CHUNK.size:
            break
        length, name = _CHUNK.unpack(header)
        if length + 4 > size - source.tell():
            break
        if name in _KEPT_CHUNKS:
            target.write(header)
            _copy(source, target, length + 4)
        elif name == b"eXIf" and length <= _LONGEST_EXIF:
            _keep_orientation(source.read(length), target)
            source.seek(4, os.SEEK_CUR)
        else:
            source.seek(length + 4, os.SEEK_CUR)
        if name == b"IEND":
            return
    raise _damaged()


def _copy(source: IO[bytes], target: IO[bytes], length: int) -> None:
    while length and (piece := source.read(min(length, _PIECE))):
        target.write(piece)
        length -= len(piece)


def _keep_orientation(exif: bytes, target: IO[bytes]) -> None:
    orientation = _read_orientation(exif)
    if orientation != _UPRIGHT:
        data = b"eXIf" + _only_orientation(orientation)
        target.write((len(data) - 4).to_bytes(4) + data + crc32(data).to_bytes(4))


def _read_orientation(tiff: bytes) -> int:
    """Return how a picture is turned, 1 to 8; upright if it does not say so clearly."""
    order = {b"II": "<", b"MM": ">"}.get(tiff[:2])
    if order is None or len(tiff) < _TIFF.size:
        return _UPRIGHT
    entry = Struct(order + _ENTRY.format[1:])
    start = Struct(order + "I").unpack_from(tiff, 4)[0]
    count = Struct(order + "H").unpack(tiff[start : start + 2].ljust(2, b"\0"))[0]
    for number in range(count):
        at = start + 2 + number * entry.size
        if at + entry.size > len(tiff):
            break
        tag, form, _values, value, _rest = entry.unpack_from(tiff, at)
        if (tag, form) == (_ORIENTATION, _SHORT) and 1 <= value <= 8:
            return int(value)
    return _UPRIGHT


def _only_orientation(orientation: int) -> bytes:
    entry = _ENTRY.pack(_ORIENTATION, _SHORT, 1, orientation, 0)
    return _TIFF.pack(b"MM", 42, 8) + (1).to_bytes(2) + entry + bytes(4)
