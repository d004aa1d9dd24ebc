"""Files of people, and having them taken in, in few words."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from uuid import UUID

from django.db import transaction

from pipeline.files.imports.admitting import admit_rows
from pipeline.files.imports.reading import read_file
from pipeline.files.imports.starting import store_upload
from pipeline.models import Application, ImportRefusal, ImportRun
from tests.support import factories

Person = tuple[str, str]


def as_csv(people: Iterable[Person]) -> bytes:
    """A file with these names and addresses."""
    text = io.StringIO()
    csv.writer(text).writerows([("name", "email"), *people])
    return text.getvalue().encode()


def people(count: int, prefix: str = "p") -> list[Person]:
    """Make this many people, each with their own address."""
    return [(f"Person {n}", f"{prefix}{n}@import.example") for n in range(count)]


def stored(job_id: UUID, content: bytes, name: str = "people.csv") -> UUID:
    """A file that was read and waits to be taken into a job by its company."""
    import_id = unread(job_id, content, name)
    with transaction.atomic():
        read_file(ImportRun.objects.select_related("file").get(file_id=import_id))
    return import_id


def unread(job_id: UUID, content: bytes, name: str = "people.csv") -> UUID:
    """A file as it came from a company."""
    return store_upload(
        company_id=factories.row_of(job_id).company_id,
        job_id=job_id,
        name=name,
        content=[content],
        actor=factories.RECRUITER,
    )


def imported(job_id: UUID, content: bytes) -> ImportRun:
    """A file that was taken into a job."""
    return admit_rows(stored(job_id, content))


def refusals(run: ImportRun) -> list[tuple[int, str]]:
    """The rows that were refused, and why."""
    rows = ImportRefusal.objects.filter(run=run).order_by("row")
    return list(rows.values_list("row", "reason"))


def standing(job_id: UUID) -> list[tuple[str, str, str, int | None, int | None, int]]:
    """Return each person's place in a job, in the order in which they applied."""
    rows = Application.objects.filter(job_id=job_id).select_related("applicant").order_by("id")
    return [
        (row.applicant.email, row.name, row.status, row.ticket, row.tie, row.decay_count)
        for row in rows
    ]
