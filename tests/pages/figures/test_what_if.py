"""The page that tries other rules on a job's past."""

from __future__ import annotations

from uuid import UUID

from django.test import Client

from jobs.models import Company
from pipeline.whatif.compare import ASSUMPTION
from pipeline.whatif.read import KEY
from tasks.models import Task
from tasks.models.statuses import Status
from tests.support.handlers import Run
from tests.support.history import page


def text_of(client: Client, job: UUID) -> str:
    response = client.get(page(job, "what-if/"))
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


def test_a_recruiter_starts_a_run_with_the_rules_that_were_filled_in(
    recruiter: Client, job: UUID
) -> None:
    answer = recruiter.post(page(job, "what-if/"), {"window_hours": "48", "max_decays": "0"})

    assert answer.status_code == 302
    task = Task.objects.get(type__key=KEY)
    rules = {"acknowledgment_window_seconds": 172_800, "max_decays": 0}
    assert task.payload == {"job_id": str(job)} | rules
    assert "The past is being run again" in text_of(recruiter, job)


def test_while_one_runs_no_other_is_started(recruiter: Client, job: UUID) -> None:
    for _ in range(2):
        recruiter.post(page(job, "what-if/"), {"capacity": "2"})

    assert Task.objects.filter(type__key=KEY).count() == 1
    assert "A run is under way." in text_of(recruiter, job)


def test_the_result_stands_side_by_side_with_its_assumption(
    recruiter: Client, job: UUID, company: Company
) -> None:
    recruiter.post(page(job, "what-if/"), {"window_hours": "2"})
    task = Task.objects.get(type__key=KEY)
    result = Run(KEY, task.payload, company.id).result
    Task.objects.filter(id=task.id).update(status=Status.SUCCEEDED, result=result)

    text = text_of(recruiter, job)

    assert "Tried: 2 h to confirm." in text
    assert ASSUMPTION in text
    for ident in ("pair", "sweep"):
        assert f'role="img" aria-labelledby="{ident}-t {ident}-d"' in text
    assert "lost to offers that were not answered</th>" in text


def test_a_number_out_of_range_is_named(recruiter: Client, job: UUID) -> None:
    answer = recruiter.post(page(job, "what-if/"), {"capacity": "0"})

    assert answer.status_code == 422
    assert "Enter 1 or more." in answer.content.decode()
    assert not Task.objects.filter(type__key=KEY).exists()


def test_a_viewer_sees_the_page_and_cannot_start(viewer: Client, job: UUID) -> None:
    assert "Run the past again" not in text_of(viewer, job)
    assert viewer.post(page(job, "what-if/"), {}).status_code == 403
