"""The page of a company's reports: hires and waits of a period in one look, and as a file."""

from __future__ import annotations

import csv
import io
import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company
from tests.support.clock import database_now
from tests.support.weeks import DAY, last_week

PAGE = "/company/reports/"


def text_of(client: Client, query: str = "") -> str:
    response = client.get(f"{PAGE}{query}")
    assert response.status_code == 200
    return " ".join(re.sub(r"<[^>]+>", " ", response.content.decode()).split())


def week_query() -> str:
    week = last_week()
    return f"?period=own&first={week.monday}&last={week.monday + timedelta(days=6)}"


@pytest.mark.usefixtures("job")
def test_own_dates_show_hires_and_the_median_wait_in_one_look(viewer: Client) -> None:
    text = text_of(viewer, week_query())

    assert "Hired 1 Median wait 8 d 12 h Median review 8 d Applied 0 Missed turns 1" in text


def test_the_usual_period_is_this_month(viewer: Client, job: UUID) -> None:
    usual = viewer.get(PAGE).context["period"]
    today = database_now().date()

    assert (usual.first, usual.last) == (today.replace(day=1), today)
    assert "This month" in text_of(viewer)


@pytest.mark.parametrize("name", ["last-month", "last-90-days", "this-year"])
@pytest.mark.usefixtures("job")
def test_each_period_is_one_link_away_and_ends_before_tomorrow(viewer: Client, name: str) -> None:
    assert f'href="?period={name}"' in viewer.get(PAGE).content.decode()
    shown = viewer.get(f"{PAGE}?period={name}").context["period"]
    today = database_now().date()

    before = today.replace(day=1) - timedelta(days=1)
    assert (shown.first, shown.last) == {
        "last-month": (before.replace(day=1), before),
        "last-90-days": (today - timedelta(days=89), today),
        "this-year": (today.replace(month=1, day=1), today),
    }[name]


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("first=2026-02-01&last=2026-01-01", "Choose a day after the first one."),
        ("first=soon&last=2026-01-01", "Enter a date, like 2027-01-31."),
        ("first=2026-01-01", "Fill in this field."),
        ("first=2026-01-01&last=9999-12-31", "Choose a day after the first one."),
    ],
)
@pytest.mark.usefixtures("job")
def test_wrong_days_are_refused_in_words(viewer: Client, query: str, error: str) -> None:
    assert error in text_of(viewer, f"?period=own&{query}")


@pytest.mark.usefixtures("job")
def test_the_file_has_the_same_figures(viewer: Client, job: UUID) -> None:
    page = viewer.get(f"{PAGE}{week_query()}").content.decode()
    [link] = re.findall(r'href="([^"]+file\.csv[^"]+)"', page)

    answer = viewer.get(link.replace("&amp;", "&"))

    rows = list(csv.DictReader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert (rows[0]["job"], rows[0]["job_id"]) == ("(all)", "")
    assert rows[1]["job_id"] == str(job)
    for row in rows:
        assert (row["hired"], row["missed"], row["applied"]) == ("1", "1", "0")
        assert float(row["median_wait_seconds"]) == pytest.approx(8.5 * DAY, abs=3)
    assert answer["Cache-Control"] == "private, no-store"


def test_strangers_see_neither_page_nor_file(client: Client, company: Company) -> None:
    assert client.get(PAGE).status_code == 302
    assert client.get(f"{PAGE}file.csv{week_query()}").status_code == 302
