"""A draw by lot on pages: announced by the company, and what applicants read before and after."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from jobs.models import Company, Job, Role
from pipeline.models import Event
from pipeline.services.jobs import pause_job
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser
from tests.support.clock import database_now
from tests.support.lottery import draw, lottery
from tests.support.pages import page_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def owner(company: Company) -> Client:
    return browser_of(member_of(company, Role.OWNER))


def _form(company: Company, **changes: Any) -> dict[str, Any]:
    day = (database_now() + timedelta(days=30)).date().isoformat()
    return {
        "company_id": company.id,
        "title": "Night watch",
        "capacity": 2,
        "window": 1,
        "window_unit": "days",
        "penalty_places": 1,
        "max_decays": 3,
        "cooldown": 1,
        "cooldown_unit": "hours",
        "max_passes": "1",
        "start": "OPEN",
        "opening": "lottery",
        "draw_day": day,
        "draw_time": "12:00",
        "draw_zone": "Europe/Berlin",
    } | changes


def test_an_owner_creates_a_job_with_a_draw(owner: Client, company: Company) -> None:
    answer = owner.post("/company/jobs/new/", _form(company), follow=True)

    job = Job.objects.get(posting__title="Night watch")
    assert job.draw_at is not None
    assert "The order is drawn by lot" in answer.content.decode()
    assert "0 applications take part so far. Nobody gets a seat before." in text_of(answer)


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"draw_day": ""}, "Enter the day and the time of the draw."),
        ({"draw_day": "2020-01-01"}, "The draw must be in the future, at most 90 days ahead."),
        ({"draw_day": "9999-12-31", "draw_zone": "America/New_York"}, "The draw must be in the"),
        ({"draw_day": "2027-03-28", "draw_time": "02:30"}, "The clocks skip this time"),
    ],
)
def test_a_wrong_draw_is_refused_in_words(
    owner: Client, company: Company, wrong: dict[str, Any], says: str
) -> None:
    answer = owner.post("/company/jobs/new/", _form(company, **wrong))

    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert not Job.objects.filter(posting__title="Night watch").exists()


def test_without_a_draw_its_fields_do_not_matter(owner: Client, company: Company) -> None:
    owner.post("/company/jobs/new/", _form(company, opening="first_come", draw_day="nonsense"))
    owner.post("/company/jobs/new/", _form(company, opening="first_come", draw_day=""))

    assert [job.draw_at for job in Job.objects.filter(posting__title="Night watch")] == [None, None]


def test_everybody_reads_when_the_order_is_drawn() -> None:
    job_id = lottery(capacity=2)
    factories.applications(job_id, 2)

    page = page_of(Client(), f"/jobs/{job_id}/")

    assert "The order is then drawn by lot, so it does not matter who applies first." in page
    assert "2 seats, 2 taking part." in text_of(Client().get(f"/jobs/{job_id}/"))
    assert "A seat is free now" not in page
    assert "Nobody on the waitlist can take a seat" not in page
    assert "Everyone who applies before" in page_of(Client(), f"/jobs/{job_id}/facts/")


def test_who_comes_to_a_full_draw_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.domain.draw.MOST_IN_DRAW", 2)
    job_id = lottery()
    factories.applications(job_id, 2)
    signed_in = applicant_browser(factories.applicant())
    form = {"name": "Ana", "email": "ana@example.org"}

    answers = [
        who.post(f"/jobs/{job_id}/apply/", form, follow=True) for who in (signed_in, Client())
    ]

    for answer in answers:
        assert "already take part in the draw by lot" in answer.content.decode()
    assert factories.row_of(job_id).waitlist_count == 2


def test_an_applicant_takes_part_and_then_has_a_place() -> None:
    job_id = lottery()
    waiting, *_ = factories.applications(job_id, 4)
    browser, path = applicant_browser(waiting.applicant), f"/me/applications/{waiting.id}/"

    before = page_of(browser, path)
    listed = page_of(browser, "/me/")
    leaving = page_of(browser, f"{path}withdraw/")
    places = page_of(browser, f"{path}places/")
    draw(job_id)
    after = page_of(browser, path)

    assert "You are in the draw." in before
    assert "You are in the draw." in listed
    assert "You applied before the draw. The order of the line is drawn by lot" in before
    assert "you take no part in the draw" in leaving
    assert "The order is still to be drawn by lot. Nobody has a place before that." in places
    assert "Every change" not in places
    number = list(
        Event.objects.filter(job_id=job_id, event="PLACED")
        .order_by("seq")
        .values_list("application_id", flat=True)
    ).index(waiting.id)
    says = ["It is your turn.", "You are next in line."]
    assert (says[number] if number < 2 else f"number {number} of 3") in after
    assert "The order was drawn" in after
    assert "The order is still to be drawn" not in page_of(browser, f"{path}places/")


def test_the_company_sees_the_draw_and_its_places_in_the_timeline(
    owner: Client, company: Company
) -> None:
    job_id = lottery(company_id=company.id)
    factories.applications(job_id, 3)

    before = page_of(owner, f"/company/jobs/{job_id}/")
    draw(job_id)
    timeline = page_of(owner, f"/company/jobs/{job_id}/timeline/")

    assert "3 applications take part so far." in before
    assert "is promoted at once" not in before
    assert "the order of the 3 applications in line was drawn by lot" in timeline
    assert "Placed by the draw" in timeline
    assert "The order is drawn by lot" not in page_of(owner, f"/company/jobs/{job_id}/")


def test_the_board_numbers_nobody_before_the_draw(
    owner: Client, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.selectors.board.WAITING_SHOWN", 2)
    job_id = lottery(company_id=company.id)
    factories.applications(job_id, 4)

    before = page_of(owner, f"/company/jobs/{job_id}/")
    pause_job(job_id=job_id, actor=factories.RECRUITER)
    paused = page_of(owner, f"/company/jobs/{job_id}/")
    draw(job_id)
    after = page_of(owner, f"/company/jobs/{job_id}/")

    number = '<span class="vh">Number </span>'
    assert number not in before
    assert "No place yet" in before
    assert "Go to a number in line" not in before
    assert "When you resume, people can apply again." in paused
    assert number in after
    assert "1 to 2" in after
    assert "promoted at once" in after
