"""The page on which a company gives a person with an open offer more time."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import Company
from pipeline.models import Application
from pipeline.services.jobs import close_job
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import let_time_pass
from tests.support.pages import follow, page_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def offered(company: Company) -> Application:
    """Someone who was offered the only seat, with two people behind."""
    job = factories.job(company_id=company.id, acknowledge_first_seat=True)
    for name in ("Ana Li", "Bo Berg", "Cy Okafor"):
        factories.application(job, factories.applicant(name=name))
    return Application.objects.get(job_id=job, name="Ana Li")


def path_of(person: Application) -> str:
    return f"/company/applications/{person.id}/extend/"


def promise_of(page: str) -> dict[str, str]:
    return dict(re.findall(r'<input type="hidden" name="(promised)" value="([^"]*)"', page))


def deadline_of(person: Application) -> datetime:
    deadline = factories.fresh(person).acknowledge_by
    assert deadline is not None
    return deadline


def test_it_says_what_more_time_means_and_for_whom(recruiter: Client, offered: Application) -> None:
    page = page_of(recruiter, path_of(offered))

    assert "We email the person the new deadline" in page
    assert "Bo Berg" in page
    assert "of 2 people who wait" in page
    assert "You can extend this offer 5 more times." in page
    assert "facts page of the job counts this" in page
    until = timezone.localtime(deadline_of(offered) + timedelta(hours=1))
    assert f"1 hour more, until {until:%H:%M}" in page
    assert path_of(offered) in page_of(recruiter, f"/company/applications/{offered.id}/")


@pytest.mark.parametrize(("more", "hours"), [("hour", 1), ("day", 24)])
def test_the_button_gives_it(
    recruiter: Client, offered: Application, more: str, hours: int
) -> None:
    before = deadline_of(offered)
    sent = promise_of(page_of(recruiter, path_of(offered))) | {"more": more}

    done = follow(recruiter, path_of(offered), sent)

    assert deadline_of(offered) == before + timedelta(hours=hours)
    assert "Ana Li" in done
    assert "We email them the new deadline." in done
    again = recruiter.post(path_of(offered), sent)  # pressed twice, from the page before
    assert again.status_code == 422
    assert "has changed since you opened this page" in text_of(again)
    assert deadline_of(offered) == before + timedelta(hours=hours)


def test_a_date_of_ones_own_counts_in_the_zone_of_the_page(
    recruiter: Client, offered: Application
) -> None:
    wanted = (timezone.localtime(deadline_of(offered)) + timedelta(days=3)).replace(
        second=0, microsecond=0
    )
    sent = {"more": "own", "day": f"{wanted:%Y-%m-%d}", "at": f"{wanted:%H:%M}"}

    follow(recruiter, path_of(offered), sent)

    assert deadline_of(offered) == wanted


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        ({}, "Choose one."),
        ({"more": "week"}, "Choose one of the options."),
        ({"more": "own"}, "Fill in this field."),
        ({"more": "own", "day": "soon", "at": "09:00"}, "Enter a date, like 2027-01-31."),
        ({"more": "own", "day": "2020-01-01", "at": "09:00"}, "Choose a time after the deadline."),
        ({"more": "own", "day": "2126-01-01", "at": "09:00"}, "in the next 30 days"),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    recruiter: Client, offered: Application, sent: dict[str, str], why: str
) -> None:
    before = deadline_of(offered)

    answer = recruiter.post(path_of(offered), sent | {"promised": before.isoformat()})

    assert answer.status_code == 422
    assert why in text_of(answer)
    assert deadline_of(offered) == before


def test_after_the_last_extension_it_says_so(recruiter: Client, offered: Application) -> None:
    for _ in range(5):
        follow(recruiter, path_of(offered), {"more": "hour"})

    page = page_of(recruiter, path_of(offered))

    assert "5 times, which is the limit" in page
    assert "Give more time</button>" not in page


def test_without_an_open_offer_it_leads_back(
    recruiter: Client, offered: Application, company: Company
) -> None:
    let_time_pass(offered.job_id, factories.WINDOW)
    assert "no open offer" in follow(recruiter, path_of(offered), {"more": "hour"})
    assert factories.event_names(offered.job_id).count("DEADLINE_EXTENDED") == 0

    job = factories.job(company_id=company.id)
    seated, waiting = factories.applications(job, 2)
    leave(seated)
    close_job(job_id=job, actor=factories.RECRUITER)
    for person in (seated, waiting):
        assert recruiter.get(path_of(person)).status_code == 302


def test_only_who_may_decide_gives_time(
    viewer: Client, stranger: Client, offered: Application
) -> None:
    assert viewer.post(path_of(offered), {"more": "hour"}).status_code == 403
    assert stranger.get(path_of(offered)).status_code == 404
    assert path_of(offered) not in page_of(viewer, f"/company/applications/{offered.id}/")


def test_the_times_to_choose_leave_out_quiet_hours(recruiter: Client, company: Company) -> None:
    quiet = {"quiet_from": "22:00", "quiet_to": "08:00", "quiet_time_zone": "UTC"}
    job: UUID = factories.job(company_id=company.id, acknowledge_first_seat=True, **quiet)
    person = factories.application(job)
    before = deadline_of(person)

    follow(recruiter, path_of(person), {"more": "day"})

    hours = (deadline_of(person) - before) / timedelta(hours=1)
    assert hours > 24  # a day of the time that runs
