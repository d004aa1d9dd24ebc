"""Reading of uploaded CSV files into rows."""

from __future__ import annotations

import codecs
import csv
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import chain, islice
from types import MappingProxyType
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from applicants.addresses import lower_case_address
from pipeline.domain.errors import ImportFileRefused
from pipeline.files.imports.answers import current_form, titles_of
from pipeline.files.imports.columns import (
    HOW,
    MOST_TOP_LINES,
    Columns,
    extract_address,
    find_columns,
    read_cell,
)
from pipeline.files.imports.rows import ImportRow, RowReader
from pipeline.files.stored import write_parts
from pipeline.models import ImportRun, StoredPart

MOST_BYTES = 16 * 2**20
MOST_ROWS = 100_000
MOST_LINES = 1_000_000  # blank ones included
LONGEST_LINE = 2**16

# Encodings that a file names by its first bytes. The longer marks come first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_SAVE = gettext_lazy("In your spreadsheet, save the sheet as “CSV UTF-8” and choose that file.")
_NOT_TEXT = gettext_lazy("This is not a text file in UTF-8.")


def open_csv(
    content: Iterable[bytes], questions: Mapping[str, str] = MappingProxyType({})
) -> tuple[Columns, Iterator[ImportRow]]:
    """Return the columns of a CSV file, and its rows in order, without blank ones.

    `questions` as in `find_columns`.

    Raises ImportFileRefused if the file as a whole cannot be read, possibly after some rows.
    """
    lines = _csv_lines(_csv_texts(content))
    top = list(islice(lines, MOST_TOP_LINES))
    columns, taken = find_columns(top, questions)
    return columns, _csv_rows(columns, chain(top[taken:], lines))


def read_csv_rows(content: Iterable[bytes]) -> Iterator[ImportRow]:
    """Yield the rows of `open_csv`. Raises ImportFileRefused."""
    yield from open_csv(content)[1]


def check_csv_size(size: int) -> None:
    """Refuse a file that is too large. Raises ImportFileRefused."""
    if size > MOST_BYTES:
        megabytes = MOST_BYTES // 2**20
        why = _("The file is larger than {megabytes} MB. Split it into smaller files.")
        raise ImportFileRefused(what=why.format(megabytes=megabytes))


def check_csv_start(start: bytes) -> None:
    """Check that a file starts as text with known columns. Raises ImportFileRefused."""
    texts = _csv_texts([start[:LONGEST_LINE]], whole=False)
    find_columns(list(islice(_csv_lines(texts), MOST_TOP_LINES)))


def csv_encoding(start: bytes) -> str:
    """Return the encoding of a file, by its first four bytes: UTF-8 unless a mark says otherwise.

    Encodings with one byte per letter are never guessed, since a wrong guess is a wrong name.
    """
    return next((name for mark, name in _MARKS if start.startswith(mark)), "utf-8-sig")


def _csv_rows(columns: Columns, lines: Iterator[str]) -> Iterator[ImportRow]:
    reader, number, found = RowReader(), columns.row, 0
    for cells in _csv_records(columns, lines):
        number += 1
        if number > MOST_LINES:
            raise ImportFileRefused(what=_("The file has too many blank lines. Remove them."))
        if not any(cell.strip() for cell in cells):
            continue
        found += 1
        if found > MOST_ROWS:
            why = _("The file has more than {rows:,} rows. Split it into smaller files.")
            raise ImportFileRefused(what=why.format(rows=MOST_ROWS))
        own_id, source = columns.external_id, columns.source
        yield reader.read_row(
            number,
            columns.name_in(cells),
            extract_address(read_cell(cells, columns.email)),
            "" if own_id is None else read_cell(cells, own_id),
            answers=columns.answers_in(cells),
            source="" if source is None else read_cell(cells, source),
        )
    if not found:
        raise ImportFileRefused(what=_("The file has no rows below the column names."))


def _csv_records(columns: Columns, lines: Iterator[str]) -> Iterator[list[str]]:
    """Yield the cells of each row. Raises ImportFileRefused, naming an unreadable cell."""
    record: list[str] = []  # the lines of the row, for the error

    def noted_lines() -> Iterator[str]:
        for line in lines:
            record.append(line)
            yield line

    number = columns.row
    try:
        for cells in csv.reader(noted_lines(), delimiter=columns.delimiter, strict=True):
            yield cells
            number += 1
            record.clear()
    except csv.Error:
        at, trouble = _unreadable_cell("".join(record), columns.delimiter)
        known = at < len(columns.titles) and columns.titles[at].strip()[:40]
        column = f"“{known}”" if known else f"{at + 1}"
        where = _("Row {row:,}, column {column}:").format(row=number + 1, column=column)
        raise ImportFileRefused(what=f"{where} {trouble}") from None


def _unreadable_cell(record: str, delimiter: str) -> tuple[int, str]:
    """Return the position of the first cell whose quotation marks are wrong, and the cure."""
    at = start = 0
    while start < len(record):
        if record[start] == '"':
            end = re.compile(r'(?:[^"]|"")*+"').match(record, start + 1)
            if end is None:
                break
            follows = record[end.end() : end.end() + 1]
            if follows not in (delimiter, "\r", "\n", ""):
                if record[end.end() - 2] == "\\":
                    return at, _(
                        'a quotation mark is written as \\", as MySQL does. Export the file with'
                        ' doubled quotation marks ("").'
                    )
                return at, _(
                    'a quotation mark inside the cell is not doubled. Write it twice (""), and put'
                    " the whole cell in quotation marks."
                )
            start = end.end()
        else:
            while start < len(record) and record[start] != delimiter:
                start += 1
        start, at = start + 1, at + 1
    return at, _(
        "a quotation mark at the start of the cell is never closed. Close it, or remove it."
    )


