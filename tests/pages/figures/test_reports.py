"""The pages of weekly reports: who sees and requests what, and their content."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import Company, Role
from pipeline.figures.reports import KEY
from pipeline.models import WeeklyReport
from pipeline.pages.figures.reports import GROUPS
from tasks.models import Schedule, Status, Task
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.handlers import Run
from tests.support.weeks import last_week


def url(job: UUID, rest: str = "") -> str:
    return f"/company/jobs/{job}/reports/{rest}"


def text_of(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return " ".join(response.content.decode().split())


@pytest.fixture
def made(job: UUID, company: Company) -> str:
    """The last two weeks' reports are made; the address of the last one."""
    for week in (last_week().before, last_week()):
        payload = {"job_id": str(job), "week": week.monday.isoformat()}
        Run(KEY, payload, company.id)
    return url(job, f"{last_week().monday}/")


def test_without_reports_the_page_says_what_one_is(viewer: Client, job: UUID) -> None:
    text = text_of(viewer, url(job))

    assert "No reports yet" in text
    assert "Create last week" not in text
    assert "An owner can start this" in text


def test_a_job_of_this_week_has_nothing_to_report_yet(owner: Client, company: Company) -> None:
    text = text_of(owner, url(factories.job(company_id=company.id)))

    assert "The first week is not over" in text
    assert "Create last week" not in text
    assert "Create one every Monday" in text


def test_the_list_has_every_week_and_links_to_it(viewer: Client, job: UUID, made: str) -> None:
    text = text_of(viewer, url(job))

    for week in (last_week(), last_week().before):
        assert f'href="{url(job, f"{week.monday}/")}"' in text
    assert 'data-name="Offered">2<' in text


def test_a_report_tells_the_week_in_words_numbers_and_charts(viewer: Client, made: str) -> None:
    text = text_of(viewer, made)

    assert "No people applied and 2 seats were offered; 1 was confirmed, and 1 deadline" in text
    assert re.search(
        'Applied</span> ?<span class="tile-value">0</span>.{0,40}\N{MINUS SIGN}3 on the week', text
    )
    for ident in ("days", "occupancy"):
        assert f'role="img" aria-labelledby="{ident}-t {ident}-d"' in text
    assert re.search(r"Hired</th>.{0,60}<strong>1</strong>", text)
    assert "in UTC" in text


def test_a_first_week_says_that_it_is_not_compared(viewer: Client, job: UUID, made: str) -> None:
    text = text_of(viewer, url(job, f"{last_week().before.monday}/"))

    assert "no week to compare with" in text
    assert "on the week before" not in text


def test_the_numbers_can_be_taken_away(viewer: Client, made: str) -> None:
    response = viewer.get(made.removesuffix("/") + ".csv")

    text = response.content.decode()
    rows = {row["figure"]: row for row in csv.DictReader(io.StringIO(text.lstrip("\ufeff")))}
    assert text.startswith("\ufeff")
    assert response["Content-Disposition"].endswith(f'-week-{last_week().monday}.csv"')
    assert (rows["applied"]["week"], rows["applied"]["week_before"]) == ("0", "3")
    assert rows["decided_hired"]["week"] == "1"
    assert float(rows["median_confirm_seconds"]["week"]) == pytest.approx(3_600, abs=5)
    assert rows["median_confirm_seconds"]["week_before"] == ""
    assert len(rows) == sum(map(len, GROUPS.values()))


def test_a_report_is_read_in_few_queries(viewer: Client, made: str) -> None:
    viewer.get(made)

    with CaptureQueriesContext(connection) as queries:
        viewer.get(made)

    assert len(queries) <= 10


def test_of_another_companys_job_there_is_nothing(job: UUID, made: str) -> None:
    stranger = browser_of(member_of(factories.company(name="Other"), Role.OWNER))

    for address in (url(job), made, made.removesuffix("/") + ".csv"):
        assert stranger.get(address).status_code == 404
        assert Client().get(address).status_code == 302
    for address in (url(job, "make/"), url(job, "mondays/")):
        assert stranger.post(address).status_code == 404
    assert not Task.objects.exists()


