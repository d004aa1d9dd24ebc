"""Planned seats on pages: planned and cancelled by owners, announced to everyone."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company, Role
from pipeline.models import PlannedSeats
from pipeline.services.jobs import close_job
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser, named
from tests.support.clock import database_now, let_time_pass
from tests.support.pages import follow, page_of, text_of
from tests.support.planned_seats import WEEK, planned

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner(company: Company) -> Client:
    return browser_of(member_of(company, Role.OWNER))


def _path(job: UUID) -> str:
    return f"/company/jobs/{job}/planned-seats/"


def _form(page: str, **changes: Any) -> dict[str, Any]:
    once = re.search(r'name="once" value="([^"]+)"', page)
    assert once
    given = {"change": "open", "seats": 2, "at": "09:30", "zone": "Europe/Berlin", "times": 3}
    day = (database_now() + timedelta(days=30)).date().isoformat()
    return given | {"once": once[1], "day": day} | changes


def test_an_owner_plans_seats_and_cancels_them(owner: Client, job: UUID) -> None:
    given = _form(page_of(owner, _path(job)))

    page = follow(owner, _path(job), given)
    follow(owner, _path(job), given)  # the button was pressed twice

    assert "Planned. Everyone can see it" in page
    assert "2 seats open</strong> every week from" in page
    plan = PlannedSeats.objects.get()
    assert (plan.seats, plan.times, plan.zone) == (2, 3, "Europe/Berlin")
    assert "No seats are planned." in follow(owner, f"{_path(job)}{plan.id}/cancel/", {})
    assert "nothing left to cancel" in follow(owner, f"{_path(job)}{plan.id}/cancel/", {})


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"day": "2020-01-01"}, "must be in the future"),
        ({"day": "tomorrow"}, "Enter a date"),
        ({"change": "close", "seats": 5}, "must always have 1 to 10,000 seats"),
        ({"seats": 0}, "Enter 1 or more"),
        ({"times": 105}, "Enter 104 or less"),
        ({"zone": "Mars"}, "Choose one of the options"),
        ({"day": "0001-01-01", "at": "00:00"}, "Enter a date in the next two years"),
        ({"day": "9999-12-31", "at": "23:59", "zone": "America/New_York"}, "in the next two years"),
        ({"day": "9999-12-30"}, "at most two years ahead"),
        ({"day": "2027-03-28", "at": "02:30"}, "The clocks skip this time on that day"),
    ],
)
def test_a_wrong_plan_is_refused_in_words(
    owner: Client, job: UUID, wrong: dict[str, Any], says: str
) -> None:
    answer = owner.post(_path(job), _form(page_of(owner, _path(job)), **wrong))

    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert not PlannedSeats.objects.exists()


def test_of_a_time_that_comes_twice_the_first_is_planned(owner: Client, job: UUID) -> None:
    given = _form(page_of(owner, _path(job)), day="2027-10-31", at="02:30", times=1)

    follow(owner, _path(job), given)

    assert PlannedSeats.objects.get().first_at.isoformat() == "2027-10-31T00:30:00+00:00"


def test_a_recruiter_reads_the_plans_and_changes_none(recruiter: Client, job: UUID) -> None:
    plan = planned(job)

    page = page_of(recruiter, _path(job))

    assert "1 seat opens" in page
    assert "Only an owner can plan seats." in page
    assert f"{plan.id}/cancel/" not in page
    assert recruiter.post(_path(job), {}).status_code == 403
    assert recruiter.post(f"{_path(job)}{plan.id}/cancel/").status_code == 403


def test_everybody_sees_the_plans_on_the_jobs_page(job: UUID) -> None:
    planned(job, 2)
    planned(job, -1, seconds=900, times=3)

    page = page_of(Client(), f"/jobs/{job}/")

    assert "2 seats open</strong> on" in page
    assert "1 seat closes</strong> every week from" in page


def test_people_in_line_see_the_plans_and_their_page_notices_a_change(job: UUID) -> None:
    waiting = named(job, "Dee Rao")
    browser = applicant_browser(waiting.applicant)
    path = f"/me/applications/{waiting.id}/"
    before = browser.get(f"{path}?fragment=1")
    planned(job, 2)

    after = browser.get(f"{path}?fragment=1", headers={"If-None-Match": before["ETag"]})

    assert after.status_code == 200
    assert "2 seats open" in text_of(after)
    again = browser.get(f"{path}?fragment=1", headers={"If-None-Match": after["ETag"]})
    assert again.status_code == 304


def test_the_log_says_in_words_that_it_was_planned(owner: Client, job: UUID) -> None:
    planned(job, 2, times=2)
    let_time_pass(job, 601)
    factories.settle_all()

    page = page_of(owner, f"/company/jobs/{job}/timeline/")

    assert "As planned for" in page
    assert "the number of seats changed: 4 seats" in page


def test_the_log_says_of_an_offer_that_its_seat_was_planned(owner: Client, job: UUID) -> None:
    factories.applications(job, 4)
    planned(job, 1)
    let_time_pass(job, 601)
    factories.settle_all()

    page = page_of(owner, f"/company/jobs/{job}/timeline/")

    assert "A planned seat opened and it was the applicant’s turn" in page


def test_a_closed_job_has_no_plans(owner: Client, job: UUID) -> None:
    planned(job, 2, seconds=WEEK)

    close_job(job_id=job, actor=factories.RECRUITER)

    page = page_of(owner, _path(job))
    assert "its number of seats no longer changes" in page
    assert "Plan these seats" not in page