def _csv_lines(texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a text, each with its end: LF, CR LF or CR."""
    kept = ""
    for text in texts:
        *lines, kept = re.split(r"(?<=\n)|(?<=\r)(?!\n|$)", kept + text)
        yield from lines
        if len(kept) > LONGEST_LINE:
            why = _("A line of the file does not end.")
            raise ImportFileRefused(what=f"{why} {HOW}")
    if kept:
        yield kept


def _csv_texts(content: Iterable[bytes], *, whole: bool = True) -> Iterator[str]:
    """Decode a file, or its start if not `whole`. Raises ImportFileRefused."""
    pieces, start = iter(content), b""
    while len(start) < 4 and (piece := next(pieces, None)) is not None:
        start += piece
    if start.startswith(_WORKBOOKS):
        why = _("This is a workbook, not a text file in UTF-8.")
        raise ImportFileRefused(what=f"{why} {_SAVE}")
    decoder, size, line = getincrementaldecoder(csv_encoding(start))(), 0, 1
    for piece in chain([start], pieces, [b""]):
        size += len(piece)
        check_csv_size(size)
        try:
            text: str = decoder.decode(piece, whole and not piece)
        except UnicodeDecodeError as error:
            line += error.object[: error.start].count(b"\n")
            why = _likely_encoding(line, error.object[error.start :])
            raise ImportFileRefused(what=f"{why} {_SAVE}") from None
        if "\0" in text:
            raise ImportFileRefused(what=f"{_NOT_TEXT} {_SAVE}")
        line += text.count("\n")
        yield text


def _likely_encoding(line: int, undecodable: bytes) -> str:
    likely = "Mac Roman" if undecodable[:1] < b"\xa0" else "Windows-1252"
    why = _(
        "This is not a text file in UTF-8: in line %(line)s, a letter is in another encoding,"
        " probably %(likely)s."
    )
    return why % {"line": f"{line:,}", "likely": likely}


# Reading of a stored file by a worker: rows replace the file's bytes.


# The fewest rows in a part, which stays small even with the longest names.
ROWS_IN_PART = 100
PARTS_AT_ONCE = 20
# Quotes of a cell, or of the part before the @; the same mailbox may be written without.
_QUOTING = str.maketrans("", "", '"\\')


def read_file(run: ImportRun) -> None:
    """Turn the bytes of an import's file into rows, once. End the import if that is impossible.

    The current transaction must have locked the import.
    """
    if run.is_read:
        return
    file, raw = run.file, StoredPart.objects.filter(file_id=run.file_id, number__lt=0)
    try:
        _number, questions = current_form(file.job_id)
        columns, rows = open_csv(_unread_bytes(file.id), titles_of(questions))
        file.rows, file.size_bytes = store_rows(file.id, rows)
    except ImportFileRefused as error:
        StoredPart.objects.filter(file_id=file.id).delete()
        ImportRun.objects.filter(file_id=file.id).update(
            is_read=True,
            trouble=str(error)[:300],
            ending=ImportRun.Ending.BAD_FILE,
            finished_at=Now(),
        )
    else:
        raw.delete()
        file.content_type = "application/jsonl"
        file.save(update_fields=["rows", "size_bytes", "content_type"])
        ImportRun.objects.filter(file_id=file.id).update(
            is_read=True, total_rows=file.rows, columns=columns.described()
        )
    run.refresh_from_db()


def unread_runs() -> QuerySet[ImportRun]:
    """Return the imports that no worker has read yet, small files first."""
    return ImportRun.objects.filter(is_read=False).order_by("file__size_bytes", "file_id")


def unread_file_may_hold(run: ImportRun, address: str) -> bool:
    """Tell whether an unread file may contain an address, given in its normal form, in any form.

    Searches only for the part before the @: a domain has more forms than can be listed.
    """
    content = b"".join(_unread_bytes(run.file_id))
    text = content.decode(csv_encoding(content[:4]), errors="replace")
    whole = lower_case_address(text).translate(_QUOTING)
    return f"{address.rpartition('@')[0].translate(_QUOTING)}@" in whole


def read_unread_rows(run: ImportRun) -> Iterator[ImportRow]:
    """Yield the rows of a file as they will be imported, up to the first unreadable place."""
    with suppress(ImportFileRefused):
        yield from read_csv_rows(_unread_bytes(run.file_id))


def _unread_bytes(file_id: UUID) -> Iterator[bytes]:
    """Yield a stored file's bytes, one part in memory at a time."""
    parts = StoredPart.objects.filter(file_id=file_id, number__lt=0).order_by("number")
    last: int | None = None
    while part := (parts if last is None else parts.filter(number__gt=last)).first():
        yield bytes(part.data)
        last = part.number


def store_rows(file_id: UUID, rows: Iterable[ImportRow]) -> tuple[int, int]:
    """Store the rows in parts, and return the numbers of rows and bytes."""
    parts: list[tuple[int, bytes]] = []
    count = number = size = 0
    rows = iter(rows)
    while some := list(islice(rows, ROWS_IN_PART)):
        data = b"".join(row.as_line() for row in some)
        parts.append((number, data))
        count, number, size = count + len(some), number + 1, size + len(data)
        if len(parts) == PARTS_AT_ONCE:
            write_parts(file_id, parts)
            parts.clear()
    write_parts(file_id, parts)
    return count, size
