"""Whole lines and logs as text: CSV for spreadsheets, JSON lines for programs.

The same code makes files that are streamed to a browser and files made in the background. Only one
batch of rows is held in memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.text import slugify

from jobs.models import Job
from pipeline.exports.rows import (
    APPLICATION_COLUMNS,
    exported_rows_of_applications,
    exported_rows_of_log,
)
from pipeline.line.event_log import exported_log_row, logged_time

LOG_COLUMNS = (
    "seq",
    "at",
    "effective_at",
    "event",
    "application",
    "from_status",
    "to_status",
    "outcome",
    "actor_kind",
    "actor_id",
    "cause_seq",
    "policy_version",
    "data",
    "prev_hash",
    "hash",
)
# The content type and extension of each format.
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}
# From this number of events on, pages offer to prepare the file in the background.
LONG_LOG = 5_000

Row = dict[str, Any]


def formatted_lines(job: Job, what: str, format: str) -> Iterator[str]:
    """Return the lines of `applications` or `log`, as `csv` or `jsonl`, each with its end.

    All lines are as of one instant: the log up to the head in `job`, the applications when the
    first line is read. The first line of CSV names the columns. The log is for programs, so it has
    no byte order mark. Raises KeyError for anything else.
    """
    if not is_known_format(what, format):
        raise KeyError(f"{what}.{format}")
    columns, rows = _ROWS[what]
    if format == "csv":
        return formatted_csv_lines(columns, rows(job), for_people=what != "log")
    texts = (
        json.dumps(row, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
        for row in rows(job)
    )
    return (f"{text}\n" for text in texts)


def is_known_format(what: str, format: str) -> bool:
    """Return True if there is such a file."""
    return what in _ROWS and format in TYPES


def formatted_file_name(job: Job, what: str, format: str) -> str:
    """Return a file's name: the job's title, the content and the time, in ASCII letters."""
    title = slugify(job.posting.title)[:60] or "job"
    return f"{title}-{what}-{timezone.localtime():%Y-%m-%d-%H%M}.{format}"


def formatted_pieces(
    lines: Iterable[str], *, characters: int, first_at_once: bool
) -> Iterator[bytes]:
    """Join lines into pieces of about `size` characters. No line is split.

    `first_at_once` yields the first line alone, as an early sign that the download has started.
    """
    piece: list[str] = []
    size = characters if first_at_once else 0
    for line in lines:
        piece.append(line)
        size += len(line)
        if size >= characters:
            yield "".join(piece).encode()
            piece, size = [], 0
    if piece:
        yield "".join(piece).encode()


# Spreadsheets know by this that a file is in UTF-8. Without it, Excel shows "Zoë" as "ZoÃ«".
BYTE_ORDER_MARK = "\ufeff"

# A spreadsheet may split a line at another separator than ours: Excel at semicolons in most of
# Europe. So a formula can begin after any of them, even behind blanks and quotation marks.
# Full-width signs are read like the plain ones. Each apostrophe before a sign counts, so that one
# can be added and removed again whatever the text.
_FORMULA = "'*[\\s\"]*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
_FORMULAS = re.compile(f"(?:^|(?<=[,;|\t\r\n]))(?={_FORMULA})")
_DEFUSED_FORMULAS = re.compile(f"(?:^|(?<=[,;|\t\r\n]))'(?={_FORMULA})")


def formatted_csv_lines(
    columns: tuple[str, ...], rows: Iterable[Row], *, for_people: bool = True
) -> Iterator[str]:
    """Yield rows as RFC 4180 CSV. The first line names the columns.

    A file `for_people` begins with the byte order mark.
    """
    yield f"{BYTE_ORDER_MARK if for_people else ''}{','.join(columns)}\r\n"
    for row in rows:
        yield ",".join(formatted_csv_cell(row[name]) for name in columns) + "\r\n"


def formatted_csv_cell(value: Any) -> str:
    """Return a cell as it stands in the file. Text is quoted, and no spreadsheet runs it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, dict):
        value = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    text = defused_csv_text(str(value)).replace('"', '""')
    return f'"{text}"'


def defused_csv_text(text: str) -> str:
    """Return a text with an apostrophe wherever a spreadsheet could begin a formula."""
    return _FORMULAS.sub("'", text)


def undo_defused_csv_text(text: str) -> str:
    """Return the text that `defused_csv_text` was given, to import what was exported."""
    return _DEFUSED_FORMULAS.sub("", text)


def _format_applications(job: Job) -> Iterator[Row]:
    for row in exported_rows_of_applications(job.id):
        values = [logged_time(value) if isinstance(value, datetime) else value for value in row]
        plain = [str(value) if isinstance(value, UUID) else value for value in values]
        yield dict(zip(APPLICATION_COLUMNS, plain, strict=True))


def _format_log(job: Job) -> Iterator[Row]:
    return map(exported_log_row, exported_rows_of_log(job.id, job.seq))


_ROWS: dict[str, tuple[tuple[str, ...], Callable[[Job], Iterator[Row]]]] = {
    "applications": (APPLICATION_COLUMNS, _format_applications),
    "log": (LOG_COLUMNS, _format_log),
}
