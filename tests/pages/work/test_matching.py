"""Tasks found by label, key or job; all that match cancelled; a waiting retry run now."""

from __future__ import annotations

import re
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import Company, JobPosting
from pipeline.models import StoredFile
from pipeline.work import tasks as reads
from tasks import control
from tasks.enqueue import enqueue
from tasks.models import Task, TaskEvent
from tests.support import factories
from tests.support.background_tasks import ended, move, started, status_of
from tests.support.pages import follow, page_of

WORK = "/company/work/"
CANCEL = f"{WORK}cancel/"


def file_of(company: Company, job: UUID) -> StoredFile:
    """A file with people for a job."""
    return StoredFile.objects.create(
        company_id=company.id,
        job_id=job,
        purpose="IMPORT",
        name="people.csv",
        content_type="text/csv",
        expires_at=timezone.now() + timedelta(days=1),
    )


def found(client: Client, text: str) -> set[UUID]:
    """Return the tasks of the list when it is searched."""
    page = client.get(WORK, {"q": text}).content.decode()
    return {task.id for task in Task.objects.all() if f'id="task-{task.id}"' in page}


def test_tasks_are_found_by_label_key_id_and_job(
    recruiter: Client, company: Company, job: UUID
) -> None:
    JobPosting.objects.filter(job_id=job).update(title="Night watch")
    labelled = started(company, payload={"seconds": 1, "label": "Spring cleaning"})
    payload = {"seconds": 1}
    keyed = enqueue("demo.sleep", payload, owner_id=company.id, idempotency_key="order 7").id
    export = started(company, "log.export", {"job_id": str(job), "format": "csv"})
    file = file_of(company, job)
    imported = started(company, "applications.import", {"import_id": str(file.id)})
    started(company)

    assert found(recruiter, "spring") == {labelled}
    assert found(recruiter, "order 7") == {keyed}
    assert found(recruiter, str(labelled)) == {labelled}
    assert found(recruiter, "night W") == found(recruiter, str(job)) == {export, imported}
    assert found(recruiter, "order") == found(recruiter, str(uuid4())) == set()


def test_a_search_finds_nothing_of_another_company(recruiter: Client) -> None:
    other = factories.company()
    theirs = started(other, payload={"seconds": 1, "label": "Spring cleaning"})

    assert found(recruiter, "spring") == found(recruiter, str(theirs)) == set()


def test_a_search_looks_only_at_the_newest_tasks(
    recruiter: Client, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "MOST_SEARCHED", 2)
    labelled = [started(company, payload={"seconds": 1, "label": "Spring"}) for _ in range(3)]

    assert found(recruiter, "spring") == set(labelled[1:])


def test_all_that_match_are_cancelled_after_a_question_with_their_number(
    recruiter: Client, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "MOST_AT_ONCE", 2)
    waiting = [started(company, payload={"seconds": 1, "label": "Spring"}) for _ in range(4)]
    runs = started(company, payload={"seconds": 1, "label": "Spring"})
    move(runs, status="RUNNING", attempt=1, started_at=timezone.now())
    other, done = started(company), ended(company, {}, payload={"seconds": 1, "label": "Spring"})
    theirs = started(factories.company(), payload={"seconds": 1, "label": "Spring"})

    listed = page_of(recruiter, f"{WORK}?q=spring")
    question = page_of(recruiter, f"{CANCEL}?q=spring")
    late = started(company, payload={"seconds": 1, "label": "Spring"})
    answer = follow(recruiter, CANCEL, {"q": "spring", "newest": str(runs)})

    assert f'href="{CANCEL}?q=spring"' in listed
    assert "Cancel 5 tasks?" in question
    assert f'name="newest" value="{runs}"' in question
    assert "5 tasks cancelled." in answer
    assert {status_of(task) for task in waiting} == {"CANCELLED"}
    assert status_of(runs) == "CANCELLING"
    assert [status_of(task) for task in (other, done, late, theirs)] == [
        "PENDING",
        "SUCCEEDED",
        "PENDING",
        "PENDING",
    ]
    member = f"member:{recruiter.session['_auth_user_id']}"
    events = TaskEvent.objects.filter(task_id=waiting[0], actor=member).order_by("id")
    assert [event.kind for event in events] == ["cancel_requested", "cancelled"]


def test_only_those_who_may_cancel_one_may_cancel_all(viewer: Client, company: Company) -> None:
    task = started(company)

    answers = [viewer.get(CANCEL), viewer.post(CANCEL, {"newest": str(task)})]

    assert [answer.status_code for answer in answers] == [403, 403]
    assert status_of(task) == "PENDING"
    assert CANCEL not in page_of(viewer, f"{WORK}?status=PENDING")


def test_without_the_newest_task_of_the_question_nothing_is_cancelled(
    recruiter: Client, company: Company
) -> None:
    task = started(company)

    assert recruiter.post(CANCEL, {"q": ""}).status_code == 404
    assert status_of(task) == "PENDING"


def test_a_task_that_waits_for_its_retry_runs_now(recruiter: Client, company: Company) -> None:
    task = started(company)
    later = timezone.now() + timedelta(hours=1)
    move(task, attempt=1, run_after=later)
    assert f'action="{WORK}{task}/run/"' in page_of(recruiter, f"{WORK}{task}/")

    page = follow(recruiter, f"{WORK}{task}/run/", {})

    assert "The task runs as soon as a worker is free." in page
    assert "Now, by " in page
    assert f'action="{WORK}{task}/run/"' not in page
    assert Task.objects.get(id=task).run_after < timezone.now()


def test_other_tasks_cannot_be_run_now(recruiter: Client, viewer: Client, company: Company) -> None:
    first, later = started(company), timezone.now() + timedelta(hours=1)
    move(first, run_after=later)
    retried, theirs = started(company), started(factories.company())
    for task in (retried, theirs):
        move(task, attempt=1, run_after=later)

    page = follow(recruiter, f"{WORK}{first}/run/", {})

    assert "This task no longer waits for a retry." in page
    assert viewer.post(f"{WORK}{retried}/run/").status_code == 403
    assert recruiter.post(f"{WORK}{theirs}/run/").status_code == 404
    assert set(Task.objects.values_list("run_after", flat=True)) == {later}


def test_the_history_names_the_worker_of_each_attempt_without_our_machines(
    recruiter: Client, company: Company
) -> None:
    task = started(company)
    for attempt, worker in ((1, "a-machine-1234"), (2, "a-machine-99"), (3, "a-machine-1234")):
        TaskEvent.objects.create(task_id=task, kind="started", attempt=attempt, actor=worker)

    page = page_of(recruiter, f"{WORK}{task}/")

    marks = re.findall(r"Attempt \d, by worker (\w{8})\.", page)
    assert marks[0] == marks[2] != marks[1]
    assert "a-machine" not in page
