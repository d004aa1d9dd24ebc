"""The company's tasks at a glance: what they do in words, filters, pages, and news by itself."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.models import Company
from pipeline.models import ImportRun, StoredFile
from tasks.models import Task
from tests.support.background_tasks import dead, ended, started
from tests.support.pages import follow, page_of

WORK = "/company/work/"


def running(task: UUID, **progress: object) -> None:
    Task.objects.filter(id=task).update(
        status="RUNNING", attempt=1, started_at=timezone.now(), progress=progress or None
    )


def test_an_empty_page_says_what_to_do_next(recruiter: Client, viewer: Client) -> None:
    assert "Start a test task" in page_of(recruiter, WORK)
    assert "Nothing has run yet" in page_of(viewer, WORK)
    assert "Start a test task" not in page_of(viewer, WORK)


def test_each_task_says_what_it_does_and_how_it_stands(
    recruiter: Client, company: Company, job: UUID
) -> None:
    at = {"job_id": str(job)}
    started(company, "applications.export", at | {"format": "csv"})
    started(company, "log.export", at | {"format": "jsonl"})
    started(company, "report.weekly", at)
    dead(company, payload={"seconds": 1, "then": "fail"})

    page = page_of(recruiter, WORK)

    assert "Export the applications to Engineer as CSV" in page
    assert "Export the log of Engineer as JSON lines" in page
    assert "Weekly report of Engineer" in page
    assert "Sleep 1 s, then fail" in page
    assert "ValueError: no such week" in page
    assert "No worker is running" in page


def test_what_waits_for_its_time_is_not_said_to_be_nothing(
    recruiter: Client, company: Company
) -> None:
    task = started(company)
    Task.objects.filter(id=task).update(run_after=timezone.now() + timedelta(hours=1))

    page = page_of(recruiter, WORK)

    assert "not due yet" in page
    assert "<small>none</small>" not in page


def test_who_starts_what_is_paused_is_told_that_it_waits(
    recruiter: Client, company: Company
) -> None:
    recruiter.post("/company/work/types/demo.sleep/pause/")

    page = follow(recruiter, WORK, {"seconds": "5", "then": "done"})

    assert "It waits because its type is paused" in page
    assert "It starts as soon as a worker is free" not in page


def test_a_result_can_be_taken_away(recruiter: Client, company: Company, job: UUID) -> None:
    file = "01a20067-f797-756d-b038-6ee358443f86"
    payload = {"job_id": str(job), "format": "csv"}
    ended(company, {"file_id": file, "rows": 1_200}, "applications.export", payload)

    page = page_of(recruiter, WORK)

    assert "1,200 rows" in page
    assert f'href="/company/files/{file}/"' in page


def test_what_runs_has_a_bar_that_names_itself(recruiter: Client, company: Company) -> None:
    task = started(company)
    running(task, done=517, total=1_200, note="rows read")

    page = page_of(recruiter, WORK)

    assert '<progress value="517" max="1200" aria-label="Progress of: Sleep 5 s">' in page
    assert "43%" in page
    assert f'action="/company/work/{task}/cancel/"' in page


def test_what_told_no_progress_has_a_bar_without_a_number(
    recruiter: Client, company: Company
) -> None:
    running(started(company))

    assert "no progress reported" in page_of(recruiter, WORK)


def test_the_list_is_filtered_and_paged(recruiter: Client, company: Company) -> None:
    for number in range(21):
        started(company, payload={"seconds": number})
    dead(company, payload={"seconds": 99})

    first = page_of(recruiter, WORK)
    assert "Sleep 99 s" in first
    assert "Sleep 0 s" not in first
    older = recruiter.get(WORK).context["next_url"]
    assert "Sleep 0 s" in page_of(recruiter, older)
    assert "Sleep 20 s" not in page_of(recruiter, f"{WORK}?status=DEAD")
    assert "No matching tasks" in page_of(recruiter, f"{WORK}?type=log.export")
    assert "Sleep 99 s" in page_of(recruiter, f"{WORK}?type=nonsense&status=x&after=y")


def test_a_task_that_sleeps_is_started(recruiter: Client) -> None:
    page = follow(recruiter, WORK, {"seconds": "7", "then": "fatal"})

    assert "Test task created." in page
    assert "Sleep 7 s, then fail without retries" in page
    assert Task.objects.get().payload == {"seconds": 7, "then": "fatal"}


@pytest.mark.parametrize("form", [{"seconds": "301"}, {"seconds": "-1"}, {"seconds": "soon"}, {}])
def test_a_bad_number_of_seconds_is_said_at_its_field(
    recruiter: Client, form: dict[str, str]
) -> None:
    answer = recruiter.post(WORK, form | {"then": "done"})

    assert answer.status_code == 422
    assert 'id="id_seconds_error"' in answer.content.decode()
    assert Task.objects.count() == 0


def test_equal_tasks_in_a_sequence_are_folded(recruiter: Client, company: Company) -> None:
    for result in (1, 1, 1, 1, 1, 2, 2, 2):
        ended(company, {"slept_seconds": result})
    running(started(company), done=1, total=2)

    page = page_of(recruiter, WORK)

    assert page.count("more like this") == 1
    assert "4 more like this" in page
    assert page.index("slept 2 s") < page.index("4 more like this")  # three of them: all are shown
    assert page.count('class="task-row"') == 9


def test_too_much_work_is_refused_in_words(
    recruiter: Client, company: Company, settings: object
) -> None:
    settings.TASK_BACKLOG_PER_COMPANY = 1  # type: ignore[attr-defined]  # pytest-django's
    started(company)

    answer = recruiter.post(WORK, {"seconds": "1", "then": "done"})

    assert answer.status_code == 422
    assert "Too many" in answer.content.decode()


def test_new_tasks_are_seen_soon_even_if_nothing_moved_before(
    recruiter: Client, company: Company
) -> None:
    task = started(company)
    Task.objects.filter(id=task).update(status="SUCCEEDED", finished_at=timezone.now())

    assert 'data-poll-seconds="2"' in page_of(recruiter, WORK)
    assert 'data-poll-seconds="30"' in page_of(recruiter, f"{WORK}{task}/")


def test_a_browser_that_has_it_is_answered_304_until_something_changes(
    recruiter: Client, company: Company
) -> None:
    ended(company, {"slept_seconds": 1})
    first = recruiter.get(f"{WORK}?fragment=1")

    same = recruiter.get(f"{WORK}?fragment=1", headers={"If-None-Match": first["ETag"]})
    running(started(company), done=1, total=2)
    other = recruiter.get(f"{WORK}?fragment=1", headers={"If-None-Match": first["ETag"]})

    assert (same.status_code, other.status_code) == (304, 200)


def test_more_tasks_cost_no_more_queries(recruiter: Client, company: Company, job: UUID) -> None:
    payload = {"job_id": str(job), "format": "csv"}
    running(started(company, "log.export", payload), done=1, total=2)

    few = _queries(recruiter)
    for _ in range(12):
        running(started(company, "log.export", payload), done=1, total=2)
        dead(company)

    assert _queries(recruiter) <= few
    assert few < 25


def _queries(client: Client) -> int:
    with CaptureQueriesContext(connection) as queries:
        assert client.get(WORK).status_code == 200
    return len(queries)


def test_a_task_that_nobody_takes_or_that_is_for_later_is_looked_at_less_often(
    recruiter: Client, company: Company
) -> None:
    task = started(company)

    for minutes in (-11, 2):
        moment = timezone.now() + timedelta(minutes=minutes)
        Task.objects.filter(id=task).update(run_after=moment)
        assert 'data-poll-seconds="30"' in page_of(recruiter, f"{WORK}{task}/")


def test_an_import_names_its_rows_and_leads_to_its_own_page(
    recruiter: Client, company: Company, job: UUID
) -> None:
    file = StoredFile.objects.create(
        company_id=company.id,
        job_id=job,
        purpose="IMPORT",
        name="people.csv",
        expires_at=timezone.now() + timedelta(days=7),
    )
    ImportRun.objects.create(file=file, total_rows=1_200, started_by=company.id)
    result = {"accepted": 1_180, "refused": 20, "total": 1_200}
    ended(company, result, "applications.import", {"import_id": str(file.id)})

    page = page_of(recruiter, WORK)

    assert "Import 1,200 applicants into Engineer" in page
    assert "1,180 accepted, 20 refused" in page
    assert f'href="/company/jobs/{job}/import/{file.id}/"' in page


def test_charts_show_what_ended_within_the_hour_with_their_numbers(
    viewer: Client, company: Company
) -> None:
    assert "Tasks done" not in page_of(viewer, "/company/work/")
    for _ in range(3):
        ended(company, {})
    dead(company, started_at=timezone.now())

    page = page_of(viewer, "/company/work/")

    assert "3 in the last hour." in page
    assert "1 in the last hour." in page
    assert page.count('<details class="more">') >= 3
