"""Export of a whole line or log to a file that its company can download later."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from uuid import NAMESPACE_OID, UUID, uuid5

from pipeline.domain.errors import JobNotFound
from pipeline.exports.formats import TYPES, formatted_file_name, formatted_lines, formatted_pieces
from pipeline.files.write import FileWriter, remove_written_files
from pipeline.line.removed_logs import refuse_removed_log_of
from pipeline.models import Application, StoredFile
from pipeline.selectors.jobs import read_job

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


def write_export(
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
        refuse_removed_log_of(job)
    writer = FileWriter.begin(
        file_id=uuid5(NAMESPACE_OID, f"export {task_id}"),  # the same at every attempt
        company_id=company_id,
        job_id=job_id,
        task_id=task_id,
        name=formatted_file_name(job, what, format),
        content_type=TYPES[format],
    )
    # The approximate number of rows: the line keeps moving while it is read.
    total = job.seq if what == "log" else Application.objects.filter(job_id=job_id).count()
    counted = _Counted(formatted_lines(job, what, format), rows=-1 if format == "csv" else 0)
    for piece in formatted_pieces(counted, characters=PIECE, first_at_once=False):
        if is_cancelled():
            remove_written_files(
                StoredFile.objects.filter(id=writer.file_id, company_id=company_id)
            )
            return None
        writer.write(piece)
        tell(counted.rows, max(total, counted.rows))
    return writer.finish(rows=counted.rows)
