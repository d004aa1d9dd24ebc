"""Exports of whole lines and logs: rows, formats, files and task.

Nothing here holds a transaction open while a slow client reads. Only one batch is held in memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, Literal
from uuid import NAMESPACE_OID, UUID, uuid5

from django.db import transaction
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from applicants.models import ERASED
from jobs import activity
from jobs.models import Job
from pipeline.database.replica import reads_replica
from pipeline.domain.errors import FilesFull, JobNotFound, LogArchived, StoredFileNotFound
from pipeline.domain.place import PUBLISHED
from pipeline.files import stored
from pipeline.files.stored import FileWriter
from pipeline.form.questions import Answers
from pipeline.form.versions import all_questions
from pipeline.line import removed_logs
from pipeline.line.event_log import exported_row, logged_time
from pipeline.models import Application, Event, StoredFile
from pipeline.selectors.jobs import read_job
from tasks.context import Context
from tasks.errors import Fatal, Retry
from tasks.listen import listener_session
from tasks.registry import task_type

# Before the key of a question, in the name of its column.
EXPORTED = activity.declare(
    "export.downloaded",
    activity.Group.FILES,
    _("Downloaded everyone or the log of a job: %(what)s"),
)
FILE_DOWNLOADED = activity.declare(
    "file.downloaded", activity.Group.FILES, _("Downloaded a file that was made for the company")
)


def note_export(job: Job, *, by: UUID, what: str) -> None:
    """Note for the owners that someone downloads everyone, or the log, of a job.

    After the caller's transaction, which may only read.
    """
    facts: dict[str, Any] = {"company_id": job.company_id, "job_id": job.id, "by": by}
    transaction.on_commit(partial(activity.note, EXPORTED, about={"what": what}, **facts))


ANSWER = "answer_"
FORM_VERSION = "form_version"
# Rows per batch.
SLICE = 2_000

# `reason` is the code of a decision, if there is one. `policy_version` is that of the rules at the
# application's last event. `misses` and `decision_note` are the old names of `decay_count` and
# `note`.
APPLICATION_COLUMNS = (
    "application_id",
    "applicant_id",
    "name",
    "email",
    "status",
    "verified",
    "outcome",
    "reason",
    "position",
    "misses",
    "applied_at",
    "promoted_at",
    "acknowledge_by",
    "acknowledged_at",
    "eligible_at",
    "ended_at",
    "policy_version",
    "decision_note",
    "decay_count",
    "note",
    "external_id",
    *PUBLISHED,
)

_APPLICATIONS = f"""
SELECT a.id, a.applicant_id, a.name,
       CASE WHEN NOT starts_with(person.email, %(erased)s) THEN person.email END,
       a.status, a.verify_by IS NULL, a.outcome,
       CASE WHEN a.ended_at IS NOT NULL THEN last.data ->> 'reason' END,
       CASE WHEN a.status = 'WAITLIST' AND a.verify_by IS NULL THEN
           count(*) FILTER (WHERE a.verify_by IS NULL)
           OVER (PARTITION BY a.status ORDER BY a.ticket, a.tie) END,
       a.decay_count, a.applied_at, a.promoted_at, a.acknowledge_by, a.acknowledged_at,
       a.eligible_at, a.ended_at, last.policy_version, note.text,
       a.decay_count, note.text, attached.external_id,
       {", ".join(f"a.{name}" for name in PUBLISHED)}, given.form_number, given.answers
FROM pipeline_application a
JOIN applicants_applicant person ON person.id = a.applicant_id
LEFT JOIN LATERAL (
    SELECT policy_version, data FROM pipeline_event
    WHERE application_id = a.id ORDER BY seq DESC LIMIT 1
) last ON true  -- none if the log is in the archive
LEFT JOIN LATERAL (
    SELECT string_agg(text, E'\n' ORDER BY seq) AS text FROM pipeline_decisionnote
    WHERE application_id = a.id
) note ON true
LEFT JOIN pipeline_applicationreference attached ON attached.application_id = a.id
LEFT JOIN LATERAL (
    SELECT form_number, answers FROM pipeline_givenanswers
    WHERE application_id = a.id ORDER BY number DESC LIMIT 1
) given ON true
WHERE a.job_id = %(job)s
ORDER BY a.applied_at, a.id
"""  # noqa: S608  columns that stand in the code


def read_application_rows(job_id: UUID) -> Iterator[tuple[Any, ...]]:
    """Return every application to a job in the order of APPLICATION_COLUMNS, oldest first.

    Behind these columns come the version of the form that it answered, and the answers.

    As of one instant: the database keeps the result of the single statement until it has been read.
    """
    with listener_session() as database, database.chunked_cursor() as cursor:
        cursor.execute(_APPLICATIONS, {"job": job_id, "erased": ERASED})
        while rows := cursor.fetchmany(SLICE):
            yield from rows


def read_log_rows(job_id: UUID, head: int) -> Iterator[Event]:
    """Yield a job's log up to a seq, oldest first.

    Log rows never change, so this reads the log as of one instant. Raises LogArchived.
    """

    @reads_replica
    def read_slice_of_exported_rows(last: int) -> list[Event]:
        events = Event.objects.filter(job_id=job_id, seq__gt=last, seq__lte=head)
        return list(events.order_by("seq")[:SLICE])

    last = 0
    while last < head:
        if not (rows := read_slice_of_exported_rows(last)):
            removed_logs.refuse(job_id)
            return
        yield from rows
        last = rows[-1].seq


# Whole lines and logs as text: CSV for spreadsheets, JSON lines for programs. The same code makes
# files that are streamed to a browser and files made in the background. Only one batch of rows is
# held in memory.


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
    if what == "applications":
        columns += answer_columns(job)
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


def formatted_name(job: Job, what: str, format: str) -> str:
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
# can be added and removed again whatever the text. The blanks are matched lazily, up to the first
# line break: otherwise a run of breaks would be read to its end from each of them.
_FORMULA = "'*[\\s\"]*?[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]"
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


def answer_columns(job: Job) -> tuple[str, ...]:
    """Return the columns of a job's answers: those of all versions of its form, if it has one."""
    keys = [question.key for question in all_questions(job.id)]
    return (FORM_VERSION, *(f"{ANSWER}{key}" for key in keys)) if keys else ()


