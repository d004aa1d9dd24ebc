"""Parser of CSV files of people to import. Stores nothing."""

from __future__ import annotations

import csv
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator

from applicants.addresses import normal_address
from applicants.models import NAME_LENGTH
from pipeline.domain.errors import ImportFileRefused
from pipeline.exports.formats import undo_defused_csv_text
from pipeline.imports.rows import ImportRow, Refusal

MOST_BYTES = 16 * 2**20
MOST_ROWS = 100_000
MOST_LINES = 1_000_000  # blank ones included
LONGEST_LINE = 2**16
LONGEST_KEPT_ADDRESS = 320  # anything longer is not an address; this much of it is reported
NAMES = {"name", "full name"}
EMAILS = {"email", "e-mail", "email address", "e-mail address"}

_DELIMITERS = ",;\t"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_HOW = "The first line must name the columns: name,email."
_NOT_TEXT = (
    "This is not a text file in UTF-8. In your spreadsheet, save the sheet as “CSV UTF-8” and"
    " choose that file."
)


def read_csv_rows(content: Iterable[bytes]) -> Iterator[ImportRow]:
    """Yield the rows of a CSV file in order, without blank ones.

    Raises ImportFileRefused if the file as a whole cannot be read, possibly after some rows.
    """
    seen: set[str] = set()
    for number, name, email in _csv_cells(_csv_lines(_csv_texts(content))):
        refusal = _csv_row_refusal(name, email, seen)
        if refusal is None:
            seen.add(email)
        kept_name = _CONTROL.sub(" ", name)[:NAME_LENGTH]
        kept_email = _CONTROL.sub(" ", email)[:LONGEST_KEPT_ADDRESS]
        yield ImportRow(number, kept_name, kept_email, refusal)


def check_csv_size(size: int) -> None:
    """Refuse a file that is too large. Raises ImportFileRefused."""
    if size > MOST_BYTES:
        megabytes = MOST_BYTES // 2**20
        raise ImportFileRefused(
            what=f"The file is larger than {megabytes} MB. Split it into smaller files."
        )


def check_csv_start(start: bytes) -> None:
    """Check that a file starts as text with known columns. Raises ImportFileRefused."""
    decoder = getincrementaldecoder("utf-8-sig")()
    _csv_columns(next(_csv_lines([_csv_text(decoder, start[:LONGEST_LINE])]), ""))


def _csv_row_refusal(name: str, email: str, seen: set[str]) -> Refusal | None:
    if not name:
        return Refusal.NO_NAME
    if len(name) > NAME_LENGTH:
        return Refusal.NAME_TOO_LONG
    if _CONTROL.search(name):
        return Refusal.BAD_NAME
    if not email:
        return Refusal.NO_EMAIL
    if len(email) > LONGEST_KEPT_ADDRESS or _CONTROL.search(email):
        return Refusal.BAD_EMAIL
    return Refusal.DUPLICATE if email in seen else None


def _csv_cells(lines: Iterator[str]) -> Iterator[tuple[int, str, str]]:
    """Yield the number, name and address of each row that is not blank."""
    delimiter, name_at, email_at = _csv_columns(next(lines, ""))
    number, found = 1, 0
    try:
        for row in csv.reader(lines, delimiter=delimiter, strict=True):
            number += 1
            if number > MOST_LINES:
                raise ImportFileRefused(what="The file has too many blank lines. Remove them.")
            if not any(cell.strip() for cell in row):
                continue
            found += 1
            if found > MOST_ROWS:
                raise ImportFileRefused(
                    what=f"The file has more than {MOST_ROWS:,} rows. Split it into smaller files."
                )
            yield number, _csv_cell(row, name_at), normal_address(_csv_cell(row, email_at))
    except csv.Error:
        quotes = "a quotation mark is misplaced or never closed"
        raise ImportFileRefused(what=f"Row {number + 1:,} cannot be read: {quotes}.") from None
    if not found:
        raise ImportFileRefused(what="The file has no rows below the column names.")


def _csv_cell(row: list[str], at: int) -> str:
    return undo_defused_csv_text(row[at].strip()).strip() if at < len(row) else ""


def _csv_columns(header: str) -> tuple[str, int, int]:
    """Return the delimiter, and the positions of name and address."""
    if not header.strip():
        raise ImportFileRefused(what=f"The file is empty. {_HOW}")
    for delimiter in _DELIMITERS:
        try:
            row = next(csv.reader([header], delimiter=delimiter, strict=True), [])
        except csv.Error:
            continue
        cells = [cell.strip().lower() for cell in row]
        emails = [at for at, cell in enumerate(cells) if cell in EMAILS]
        names = [at for at, cell in enumerate(cells) if cell in NAMES]
        if len(emails) == 1 and len(names) == 1:
            return delimiter, names[0], emails[0]
        if len(emails) > 1 or len(names) > 1:
            raise ImportFileRefused(what="The first line names a column twice. Keep one of them.")
        if emails or (names and len(cells) > 1):
            missing = "name" if emails else "email"
            raise ImportFileRefused(what=f"The file has no column “{missing}”. {_HOW}")
    raise ImportFileRefused(what=f"The first line names no known columns. {_HOW}")


def _csv_lines(texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a text, each with its end: LF, CR LF or CR."""
    kept = ""
    for text in texts:
        *lines, kept = re.split(r"(?<=\n)|(?<=\r)(?!\n|$)", kept + text)
        yield from lines
        if len(kept) > LONGEST_LINE:
            raise ImportFileRefused(what=f"A line of the file does not end. {_HOW}")
    if kept:
        yield kept


def _csv_texts(content: Iterable[bytes]) -> Iterator[str]:
    decoder, size = getincrementaldecoder("utf-8-sig")(), 0
    for piece in content:
        size += len(piece)
        check_csv_size(size)
        yield _csv_text(decoder, piece)
    yield _csv_text(decoder, b"", final=True)


def _csv_text(decoder: object, piece: bytes, *, final: bool = False) -> str:
    try:
        text: str = decoder.decode(piece, final)  # type: ignore[attr-defined]  # has no public type
    except UnicodeDecodeError:
        raise ImportFileRefused(what=_NOT_TEXT) from None
    if "\0" in text:
        raise ImportFileRefused(what=_NOT_TEXT)
    return text
