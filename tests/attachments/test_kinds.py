"""Kinds of files: found by content, whatever their name says."""

from __future__ import annotations

import io
from struct import pack
from zipfile import ZIP_BZIP2, ZIP_DEFLATED, ZIP_LZMA, ZipFile

import pytest

from pipeline.attachments import kinds
from pipeline.domain.errors import FileKindRefused
from tests.support import documents
from tests.support.documents import zipped

_MACRO = b"application/vnd.ms-word.document.macroEnabled.main+xml"


def damaged(method: int) -> bytes:
    """A ZIP whose compressed bytes cannot be decompressed."""
    made = io.BytesIO()
    with ZipFile(made, "w", method) as archive:
        archive.writestr("[Content_Types].xml", bytes(2_000))
    content = bytearray(made.getvalue())
    begin = 30 + len("[Content_Types].xml")
    end = content.index(b"PK\x01\x02")
    content[begin:end] = b"\xff" * (end - begin)
    return bytes(content)


def detect(content: bytes) -> str:
    return kinds.detect(io.BytesIO(content)).name


@pytest.mark.parametrize("name", documents.ALL)
def test_each_kind_is_found_by_its_content(name: str) -> None:
    assert detect(documents.ALL[name]) == name


@pytest.mark.parametrize(
    "text",
    ["A CV", "\ufeffA CV with a mark", "Page one\f page two", "x" * 100_000 + "ü", "Ελλάδα"],
)
def test_text_in_utf_8_and_in_utf_16_with_its_mark_is_text(text: str) -> None:
    assert detect(text.encode()) == "TXT"
    assert detect(text.encode("utf-16")) == "TXT"


@pytest.mark.parametrize(
    "content",
    [
        b"<html><script>alert(1)</script>",
        b" \r\n\t<!DOCTYPE html>",
        "\ufeff<svg xmlns='http://www.w3.org/2000/svg'>".encode(),
        "<svg/>".encode("utf-16"),
        b"<?xml version='1.0'?><svg/>",
        b"GIF89a\x01\x00",
        b"MZ\x90\x00",
        b"\x7fELF",
        b"text with a \x00 byte",
        "Grüße".encode("latin1"),
        b"cut off \xc3",
        b"   \n",
        b"PK\x03\x04 no archive",
        zipped({"a.txt": b"a"}),
        zipped({"[Content_Types].xml": _MACRO, "word/document.xml": b""}),
        zipped({"[Content_Types].xml": b"spreadsheetml.sheet.main+xml"}),
        zipped({"mimetype": b"application/vnd.oasis.opendocument.spreadsheet"}),
        documents.ole("Workbook"),
        documents.DOC[:700],
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        b"\x89PNG\r\n\x1a\n",
        *(damaged(method) for method in (ZIP_DEFLATED, ZIP_BZIP2, ZIP_LZMA)),
    ],
)
def test_other_files_are_refused(content: bytes) -> None:
    with pytest.raises(FileKindRefused, match="is not accepted"):
        detect(content)


def test_an_empty_file_is_refused() -> None:
    with pytest.raises(FileKindRefused, match="is empty"):
        detect(b"")


@pytest.mark.parametrize(("entries", "size"), [(60_000, 100), (2, 2**21)])
def test_a_zip_with_a_huge_directory_is_not_read(
    entries: int, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kinds, "ZipFile", lambda _: pytest.fail("the directory was read"))
    end = b"PK\x05\x06" + pack("<4H2LH", 0, 0, entries, entries, size, 0, 0)

    with pytest.raises(FileKindRefused):
        detect(documents.DOCX[:-22] + end)


def test_a_zip_that_hides_its_numbers_in_zip64_is_not_read() -> None:
    end = documents.DOCX[-22:]
    hidden = documents.DOCX[:-22] + b"PK\x06\x07" + bytes(16) + end

    with pytest.raises(FileKindRefused):
        detect(hidden)
