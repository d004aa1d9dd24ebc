"""Small files of each kind, and a folder for them that a test has to itself."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from struct import pack
from typing import Any
from zlib import crc32

import pytest
from django.conf import settings

from pipeline.attachments.samples import make_pdf

PDF = make_pdf([["A page"], ["Another page"]])
RTF = b"{\\rtf1\\ansi A CV\\par}"
TXT = "Grüße from a CV\r\n".encode()
JPEG = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00\xff\xd9"


def _chunk(name: bytes, data: bytes) -> bytes:
    return pack(">I", len(data)) + name + data + pack(">I", crc32(name + data))


PNG = (
    b"\x89PNG\r\n\x1a\n"
    + _chunk(b"IHDR", pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    + _chunk(b"IDAT", b"x\x9cc\xf8\x0f\x00\x01\x01\x01\x00")
    + _chunk(b"IEND", b"")
)


def zipped(members: dict[str, bytes]) -> bytes:
    """Return a ZIP with these members."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
DOCX = zipped(
    {
        "[Content_Types].xml": f'<Types><Override ContentType="{_TYPE}"/></Types>'.encode(),
        "word/document.xml": b"<document/>",
    }
)
ODT = zipped({"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": b"<content/>"})


def _sector(data: bytes) -> bytes:
    return data.ljust(512, b"\0")


def _entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
    written = name.encode("utf-16-le") + b"\0\0" if name else b""
    ids = pack("<III", 0xFFFFFFFF, 0xFFFFFFFF, child)
    return (
        written.ljust(64, b"\0")
        + pack("<HBB", len(written), kind, 1)
        + ids
        + bytes(36)
        + pack("<IQ", start, size)
    )


def ole(stream: str) -> bytes:
    """Return an OLE2 file with one stream of 4,096 bytes."""
    header = (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
        + bytes(16)
        + pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6)
        + bytes(6)
        + pack("<IIIII", 0, 1, 1, 0, 4096)
        + pack("<IIII", 0xFFFFFFFE, 0, 0xFFFFFFFE, 0)
        + pack("<I", 0)
        + b"\xff" * 432
    )
    ends = [0xFFFFFFFD, 0xFFFFFFFE, *range(3, 10), 0xFFFFFFFE]
    table = b"".join(pack("<I", each) for each in ends).ljust(512, b"\xff")
    directory = _sector(
        _entry("Root Entry", 5, 1, 0xFFFFFFFE, 0) + _entry(stream, 2, 0xFFFFFFFF, 2, 4096)
    )
    return header + table + directory + bytes(4096)


DOC = ole("WordDocument")
ALL = {
    "PDF": PDF,
    "DOC": DOC,
    "DOCX": DOCX,
    "ODT": ODT,
    "RTF": RTF,
    "TXT": TXT,
    "JPEG": JPEG,
    "PNG": PNG,
}


def storages_in(folder: Path) -> dict[str, Any]:
    """Return STORAGES that keep attachments in a folder."""
    entry = {
        "BACKEND": "django.core.files.storage.FileSystemStorage",
        "OPTIONS": {"location": str(folder)},
    }
    return settings.STORAGES | {"attachments": entry}


@pytest.fixture
def attachment_folder(tmp_path: Path, settings: Any) -> Path:
    """Keep attachments, and the list of removed ones, in a folder of this test."""
    folder = tmp_path / "attachments"
    settings.STORAGES = storages_in(folder)
    settings.ATTACHMENT_REMOVALS_FILE = tmp_path / "removed.jsonl"
    return folder


def objects_in(folder: Path) -> list[Path]:
    """Return the stored objects."""
    return sorted(each for each in folder.rglob("*") if each.is_file())
