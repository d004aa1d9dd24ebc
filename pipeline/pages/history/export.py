"""Whole lines and logs as files: CSV for spreadsheets, JSON lines for programs. Streamed."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, StreamingHttpResponse
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.http import require_safe

from jobs.models import Job
from pipeline.line.log import canonical, stamp
from pipeline.models import Event
from pipeline.pages.access import for_members, own_job
from pipeline.selectors.export import APPLICATION_COLUMNS, applications_to, log_until

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
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}
PIECE = 64 * 1_024
"""About how many characters go out at a time."""

Row = dict[str, Any]


@require_safe
@for_members()
def export(request: HttpRequest, job_id: UUID, what: str, format: str) -> StreamingHttpResponse:
    """`applications` or `log`, as `csv` or `jsonl`, of one instant; 404 for anything else."""
    _, job = own_job(request, job_id)
    if what not in _ROWS or format not in TYPES:
        raise Http404
    columns, rows = _ROWS[what]
    lines = _csv(columns, rows(job)) if format == "csv" else _jsonl(rows(job))
    response = StreamingHttpResponse(_in_pieces(lines), content_type=TYPES[format])
    response["Content-Disposition"] = f'attachment; filename="{_name(job, what, format)}"'
    response["Cache-Control"] = "private, no-store"
    return response


def _name(job: Job, what: str, format: str) -> str:
    title = slugify(job.posting.title)[:60] or "job"
    return f"{title}-{what}-{timezone.localtime():%Y-%m-%d-%H%M}.{format}"


def _applications(job: Job) -> Iterator[Row]:
    for row in applications_to(job.id):
        yield {name: _plain(value) for name, value in zip(APPLICATION_COLUMNS, row, strict=True)}


def _log(job: Job) -> Iterator[Row]:
    return (_event(event) for event in log_until(job.id, job.seq))


def _event(event: Event) -> Row:
    """What the hash covers, exactly as it covers it, and the two hashes."""
    hashes = {"prev_hash": bytes(event.prev_hash).hex(), "hash": bytes(event.hash).hex()}
    return json.loads(canonical(event)) | hashes


_ROWS: dict[str, tuple[tuple[str, ...], Callable[[Job], Iterator[Row]]]] = {
    "applications": (APPLICATION_COLUMNS, _applications),
    "log": (LOG_COLUMNS, _log),
}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return stamp(value)
    return str(value) if isinstance(value, UUID) else value


def _jsonl(rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"


class _Line:
    """What csv writes to: gives back each line."""

    def write(self, line: str) -> str:
        return line


def _csv(columns: tuple[str, ...], rows: Iterable[Row]) -> Iterator[str]:
    """RFC 4180: lines end with CR LF, quotes are doubled, the first line names the columns."""
    writer = csv.writer(_Line())
    yield writer.writerow(columns)
    for row in rows:
        yield writer.writerow([_cell(row[name]) for name in columns])


def _cell(value: Any) -> Any:
    """A value as a spreadsheet shows it, and never runs it: text that a spreadsheet would take for
    a formula gets an apostrophe in front."""
    if isinstance(value, dict):
        value = json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
    if isinstance(value, str) and value.lstrip(" ").startswith(
        ("=", "+", "-", "@", "\t", "\r", "\n")
    ):
        return f"'{value}"
    return value


def _in_pieces(lines: Iterable[str]) -> Iterator[bytes]:
    """The lines in pieces that are worth sending; the first line at once."""
    piece: list[str] = []
    size = PIECE
    for line in lines:
        piece.append(line)
        size += len(line)
        if size >= PIECE:
            yield "".join(piece).encode()
            piece, size = [], 0
    yield "".join(piece).encode()
