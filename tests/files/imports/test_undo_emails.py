"""Emails of an undone import: late, one for each person, and only about the removal."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail

from pipeline.files.imports.tasks import UNDO, start_undo
from pipeline.models import ImportRun
from tasks.models import Task
from tests.files.imports.files import as_csv, imported, people
from tests.support import factories
from tests.support.task_runs import run_due_tasks

pytestmark = pytest.mark.django_db(transaction=True)


def start(run: ImportRun) -> None:
    """Start to undo an import."""
    start_undo(
        company_id=run.file.company_id,
        import_id=run.file_id,
        actor=factories.RECRUITER,
        producer="member:x",
    )


def test_emails_of_an_undo_come_after_all_others(settings: Any) -> None:
    settings.NOTIFY = True
    job_id = factories.job(capacity=1)
    run = imported(job_id, as_csv(people(3)))
    before = set(Task.objects.values_list("id", flat=True))

    start(run)
    run_due_tasks(UNDO)

    made = Task.objects.exclude(id__in=before).filter(type__key__startswith="email.")
    assert {each.type.key for each in made.select_related("type")} == {"email.bulk"}
    assert made.count() == 3


def test_who_was_added_and_removed_again_reads_only_of_the_removal(
    settings: Any,
) -> None:
    settings.NOTIFY = True
    job_id = factories.job(capacity=1)
    run = imported(job_id, as_csv(people(1)))
    start(run)
    run_due_tasks(UNDO)

    run_due_tasks("email.bulk")

    (only,) = mail.outbox
    assert "added by mistake" in only.body
