"""A job's pipeline on its page: one more seat, what happened lately, and marks of the line."""

from __future__ import annotations

import re
from uuid import UUID

from django.test import Client

from jobs.models import Company
from pipeline.domain.states import Outcome
from pipeline.models import Application
from tests.support import factories
from tests.support.applicants import decide, named
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


def test_the_week_is_told_once_the_number_of_people_has_changed(
    viewer: Client, company: Company
) -> None:
    job = factories.job(company_id=company.id, capacity=1)
    path = f"/company/jobs/{job}/"
    before = page_of(viewer, path)
    let_time_pass(job, 8 * 24 * 3600)
    factories.applications(job, 3)

    after = page_of(viewer, path)

    assert "sparkline" not in before
    assert "Since the start" in before
    assert 'aria-label="People waiting: 0, 0, 0, 0, 0, 0, 0, 2"' in after
    assert "waiting, 2 more" in after
    assert "Last 7 days" in after


def test_the_time_in_review_is_that_of_the_last_decisions(viewer: Client, company: Company) -> None:
    job = factories.job(company_id=company.id, capacity=5)
    people = factories.applications(job, 5)
    let_time_pass(job, 2 * 3600)
    for number, person in enumerate(people):
        assert ("Time in review" in page_of(viewer, f"/company/jobs/{job}/")) == (number > 4)
        decide(person, Outcome.REJECTED)

    page = page_of(viewer, f"/company/jobs/{job}/")

    assert re.search(r"<dt>Time in review</dt><dd>2 h", page)


def test_a_row_of_the_line_has_its_marks_in_one_group(viewer: Client, job: UUID) -> None:
    Application.objects.filter(id=named(job, "Cy Okafor").id).update(decay_count=1, passes_used=1)

    row = page_of(viewer, f"/company/jobs/{job}/").split('class="waiting')[1].split("</tr>")[0]

    assert row.count('class="marks"') == 1
    assert "1 miss" in row
    assert "passed once" in row
