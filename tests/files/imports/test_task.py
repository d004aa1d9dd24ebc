"""What the worker's child does with an import, and how one is started."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.core import mail
from django.db import IntegrityError, connection

from pipeline.domain.errors import ImportFileRefused
from pipeline.files.imports import admitting
from pipeline.files.imports.starting import IMPORT, start_import
from pipeline.models import ImportRun, StoredFile
from pipeline.services.jobs import pause_job
from pipeline.work.start import TypeNotAllowed, WorkError, create_limited_key
from tasks.errors import Discard
from tasks.models import Task
from tests.files.imports.files import as_csv, imported, people, stored, unread
from tests.support import factories
from tests.support.handlers import Run
from tests.support.task_runs import run_due_tasks
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.files.imports.reading.ROWS_IN_PART", 3)
    monkeypatch.setattr(admitting, "MOST_PARTS", 2)


def start(job_id: UUID, content: bytes, **more: Any) -> Any:
    return start_import(
        company_id=factories.row_of(job_id).company_id,
        job_id=job_id,
        name="people.csv",
        content=[content],
        actor=factories.RECRUITER,
        producer=f"member:{factories.RECRUITER.id}",
        **more,
    )


def run(import_id: UUID, *, company_id: UUID | None = None, **how: Any) -> Run:
    """One attempt, for a company; for that of the file if no other is named."""
    of = StoredFile.objects.filter(id=import_id).values_list("company_id", flat=True).first()
    return Run(IMPORT, {"import_id": str(import_id)}, company_id or of, **how)


def test_starting_an_import_keeps_the_rows_and_enqueues_a_task_that_has_only_an_id() -> None:
    job_id = factories.job()

    enqueued = start(job_id, as_csv(people(5)))

    task, file = Task.objects.get(), StoredFile.objects.get()
    assert (task.id, task.payload) == (enqueued.id, {"import_id": str(file.id)})
    assert task.owner_id == file.company_id == factories.row_of(job_id).company_id
    assert file.task_id == task.id
    assert not ImportRun.objects.get().is_read


def test_nothing_is_kept_of_an_import_that_may_not_be_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(**_: object) -> None:
        raise TypeNotAllowed(IMPORT)

    with pytest.raises(ImportFileRefused):
        start(factories.job(), b"nothing")
    monkeypatch.setattr("pipeline.files.imports.starting.start_tasks", refuse)
    with pytest.raises(WorkError):
        start(factories.job(), as_csv(people(5)))

    assert not StoredFile.objects.exists()
    assert not Task.objects.exists()


def test_with_an_id_for_its_file_an_import_is_started_once() -> None:
    job_id, file_id, content = factories.job(), uuid4(), as_csv(people(5))

    first, again = (start(job_id, content, file_id=file_id) for _ in range(2))
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    late = start(job_id, content, file_id=file_id)

    assert (first.is_new, again.is_new, late.is_new) == (True, False, False)
    assert first.id == again.id == late.id
    assert (Task.objects.count(), StoredFile.objects.get().id) == (1, file_id)


def test_of_two_tries_at_the_same_moment_one_starts_it() -> None:
    job_id, file_id, content = factories.job(), uuid4(), as_csv(people(5))

    made = together([partial(start, job_id, content, file_id=file_id)] * 4)

    assert len({task.id for task in made}) == 1
    assert (Task.objects.count(), StoredFile.objects.count()) == (1, 1)


def test_the_id_of_another_companys_file_gives_no_task_of_it() -> None:
    file_id, content = uuid4(), as_csv(people(5))
    start(factories.job(), content, file_id=file_id)

    with pytest.raises(IntegrityError):
        start(factories.job(company_id=factories.company().id), content, file_id=file_id)

    assert Task.objects.count() == 1


def test_for_a_key_that_may_not_import_no_file_is_read() -> None:
    job_id = factories.job()
    key, _ = create_limited_key(
        company_id=factories.row_of(job_id).company_id, name="CI", scopes=(), types=["demo.sleep"]
    )

    with pytest.raises(TypeNotAllowed):
        start(job_id, b"no list of people", key_id=key.id)


def test_the_task_tells_its_progress_and_at_the_end_what_became_of_the_rows() -> None:
    ran = run(stored(factories.job(), as_csv([*people(10), ("", "x@x.org")])))

    assert ran.result == {
        "accepted": 10,
        "refused": 1,
        "total": 11,
        "already_there": 0,
        "left": 0,
        "ending": "COMPLETE",
    }
    assert ran.said[-1] == {"done": 11, "total": 11, "note": "10 accepted, 1 refused"}


def test_a_cancelled_task_keeps_what_it_took_in_and_says_what_is_left() -> None:
    ran = run(stored(factories.job(), as_csv(people(20))), cancelled_after=0)

    assert ran.result == {
        "accepted": 6,
        "refused": 0,
        "total": 20,
        "already_there": 0,
        "left": 14,
        "ending": "STOPPED",
    }


def test_a_job_that_was_paused_is_a_result_and_no_failure() -> None:
    job_id = factories.job()
    import_id = stored(job_id, as_csv(people(20)))
    pause_job(job_id=job_id, actor=factories.RECRUITER)

    ran = run(import_id)

    assert (ran.result["left"], ran.result["ending"]) == (20, "JOB_PAUSED")
    assert not factories.Applicant.objects.filter(email__endswith="@import.example").exists()


def test_a_file_that_is_gone_is_nobodys_failure() -> None:
    with pytest.raises(Discard):
        run(uuid4())


def test_another_companys_file_is_not_taken_in() -> None:
    import_id = stored(factories.job(), as_csv(people(5)))

    with pytest.raises(Discard):
        run(import_id, company_id=uuid4())

    assert ImportRun.objects.get().accepted == 0


def test_the_emails_are_tasks_written_with_the_rows_and_sent_behind(settings: Any) -> None:
    settings.NOTIFY, settings.SITE_URL = True, "https://line.example"
    job_id = factories.job(capacity=3, acknowledge_first_seat=True)
    import_id = stored(job_id, as_csv(people(20)))

    run(import_id)

    assert mail.outbox == []
    by_type = Counter(Task.objects.values_list("type__key", flat=True))
    assert by_type == {"email.event": 3, "email.guard": 3, "email.bulk": 17}
    run_due_tasks("email.event", "email.bulk")
    assert len(mail.outbox) == 20
    first = [str(message.subject) for message in mail.outbox[:3]]
    assert all("Your turn" in subject for subject in first)  # who has a deadline goes first


def test_nobody_stands_in_the_statements_that_a_connection_keeps() -> None:
    imported(factories.job(), as_csv([*people(20), ("", "nameless@import.example")]))

    texts = kept_texts()
    assert any("applicants_applicant" in text for text in texts)
    assert not [text for text in texts if "@import.example" in text]
    with connection.cursor() as cursor:
        cursor.execute("PREPARE control AS SELECT 'p1@import.example'")
        assert [text for text in kept_texts() if "@import.example" in text]
        cursor.execute("DEALLOCATE control")


def kept_texts() -> list[str]:
    """The texts of the statements that the connection has prepared."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement FROM pg_prepared_statements")
        return [text for (text,) in cursor.fetchall()]


def test_a_file_keeps_the_joiners_of_its_name_and_loses_what_reorders_it() -> None:
    import_id = unread(
        factories.job(), as_csv(people(1)), "\u0639\u0644\u06cc\u200c\u0631\u202e.csv\x07"
    )

    assert StoredFile.objects.get(id=import_id).name == "\u0639\u0644\u06cc\u200c\u0631.csv"
