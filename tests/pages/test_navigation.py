"""One navigation for who is reading: the rail, the Settings page and the palette agree on it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from pytest_django.asserts import assertContains, assertNotContains

from jobs.models import Company, Role
from pipeline.pages.navigation import MAIN, MOST_JOBS, OTHERS, SECTIONS
from pipeline.selectors.jobs import read_newest_open_jobs
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import applicant_browser
from tests.support.round_trips import round_trips_of
from tests.support.sandboxes import sandbox

pytestmark = pytest.mark.django_db(transaction=True)

RAIL = re.compile(r'<ul class="rail-nav rail-main">(.*?)</ul>', re.S)
WORDS = re.compile(r"<[^>]*>")


def labels_of(page: str, part: re.Pattern[str] = RAIL) -> list[str]:
    found = part.search(page)
    assert found
    links = re.findall(r"<a [^>]*>(.*?)</a>", found[1], re.S)
    return [WORDS.sub("", each).strip() for each in links]


def member_page(company: Company, role: Role, path: str = "/company/") -> str:
    return browser_of(member_of(company, role)).get(path).content.decode()


@pytest.mark.parametrize("role", list(Role))
def test_a_member_reads_four_words_and_nothing_technical(company: Company, role: Role) -> None:
    labels = labels_of(member_page(company, role))

    assert labels[1:] == ["Jobs", "People", "Reports", "Settings"]


@pytest.mark.parametrize(
    ("role", "shown", "hidden"),
    [
        (Role.VIEWER, ["Team", "Test mode", "Dead letters", "System"], ["API keys", "Webhooks"]),
        (Role.RECRUITER, ["Working hours", "Job templates"], ["API keys", "Webhooks"]),
        (Role.OWNER, ["API keys", "Webhooks", "Schedules", "Task types"], []),
    ],
)
def test_settings_show_what_the_role_may_open(
    company: Company, role: Role, shown: list[str], hidden: list[str]
) -> None:
    page = member_page(company, role, "/company/settings/")

    assert [each for each in shown if f">{each}</span>" not in page] == []
    assert [each for each in hidden if f">{each}</span>" in page] == []


@pytest.mark.parametrize("role", list(Role))
def test_the_palette_finds_the_places_of_rail_and_settings(company: Company, role: Role) -> None:
    client = browser_of(member_of(company, role))
    found = client.get("/company/go/?fragment=1").content.decode()
    shown = [
        *re.findall(r'href="(/[^"]*)"', RAIL.search(client.get("/company/").content.decode())[1]),  # type: ignore[index]
        *re.findall(
            r'<ul class="settings-list">.*?</ul>',
            client.get("/company/settings/").content.decode(),
            re.S,
        ),
    ]
    links = [link for each in shown for link in re.findall(r"^/.*|(?<=href=\")/[^\"]*", each)]

    assert len(links) > 10
    missing = [each for each in links if f'href="{each}"' not in found]
    assert missing == ["/company/go/"]


def test_every_place_has_a_name_and_every_setting_a_sentence() -> None:
    places = [place for section in SECTIONS for place in section.places]

    assert all(place.about and place.icon for place in places)
    assert all(len(str(place.about).split()) <= 20 for place in places)
    keys = [place.key for place in (*MAIN, *places, *OTHERS) if place.key]
    assert len(keys) == len(set(keys))


def test_the_rail_names_open_jobs_with_the_people_waiting_or_the_free_seats(
    company: Company,
) -> None:
    full = factories.job(company_id=company.id, capacity=1)
    for _ in range(3):
        factories.application(full)
    factories.job(company_id=company.id, capacity=2)
    factories.job(company_id=company.id, open_now=False)

    jobs = read_newest_open_jobs(company.id, limit=5)
    page = member_page(company, Role.VIEWER, "/company/people/")

    assert [(job.people_waiting, job.seats_free) for job in jobs] == [(0, 2), (2, 0)]
    assert '<span class="count">2<span class="vh"> waiting</span></span>' in page
    assert '<span class="count">2 free</span>' in page


def test_the_rail_costs_one_statement_however_many_jobs_there_are(company: Company) -> None:
    client = browser_of(member_of(company))

    def rail_statements() -> int:
        return round_trips_of(lambda: client.get("/company/settings/"))

    factories.job(company_id=company.id)
    few = rail_statements()
    for _ in range(MOST_JOBS):
        factories.job(company_id=company.id)
    many = rail_statements()

    assert few == many
    assertContains(client.get("/company/settings/"), "All open jobs")


def test_the_job_of_the_page_is_marked_in_the_rail(company: Company) -> None:
    job = factories.job(company_id=company.id)

    page = member_page(company, Role.VIEWER, f"/company/jobs/{job}/")

    assert f'<a href="/company/jobs/{job}/" aria-current="true">' in page


def test_a_sandbox_has_no_team_of_its_own(company: Company) -> None:
    client = browser_of(member_of(company))
    client.post("/company/switch/", {"company": str(sandbox(company).id)})

    page = client.get("/company/settings/")

    assertContains(page, "Test mode")
    assertNotContains(page, ">Team</span>")


def test_emails_of_development_are_listed_only_where_they_are_kept(
    company: Company, settings: Any
) -> None:
    settings.DEV_MAIL = True
    assert "Emails (development)" in member_page(company, Role.VIEWER, "/company/settings/")

    settings.DEV_MAIL = False
    assert "Emails (development)" not in member_page(company, Role.VIEWER, "/company/settings/")


def test_applicants_and_strangers_have_their_own_words() -> None:
    top = re.compile(r'<nav class="main-nav"[^>]*>(.*?)</nav>', re.S)
    applicant = applicant_browser(factories.applicant()).get("/").content.decode()
    stranger = Client().get("/").content.decode()

    assert labels_of(applicant, top) == ["My applications", "Open jobs"]
    assert labels_of(stranger, top) == ["Open jobs", "For companies"]


def test_reports_lead_to_the_figures_of_each_job(company: Company) -> None:
    job = factories.job(company_id=company.id)

    page = member_page(company, Role.VIEWER, "/company/reports/")

    assert f"/company/jobs/{job}/figures/" in page
    assert f"/company/jobs/{job}/reports/" in page
    assert "/company/idle-seats/" in page
