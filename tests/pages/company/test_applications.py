"""The list of a job's applications: filters, saved views, the file, and deciding on all shown."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from html import unescape
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import Company, Role
from pipeline.domain.states import Outcome
from pipeline.form.versions import publish
from pipeline.maintenance import name_index
from pipeline.models import Application, SavedView
from pipeline.pages.company import application_filters
from pipeline.review import annotations as write
from pipeline.selectors.job_applications import list_statements
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.applicants import decide, leave, named
from tests.support.forms import FIVE, filled
from tests.support.pages import follow, page_of

NAMES = ["Ana Li", "Bo Berg", "Cy Okafor", "Dee Rao", "Eli Sato"]


@pytest.fixture
def line(company: Company, job: UUID) -> Any:
    """Give people something to be found by, and return the member whom one is assigned to."""
    member = member_of(company, Role.RECRUITER)
    cy, dee = named(job, "Cy Okafor"), named(job, "Dee Rao")
    write.add_tag(application_id=cy.id, word="night")
    write.add_tag(application_id=dee.id, word="very late")
    write.assign_application(application_id=dee.id, company_id=company.id, user_id=member.id)
    later = timezone.now() + timedelta(hours=1)
    Application.objects.filter(id=dee.id).update(decay_count=2, eligible_at=later)
    decide(named(job, "Bo Berg"), Outcome.REJECTED)
    leave(named(job, "Eli Sato"))
    added = factories.applicant(name="Fay Kim")
    factories.application(job, added, actor=factories.RECRUITER)
    name_index.update()
    return member


def shown(client: Client, job: UUID, query: str) -> set[str]:
    page = page_of(client, f"/company/jobs/{job}/applications/?{query}")
    return {name for name in [*NAMES, "Fay Kim"] if f">{name}</a>" in page}


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", {*NAMES, "Fay Kim"}),
        ("state=ENDED", {"Bo Berg", "Eli Sato"}),
        ("state=REJECTED", {"Bo Berg"}),
        ("state=ACTIVE", {"Ana Li"}),
        ("misses=1", {"Dee Rao"}),
        ("cooling=1", {"Dee Rao"}),
        ("tag=Night", {"Cy Okafor"}),
        ("tag=+Very++Late", {"Dee Rao"}),
        ("source=COMPANY", {"Fay Kim"}),
        ("source=APPLICANT&state=ENDED", {"Bo Berg", "Eli Sato"}),
        ("came_from=Direct", {*NAMES, "Fay Kim"}),
        ("came_from=fair", set()),
        ("q=dee", {"Dee Rao"}),
        ("q=dee&tag=night", set()),
        ("order=-ended_at", {"Bo Berg", "Eli Sato"}),
        ("misses=x&state=y&source=z&assignee=me&order=no&after=x", {*NAMES, "Fay Kim"}),
    ],
)
def test_each_filter_finds_its_people(
    viewer: Client, line: Any, job: UUID, query: str, names: set[str]
) -> None:
    assert shown(viewer, job, query) == names


def test_people_are_found_by_whom_they_are_assigned_to(
    viewer: Client, line: Any, job: UUID
) -> None:
    assert shown(viewer, job, f"assignee={line.id}") == {"Dee Rao"}


def test_a_page_leads_to_the_next(viewer: Client, company: Company) -> None:
    job = factories.job(company_id=company.id, capacity=1)
    factories.applications(job, 55)

    first = page_of(viewer, f"/company/jobs/{job}/applications/")
    after = first.partition("?after=")[2].partition('"')[0]
    second = page_of(viewer, f"/company/jobs/{job}/applications/?after={after}")

    assert "55 match" in first
    assert (first.count("data-key="), second.count("data-key=")) == (50, 5)


def test_ended_first_counts_only_who_ended(viewer: Client, line: Any, job: UUID) -> None:
    path = f"/company/jobs/{job}/applications/"

    assert "2 match" in page_of(viewer, f"{path}?order=-ended_at")
    assert "6 match" in page_of(viewer, path)


def test_what_was_not_searched_is_said_and_can_still_be_decided_on(
    recruiter: Client, line: Any, job: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("selectors.job_applications", "pages.company.applications"):
        monkeypatch.setattr(f"pipeline.{name}.MOST_COUNTED", 3)
    monkeypatch.setattr("pipeline.selectors.job_applications.CANDIDATES", 1)
    monkeypatch.setattr("pipeline.selectors.applications.MOST_MARKED", -1)
    list_statements.cache_clear()

    page = page_of(recruiter, f"/company/jobs/{job}/applications/?tag=night")
    list_statements.cache_clear()

    assert "at least 1 among the newest 3" in page
    assert "Nobody on this page matches" in page
    assert "Decide on everyone who matches" in page
    assert "format=csv" in page


def test_what_is_shown_is_downloaded(viewer: Client, line: Any, job: UUID) -> None:
    answer = viewer.get(f"/company/jobs/{job}/applications/?misses=1&format=csv")
    content = answer.getvalue()
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))

    assert content.startswith(b"\xef\xbb\xbf")
    assert [row["name"] for row in rows] == ["Dee Rao"]
    assert (rows[0]["misses"], rows[0]["assignee"]) == ("2", line.email)
    assert rows[0]["source"] == "direct"
    assert "attachment" in answer["Content-Disposition"]


def test_the_download_has_the_answers_of_each_person(company: Company, viewer: Client) -> None:
    job = factories.job(company_id=company.id)
    factories.application(job)
    publish(job_id=job, questions=FIVE, actor=factories.RECRUITER)
    factories.application(job, filled=filled(job))

    content = viewer.get(f"/company/jobs/{job}/applications/?format=csv").getvalue()
    rows = list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"))))

    told = sorted((row["form_version"], row["answer_town"], row["answer_days"]) for row in rows)
    assert told == [("", "", ""), ("1", "Kiel", "Mon; Wed")]


def test_a_view_is_saved_for_its_member_only(
    company: Company, viewer: Client, line: Any, job: UUID
) -> None:
    mine, path = browser_of(line), f"/company/jobs/{job}/applications/"

    page = follow(mine, f"{path}view/", {"query": "tag=night&x=1", "name": " Night  shift "})
    assert "Night shift</a>" in page
    assert SavedView.objects.get().query == "tag=night"
    assert "Night shift" not in page_of(viewer, path)
    viewer.post(f"{path}view/", {"remove": SavedView.objects.get().id})
    assert SavedView.objects.exists()

    follow(mine, f"{path}view/", {"remove": SavedView.objects.get().id})
    assert not SavedView.objects.exists()
    assert "Choose filters" in follow(mine, f"{path}view/", {"query": "", "name": "x"})


def test_views_are_few(
    company: Company, line: Any, job: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.pages.company.applications.MOST_VIEWS", 1)
    path = f"/company/jobs/{job}/applications/view/"
    mine = browser_of(line)
    follow(mine, path, {"query": "tag=a", "name": "a"})

    assert "Remove one first" in follow(mine, path, {"query": "tag=b", "name": "b"})
    assert "Saved as" in follow(mine, path, {"query": "tag=c", "name": "a"})


def test_everybody_who_matches_is_decided_on(recruiter: Client, line: Any, job: UUID) -> None:
    asked = follow(
        recruiter, f"/company/jobs/{job}/decide/", {"all": "1", "query": "state=WAITLIST"}
    )

    assert "Decide on 2 people" in asked
    assert "Dee Rao" in asked


def test_everybody_is_found_by_all_filters_however_long(
    recruiter: Client, line: Any, job: UUID
) -> None:
    name, cy = "Ж" * 100, named(job, "Cy Okafor")
    Application.objects.filter(id__in=[cy.id, named(job, "Ana Li").id]).update(name=name)
    name_index.update()
    page = page_of(recruiter, f"/company/jobs/{job}/applications/?q={name}&tag=night")
    query = unescape(page.partition('name="query" value="')[2].partition('"')[0])

    asked = follow(recruiter, f"/company/jobs/{job}/decide/", {"all": "1", "query": query})

    assert "Decide on 1 person" in asked
    assert f"/company/applications/{cy.id}/" in asked
    saved = {"query": query, "name": "Long"}
    assert "too long to save" in follow(recruiter, f"/company/jobs/{job}/applications/view/", saved)
    assert not SavedView.objects.exists()


@pytest.mark.parametrize(
    "query",
    [
        *("", "x=1", "state=WAITLIST&assignee=me", "assignee=0", "state=NO", "misses=x"),
        *("tag=night&tag=fair", "misses=1000", "cooling=yes", f"tag={'x' * 41}", "source=x&q=a"),
    ],
)
def test_filters_that_cannot_be_read_choose_nobody(
    recruiter: Client, line: Any, job: UUID, query: str
) -> None:
    asked = follow(recruiter, f"/company/jobs/{job}/decide/", {"all": "1", "query": query})

    assert "the filters could not be read" in asked
    assert 'id="consequence"' not in asked


def test_a_search_that_takes_too_long_chooses_nobody(
    recruiter: Client, line: Any, job: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(application_filters, "LONGEST_SEARCH_SECONDS", -1)
    path, form = f"/company/jobs/{job}/decide/", {"all": "1", "query": "tag=night"}
    assert "Decide on 1 person" in follow(recruiter, path, form)

    monkeypatch.setattr("pipeline.selectors.job_applications.CANDIDATES", 1)
    monkeypatch.setattr("pipeline.selectors.applications.MOST_MARKED", -1)
    list_statements.cache_clear()
    asked = follow(recruiter, path, form)
    list_statements.cache_clear()

    assert "the search took too long" in asked


def test_roles(viewer: Client, stranger: Client, recruiter: Client, line: Any, job: UUID) -> None:
    path = f"/company/jobs/{job}/applications/"

    assert stranger.get(path).status_code == 404
    assert stranger.post(f"{path}view/", {"name": "x"}).status_code == 404
    assert 'class="tick"' not in page_of(viewer, path)
    assert 'form="bulk"' in page_of(recruiter, path)


def test_a_number_in_line_is_gone_to_and_back(viewer: Client, company: Company) -> None:
    job = factories.job(company_id=company.id, capacity=1)
    factories.applications(job, 131)
    board = f"/company/jobs/{job}/"

    def numbers(url: str) -> tuple[str, str]:
        page = page_of(viewer, url)
        places = [part.partition("<")[0] for part in page.split("Number </span>")[1:]]
        return places[0], places[-1]

    there = viewer.get(f"{board}?place=70").url
    assert numbers(there) == ("70", "119")
    back = page_of(viewer, there).partition('rel="prev"')[0].rpartition('href="')[2].split('"')[0]
    assert numbers(back.partition("#")[0]) == ("20", "69")
    assert numbers(viewer.get(f"{board}?place=999999").url) == ("130", "130")
    assert numbers(f"{board}?place=x") == ("1", "50")