def answer_cells(columns: Sequence[str], number: int | None, given: Answers) -> Row:
    """Return the cells of the columns of answers: those to version `number` of the form."""
    cells = {f"{ANSWER}{key}": answer_cell(answer) for key, answer in given.items()}
    return {name: number if name == FORM_VERSION else cells.get(name) for name in columns}


def _format_applications(job: Job) -> Iterator[Row]:
    columns = answer_columns(job)
    for *row, form_version, answers in read_application_rows(job.id):
        values = [logged_time(value) if isinstance(value, datetime) else value for value in row]
        plain = [str(value) if isinstance(value, UUID) else value for value in values]
        named = dict(zip(APPLICATION_COLUMNS, plain, strict=True))
        given = json.loads(answers) if isinstance(answers, str) else answers or {}
        yield named | answer_cells(columns, form_version, given)


def answer_cell(answer: Any) -> Any:
    """Return an answer as a cell that an import reads again."""
    return "; ".join(map(str, answer)) if isinstance(answer, list) else answer


def _format_log(job: Job) -> Iterator[Row]:
    return map(exported_row, read_log_rows(job.id, job.seq))


_ROWS: dict[str, tuple[tuple[str, ...], Callable[[Job], Iterator[Row]]]] = {
    "applications": (APPLICATION_COLUMNS, _format_applications),
    "log": (LOG_COLUMNS, _format_log),
}


# Export of a whole line or log to a file that its company can download later.


# About how many characters are written and reported at a time.
PIECE = 128 * 1_024

# Callback with the number of written rows and the expected total.
Tell = Callable[[int, int], None]


@dataclass(slots=True)
class _Counted:
    """Lines with a counter of rows. The line of column names does not count."""

    lines: Iterator[str]
    rows: int

    def __iter__(self) -> Iterator[str]:
        for line in self.lines:
            self.rows += 1
            yield line


def write(
    *,
    job_id: UUID,
    company_id: UUID,
    what: str,
    format: str,
    task_id: UUID,
    tell: Tell,
    is_cancelled: Callable[[], bool],
) -> StoredFile | None:
    """Write a job's `applications` or `log` as `csv` or `jsonl`, as of one instant.

    Returns the file, or None after a cancellation, which leaves no file. A task has one file:
    writing again replaces the output of an earlier attempt. Raises JobNotFound, also for another
    company's job. Raises StoredFileNotFound if the file was removed while it was written, because
    someone who may be in it was erased: start again. Raises LogArchived.
    """
    job = read_job(job_id)
    if job.company_id != company_id:
        raise JobNotFound
    if what == "log":
        removed_logs.refuse_known(job)
    writer = FileWriter.begin(
        file_id=uuid5(NAMESPACE_OID, f"export {task_id}"),  # the same at every attempt
        company_id=company_id,
        job_id=job_id,
        task_id=task_id,
        name=formatted_name(job, what, format),
        content_type=TYPES[format],
    )
    # The approximate number of rows: the line keeps moving while it is read.
    total = job.seq if what == "log" else Application.objects.filter(job_id=job_id).count()
    counted = _Counted(formatted_lines(job, what, format), rows=-1 if format == "csv" else 0)
    for piece in formatted_pieces(counted, characters=PIECE, first_at_once=False):
        if is_cancelled():
            stored.remove(StoredFile.objects.filter(id=writer.file_id, company_id=company_id))
            return None
        writer.write(piece)
        tell(counted.rows, max(total, counted.rows))
    return writer.finish(rows=counted.rows)


# Export tasks: a job's applications or its log as a file to download.


# A million rows take minutes. A limit of two exports at a time leaves the database to the line.
LIMITS: dict[str, Any] = {
    "queue": "files",
    "timeout_seconds": 3_600,
    "max_attempts": 5,
    "cap": 2,
}
Format = Literal["csv", "jsonl"]


@task_type(key="applications.export", **LIMITS)
def write_applications(
    context: Context, owner_id: UUID, job_id: UUID, format: Format
) -> dict[str, Any] | None:
    """Write every application to a job to a file: {"file_id", "rows"}."""
    return _run("applications", context, owner_id, job_id, format)


@task_type(key="log.export", **LIMITS)
def write_log(
    context: Context, owner_id: UUID, job_id: UUID, format: Format
) -> dict[str, Any] | None:
    """Write a job's log with its hashes to a file: {"file_id", "rows"}."""
    return _run("log", context, owner_id, job_id, format)


def _run(
    what: str, context: Context, owner_id: UUID, job_id: UUID, format: Format
) -> dict[str, Any] | None:
    try:
        file = write(
            job_id=job_id,
            company_id=owner_id,
            what=what,
            format=format,
            task_id=context.task_id,
            tell=partial(context.progress, note=gettext_noop("rows written")),
            is_cancelled=lambda: context.cancelled,
        )
    except (JobNotFound, FilesFull, LogArchived) as error:
        raise Fatal(str(error)) from None
    except StoredFileNotFound:
        raise Retry(
            gettext_noop("someone was erased meanwhile; the file is written again"),
            after_seconds=1,
        ) from None
    return {"file_id": str(file.id), "rows": file.rows} if file else None
