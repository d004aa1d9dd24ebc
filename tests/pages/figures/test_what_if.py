"""The page that tries other rules on a job's past."""

from __future__ import annotations

from functools import partial
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company
from pipeline.figures.whatif.run import ASSUMPTION, KEY, start_what_if
from pipeline.work.start import TaskRequest, start_tasks
from tasks.models import Status, Task
from tests.support import background_tasks, factories
from tests.support.handlers import Run
from tests.support.history import page
from tests.support.together import kinds, together


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


def test_the_form_says_what_the_rules_are_and_a_draft_has_no_past(
    recruiter: Client, job: UUID, company: Company
) -> None:
    draft = factories.job(company_id=company.id, open_now=False)
    other = factories.job(company_id=company.id, capacity=7, max_decays=None)

    assert "Now: 7." in text_of(recruiter, other)
    assert "Now: no limit." in text_of(recruiter, other)
    assert "No past yet" in text_of(recruiter, draft)
    assert "Replay with these rules" not in text_of(recruiter, draft)


def test_while_one_runs_no_other_is_started(recruiter: Client, job: UUID) -> None:
    for _ in range(2):
        recruiter.post(page(job, "what-if/"), {"capacity": "2"})

    assert Task.objects.filter(type__key=KEY).count() == 1
    assert "A run is under way." in text_of(recruiter, job)


def test_a_run_is_found_however_many_other_tasks_came_after_it(
    recruiter: Client, job: UUID, company: Company
) -> None:
    recruiter.post(page(job, "what-if/"), {"capacity": "2"})
    for _ in range(3):
        background_tasks.dead(company)
    Task.objects.bulk_create(
        [
            Task(type=Task.objects.last().type, queue="q", owner_id=company.id, status="DEAD")
            for _ in range(250)
        ]
    )

    assert "The past is being run again" in text_of(recruiter, job)


def test_a_run_that_is_planned_for_later_keeps_nobody_waiting(
    recruiter: Client, job: UUID, company: Company
) -> None:
    later = TaskRequest(KEY, {"job_id": str(job)}, delay_seconds=86_400)
    start_tasks(company_id=company.id, producer="key:1", requests=[later])

    before = text_of(recruiter, job)
    recruiter.post(page(job, "what-if/"), {"capacity": "2"})

    assert "The past is being run again" not in before
    assert Task.objects.filter(type__key=KEY).count() == 2


def test_a_run_of_the_api_is_shown_from_its_beginning(
    recruiter: Client, job: UUID, company: Company
) -> None:
    asked = TaskRequest(KEY, {"job_id": str(job), "capacity": 3})
    [made] = start_tasks(company_id=company.id, producer="key:1", requests=[asked])
    result = Run(KEY, asked.payload, company.id, task_id=made.id).result
    Task.objects.filter(id=made.id).update(status=Status.SUCCEEDED, result=result)

    assert "Tried: 3 seats." in text_of(recruiter, job)


@pytest.mark.django_db(transaction=True)
def test_of_many_clicks_at_the_same_time_one_starts_a_run() -> None:
    job = factories.row_of(factories.job())
    start = partial(start_what_if, job=job, rules={}, producer="member:1")

    answers = together([start] * 6)

    assert kinds(answers) == ["NoneType"] + ["WhatIfUnderWay"] * 5
    assert Task.objects.filter(type__key=KEY).count() == 1


def test_the_result_stands_side_by_side_with_its_assumption(
    recruiter: Client, job: UUID, company: Company
) -> None:
    recruiter.post(page(job, "what-if/"), {"window_hours": "2"})
    task = Task.objects.get(type__key=KEY)
    result = Run(KEY, task.payload, company.id, task_id=task.id).result
    Task.objects.filter(id=task.id).update(status=Status.SUCCEEDED, result=result)

    text = text_of(recruiter, job)

    assert "Tried: 2 h to confirm." in text
    assert str(ASSUMPTION) in text
    for ident in ("pair", "sweep"):
        assert f'role="img" aria-labelledby="{ident}-t {ident}-d"' in text
    assert "lost to offers that were not answered</th>" in text


def test_a_number_out_of_range_is_named(recruiter: Client, job: UUID) -> None:
    answer = recruiter.post(page(job, "what-if/"), {"capacity": "0"})

    assert answer.status_code == 422
    assert "Enter 1 or more." in answer.content.decode()
    assert not Task.objects.filter(type__key=KEY).exists()


def test_a_viewer_sees_the_page_and_cannot_start(viewer: Client, job: UUID) -> None:
    assert "Replay with these rules" not in text_of(viewer, job)
    assert viewer.post(page(job, "what-if/"), {}).status_code == 403
