"""Kinds of files that applicants may send, found by content. Names and declared types say nothing.

The two kinds of office documents in a ZIP are opened, so that no other archive passes for one.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from struct import Struct
from typing import IO
from zipfile import ZipFile

import olefile
from django.utils.translation import gettext_lazy as _

from pipeline.domain.errors import FileKindRefused


@dataclass(frozen=True, slots=True)
class Kind:
    """Kind of file: its name for people, media type, usual ending, and how pages show it."""

    name: str
    content_type: str
    ending: str
    shown_as: str = ""  # picture, pages or text; nothing for files that are only downloaded


PDF = Kind("PDF", "application/pdf", "pdf", "pages")
DOC = Kind("DOC", "application/msword", "doc")
DOCX = Kind(
    "DOCX", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"
)
ODT = Kind("ODT", "application/vnd.oasis.opendocument.text", "odt")
RTF = Kind("RTF", "application/rtf", "rtf")
TXT = Kind("TXT", "text/plain", "txt", "text")
JPEG = Kind("JPEG", "image/jpeg", "jpg", "picture")
PNG = Kind("PNG", "image/png", "png", "picture")
ALL = (PDF, DOC, DOCX, ODT, RTF, TXT, JPEG, PNG)
NAMES = tuple(kind.name for kind in ALL)
BY_CONTENT_TYPE = {kind.content_type: kind for kind in ALL}


def accepted(names: Collection[str] = ()) -> str:
    """Return `accept` of a file input, for these kinds or all: a hint, which checks nothing."""
    taken = [kind for kind in ALL if not names or kind.name in names]
    pictures = [kind.content_type for kind in taken if kind.shown_as == "picture"]
    more = [".jpeg"] if JPEG in taken else []
    return ",".join([*(f".{kind.ending}" for kind in taken), *more, *pictures])


_BEGINNINGS = (
    (b"%PDF-", PDF),
    (b"{\\rtf", RTF),
    (b"\xff\xd8\xff", JPEG),
    (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", PNG),
)
_LONGEST_BEGINNING = 16
_PIECE = 2**16

# A directory of a ZIP that is read whole: larger ones belong to no document of a person.
_MOST_ENTRIES, _MOST_DIRECTORY_BYTES = 5_000, 2**20
_MOST_MEMBER_BYTES = 2**20
_ZIP_END = Struct("<4s4H2LH")
_WORD = b"wordprocessingml.document.main+xml"

_CONTROL = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)

EMPTY = _("The file is empty. Choose another one.")
UNKNOWN = _(
    "This kind of file is not accepted. Send a PDF, DOC, DOCX, ODT, RTF or TXT file, or a JPEG or"
    " PNG picture."
)


def detect(file: IO[bytes]) -> Kind:
    """Return the kind of a file, from its content alone. Raises FileKindRefused."""
    file.seek(0)
    beginning = file.read(_LONGEST_BEGINNING)
    if not beginning:
        raise FileKindRefused(why=str(EMPTY))
    for known, kind in _BEGINNINGS:
        if beginning.startswith(known):
            return kind
    checks: tuple[tuple[bytes, Callable[[IO[bytes]], Kind | None]], ...] = (
        (b"PK\x03\x04", _find_in_zip),
        (olefile.MAGIC, _find_in_ole),
        (b"", _find_text),
    )
    find = next(check for magic, check in checks if beginning.startswith(magic))
    file.seek(0)
    if found := find(file):
        return found
    raise FileKindRefused(why=str(UNKNOWN))


def _find_in_zip(file: IO[bytes]) -> Kind | None:
    if not _has_small_directory(file):
        return None
    try:
        with ZipFile(file) as archive:
            names = set(archive.namelist())
            if (
                "mimetype" in names
                and _read_member(archive, "mimetype") == ODT.content_type.encode()
            ):
                return ODT
            types = "[Content_Types].xml"
            if types in names and _WORD in _read_member(archive, types):
                return DOCX
    except Exception:  # the library and its decompressors raise anything for damaged archives
        return None
    return None


def _has_small_directory(file: IO[bytes]) -> bool:
    """Tell whether the directory at a ZIP's end is one that can be read into memory."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 2 * _ZIP_END.size - 2**16))
    end = file.read()
    place = end.rfind(b"PK\x05\x06")
    # Before it may stand the larger numbers of ZIP64, which no small file needs.
    if place < 0 or len(end) - place < _ZIP_END.size or b"PK\x06\x07" in end[:place][-20:]:
        return False
    _, _, _, _, entries, directory_bytes, _, _ = _ZIP_END.unpack_from(end, place)
    return 0 < entries <= _MOST_ENTRIES and directory_bytes <= _MOST_DIRECTORY_BYTES


def _read_member(archive: ZipFile, name: str) -> bytes:
    with archive.open(name) as member:
        return member.read(_MOST_MEMBER_BYTES)


def _find_in_ole(file: IO[bytes]) -> Kind | None:
    try:
        with olefile.OleFileIO(file) as document:
            return DOC if document.exists("WordDocument") else None
    except Exception:  # the library raises anything for damaged files
        return None


def _find_text(file: IO[bytes]) -> Kind | None:
    """Return TXT for text in UTF-8, or in UTF-16 with its mark, that is no markup.

    Markup can run scripts if anything shows it as a page, so it is not taken as text.
    """
    beginning = file.read(4)
    file.seek(0)
    encoding = next((name for mark, name in _BOMS if beginning.startswith(mark)), "utf-8")
    decoder = codecs.getincrementaldecoder(encoding)()
    has_begun = False
    try:
        while piece := file.read(_PIECE):
            text = decoder.decode(piece)
            if _CONTROL.search(text):
                return None
            if not has_begun and (visible := text.lstrip("\ufeff \t\r\n\f\v")):
                if visible.startswith("<"):
                    return None
                has_begun = True
        decoder.decode(b"", final=True)
    except UnicodeError:
        return None
    return TXT if has_begun else None
