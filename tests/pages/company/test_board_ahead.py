"""A job's pipeline on its page: one more seat, the chart of the last day, and marks of the line."""

from __future__ import annotations

import re
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company
from pipeline.models import Application
from tests.support import factories
from tests.support.applicants import named
from tests.support.clock import let_time_pass
from tests.support.pages import page_of


def test_one_more_seat_says_what_it_does_before_it_is_pressed(owner: Client, job: UUID) -> None:
    page = page_of(owner, f"/company/jobs/{job}/")

    assert "With one more seat: Cy Okafor is promoted at once." in page
    assert "capacity/?capacity=1" in page
    assert "capacity/?capacity=3" in page


def test_one_more_seat_passes_over_who_passes_the_next_turn(owner: Client, job: UUID) -> None:
    Application.objects.filter(id=named(job, "Cy Okafor").id).update(pass_next=True)

    board = page_of(owner, f"/company/jobs/{job}/")
    asked = page_of(owner, f"/company/jobs/{job}/capacity/?capacity=3")

    assert "With one more seat: Dee Rao is promoted at once." in board
    assert "Dee Rao is promoted at once." in asked


def test_one_more_seat_says_why_it_would_stay_free(owner: Client, company: Company) -> None:
    job = factories.job(company_id=company.id, capacity=1)
    factories.application(job)
    nobody = page_of(owner, f"/company/jobs/{job}/")
    factories.application(job, verified=False)

    nobody_yet = page_of(owner, f"/company/jobs/{job}/")

    assert "With one more seat: nobody is waiting, so nobody is promoted." in nobody
    assert (
        "With one more seat: it stays free for now, because nobody waiting can be offered one yet."
    ) in nobody_yet


def test_the_chart_of_the_last_day_follows_the_line(viewer: Client, company: Company) -> None:
    job = factories.job(company_id=company.id, capacity=1)
    path = f"/company/jobs/{job}/?fragment=1"
    before = page_of(viewer, path)
    factories.applications(job, 2)

    after = page_of(viewer, path)

    assert "Since the job opened" in before
    assert "0 of 1 seat is taken and 0 people are waiting." in before
    assert re.search(r"As of \d\d:\d\d:\d\d, 1 of 1 seat is taken and 1 person is waiting\.", after)
    assert "axis ends" not in after


def test_the_chart_of_a_long_log_is_kept_for_a_minute(
    viewer: Client, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.pages.company.board.MANY_EVENTS", 1)
    job = factories.job(company_id=company.id, capacity=1)
    page_of(viewer, f"/company/jobs/{job}/?fragment=1")
    factories.applications(job, 2)

    after = page_of(viewer, f"/company/jobs/{job}/?fragment=1")

    assert "0 of 1 seat is taken and 0 people are waiting." in after


def test_the_chart_of_an_older_job_is_of_the_last_day(viewer: Client, job: UUID) -> None:
    let_time_pass(job, 25 * 3600)

    assert "The last 24 hours" in page_of(viewer, f"/company/jobs/{job}/")


def test_a_row_of_the_line_has_its_marks_in_one_group(viewer: Client, job: UUID) -> None:
    Application.objects.filter(id=named(job, "Cy Okafor").id).update(decay_count=1, passes_used=1)

    row = page_of(viewer, f"/company/jobs/{job}/").split('class="waiting"')[1].split("</li>")[0]

    assert row.count('class="marks"') == 1
    assert "1 miss" in row
    assert "Passed once" in row
