"""The report of an import as a file: every row that was not taken in, and why."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.exports.formats import csv_lines, in_pieces
from pipeline.imports.progress import SeenImport, refused_rows

# The file can be mended and imported once more: two of its columns are those of an import.
COLUMNS = ("row", "name", "email", "reason")
# About how many characters go out at a time.
PIECE = 64 * 1_024


def report_of(seen: SeenImport) -> Iterator[bytes]:
    """Return the report as CSV, in UTF-8.

    With the byte order mark by which spreadsheets know it.
    """
    yield b"\xef\xbb\xbf"
    lines = csv_lines(COLUMNS, refused_rows(seen))
    yield from in_pieces(lines, characters=PIECE, first_at_once=False)
