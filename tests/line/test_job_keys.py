"""The job's key in every statement of the line: a change touches no row of another job."""

from __future__ import annotations

import re

import pytest

from pipeline.domain.errors import ApplicationNotFound
from pipeline.line import lock, sources
from pipeline.line import write as writing
from pipeline.line.lock import line_transaction, lock_job, read_locked_application
from pipeline.line.write import write
from pipeline.models import Application
from tasks.sql.prepared import PreparedStatement
from tests.support import factories
from tests.support.statements import source_of

OF_A_LINE = re.compile(
    r"\b(?:FROM|JOIN|UPDATE|INTO)\s+"
    r"(jobs_job|pipeline_application|pipeline_event|pipeline_plannedseats)\b(\s+(?!WHERE|SET)\w+)?",
)
AS_EXPRESSION = re.compile(r"\((a\.)?job_id = %\(\w+\)s(::uuid)?\) IS TRUE")
# Find a job by an application's id, or by its time: nothing else can name it.
FINDERS = {"LOCK_JOB_OF", "READ_WEBHOOK_TYPES_OF", "HOLD_PERSON_OF", "READ_APPLICATION"}
FINDERS |= {"LOCK_DUE_JOB"}


def keyless(statement: str) -> list[str]:
    """Return the parts of a statement that use a table of the line without the job's key.

    A part ends where the next one begins, and so does what it compares.
    """
    found = list(OF_A_LINE.finditer(statement))
    ends = [each.start() for each in found[1:]] + [len(statement)]
    bad = []
    for use, end in zip(found, ends, strict=True):
        part = statement[use.start() : end]
        is_insert = part.startswith("INTO")
        key = r"\bid = %\((job|id)\)s" if use[1] == "jobs_job" else r"\bjob_id = (%\(|job\.id)"
        if not is_insert and not re.search(key, part):
            bad.append(part)
    return bad


def statements() -> dict[str, str]:
    texts = {
        name: source_of(found) if isinstance(found, PreparedStatement) else found
        for module in (lock, sources, writing)
        for name, found in vars(module).items()
        if isinstance(found, PreparedStatement)
        or (isinstance(found, str) and name.isupper() and name[0] != "_")
    }
    return {name: text for name, text in texts.items() if OF_A_LINE.search(text)}


def test_every_statement_on_the_rows_of_a_line_names_its_job() -> None:
    found = statements()

    assert len(found) > 15
    assert {name for name, text in found.items() if keyless(text)} == FINDERS


def test_applications_are_found_by_their_ids_and_not_by_an_index_of_the_whole_line() -> None:
    """In a year's rows of 10,000 companies, PostgreSQL chose that index for a plain key."""
    by_ids = {
        name: text
        for name, text in statements().items()
        if "applications)s::uuid[])" in text or "changed_ids" in text
    }
    by_ids |= {name: statements()[name] for name in ("CHANGE", "READ_APPLICATION_TO")}

    plain = {name for name, text in by_ids.items() if not AS_EXPRESSION.search(text)}

    assert plain == set()
    assert {"CHANGE_FEW", "READ_APPLICATIONS"} <= by_ids.keys()


def test_a_statement_without_the_key_is_found() -> None:
    assert keyless("UPDATE pipeline_application a SET name = '' WHERE a.id = %(id)s")
    assert keyless("SELECT 1 FROM pipeline_event WHERE id = %(event)s")
    assert keyless("SELECT 1 FROM jobs_job WHERE status = 'OPEN'")
    assert not keyless("UPDATE pipeline_application a SET name = '' WHERE a.job_id = %(id)s")


@pytest.mark.django_db(transaction=True)
def test_a_change_does_not_move_an_application_of_another_job() -> None:
    job_id, other = factories.job(capacity=1), factories.job(capacity=1)
    [foreign] = factories.applications(other, 1)

    @line_transaction
    def move_a_foreign_application() -> None:
        job = lock_job(job_id)
        application = Application.objects.get(id=foreign.id)
        application.decay_count = 7
        job.changed[foreign.id] = application
        write(job)

    move_a_foreign_application()

    assert Application.objects.get(id=foreign.id).decay_count == 0


@pytest.mark.django_db(transaction=True)
def test_an_application_of_another_job_is_not_found_at_a_locked_one() -> None:
    job_id, other = factories.job(capacity=1), factories.job(capacity=1)
    [foreign] = factories.applications(other, 1)

    @line_transaction
    def read() -> None:
        read_locked_application(lock_job(job_id), foreign.id)

    with pytest.raises(ApplicationNotFound):
        read()