@pytest.mark.parametrize("week", ["2020-01-06", "today", "2026-13-40"])
def test_of_a_week_without_a_report_there_is_no_page(viewer: Client, job: UUID, week: str) -> None:
    assert viewer.get(url(job, f"{week}/")).status_code == 404
    assert viewer.get(url(job, f"{week}.csv")).status_code == 404


def test_a_recruiter_starts_one_and_the_page_says_that_it_is_being_made(
    recruiter: Client, viewer: Client, job: UUID, company: Company
) -> None:
    recruiter.post(url(job, "make/"))
    recruiter.post(url(job, "make/"))  # once more, before the first is done

    task = Task.objects.select_related("type").get()
    assert (task.type.key, task.owner_id) == (KEY, company.id)
    assert task.payload == {"job_id": str(job), "zone": "UTC"}
    text = text_of(viewer, url(job))
    assert "A report is being created" in text
    assert "data-poll-seconds" in text
    Task.objects.update(status=Status.DEAD)
    assert "could not be made" in text_of(viewer, url(job))


def test_the_fragment_changes_when_the_report_is_done(
    viewer: Client, recruiter: Client, job: UUID, company: Company
) -> None:
    recruiter.post(url(job, "make/"))
    tag = viewer.get(url(job, "?fragment=1"))["ETag"]
    assert viewer.get(url(job, "?fragment=1"), headers={"if-none-match": tag}).status_code == 304
    Run(KEY, Task.objects.get().payload, company.id)
    Task.objects.update(status=Status.SUCCEEDED)

    response = viewer.get(url(job, "?fragment=1"), headers={"if-none-match": tag})

    assert response.status_code == 200
    assert f"{last_week().monday}/" in response.content.decode()


def test_a_viewer_starts_nothing(viewer: Client, job: UUID) -> None:
    for address in ("make/", "mondays/"):
        assert viewer.post(url(job, address)).status_code == 403
    assert not Task.objects.exists()
    assert not Schedule.objects.exists()


def test_an_earlier_week_can_be_asked_for(recruiter: Client, job: UUID) -> None:
    monday = (last_week().monday - timedelta(days=7)).isoformat()

    assert f'value="{monday}"' in text_of(recruiter, url(job))
    recruiter.post(url(job, "make/"), {"week": monday})

    assert Task.objects.get().payload["week"] == monday


def test_every_monday_is_switched_on_and_off(owner: Client, job: UUID, company: Company) -> None:
    owner.cookies["time_zone"] = "Europe/Berlin"
    for _ in range(2):
        owner.post(url(job, "mondays/"), {"do": "start"})

    schedule = Schedule.objects.get()
    assert (schedule.cron, schedule.zone) == ("0 8 * * 1", "Europe/Berlin")
    assert schedule.payload == {"job_id": str(job), "zone": "Europe/Berlin"}
    assert schedule.owner_id == company.id
    assert "The next report covers the week before and is created" in text_of(owner, url(job))
    Schedule.objects.update(enabled=False)
    assert "Switch on again" in text_of(owner, url(job))
    owner.post(url(job, "mondays/"), {"do": "start"})
    assert Schedule.objects.get().enabled
    for _ in range(2):
        owner.post(url(job, "mondays/"), {"do": "stop"})
    assert not Schedule.objects.exists()


def test_a_recruiter_makes_reports_but_no_schedule_of_them(recruiter: Client, job: UUID) -> None:
    assert recruiter.post(url(job, "mondays/"), {"do": "start"}).status_code == 403

    assert "An owner can start this" in text_of(recruiter, url(job))
    assert not Schedule.objects.exists()


def test_many_reports_are_paged(viewer: Client, job: UUID, made: str) -> None:
    one = WeeklyReport.objects.latest("week")
    WeeklyReport.objects.bulk_create(
        WeeklyReport(job_id=job, week=one.week - timedelta(weeks=n), figures=one.figures)
        for n in range(2, 30)
    )

    text = text_of(viewer, url(job))
    before = re.search(r"\?before=([\d-]+)", text)

    assert before
    assert "Newest" in text_of(viewer, url(job, f"?before={before.group(1)}"))
