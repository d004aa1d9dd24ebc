"""Files that browsers and search engines ask every site for."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.robotparser import RobotFileParser
from xml.etree import ElementTree

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.core.cache import caches
from django.test import Client

from jobs.models import Company
from pipeline.services.jobs import close_job
from tests.support import factories
from tests.support.sandboxes import sandbox


def test_search_engines_may_read_open_jobs_and_nothing_else() -> None:
    answer = Client().get("/robots.txt")
    lines = answer.content.decode().splitlines()
    rules = RobotFileParser()
    rules.parse(line for line in lines if "$" not in line)  # which this parser does not know

    assert answer["Content-Type"].startswith("text/plain")
    assert "Allow: /$" in lines
    assert rules.can_fetch("bot", "/jobs/0197/")
    for path in ("/me/", "/company/", "/confirm/x/", "/unsubscribe/x/", "/dev/mail/", "/api/v1/"):
        assert not rules.can_fetch("bot", path)

    assert rules.can_fetch("bot", "/static/css/base.css")
    assert f"Sitemap: {settings.SITE_URL}/sitemap.xml" in lines


@pytest.mark.django_db(transaction=True)
def test_the_site_map_lists_public_pages_and_no_others(company: Company) -> None:
    caches["local"].clear()
    job, draft, closed, test = (
        factories.job(company_id=company.id),
        factories.job(company_id=company.id, open_now=False),
        factories.job(company_id=company.id),
        factories.job(company_id=sandbox(company).id),
    )
    close_job(job_id=closed, actor=factories.RECRUITER)

    answer = Client().get("/sitemap.xml")

    name = "{http://www.sitemaps.org/schemas/sitemap/0.9}loc"
    found = {each.text for each in ElementTree.fromstring(answer.content).iter(name)}  # noqa: S314  ours
    paths = ("/", "/privacy/", f"/jobs/{job}/")
    assert found == {f"{settings.SITE_URL}{path}" for path in paths}
    assert not any(str(each).encode() in answer.content for each in (draft, closed, test))
    assert {Client().get(path).status_code for path in paths} == {200}
    assert answer["Content-Type"].startswith("application/xml")


def test_the_icon_is_where_old_programs_look_for_it() -> None:
    answer = Client().get("/favicon.ico")

    assert answer.status_code == 302
    assert Path(str(finders.find("img/favicon.ico"))).read_bytes()[:4] == b"\0\0\1\0"
    assert answer["Location"].startswith(settings.STATIC_URL)


def test_the_manifest_names_icons_that_exist() -> None:
    answer = Client().get("/manifest.webmanifest")

    described = json.loads(answer.content)
    assert answer["Content-Type"] == "application/manifest+json"
    assert described["start_url"] == "/me/"
    for icon in described["icons"]:
        width, _, height = icon["sizes"].partition("x")
        found = finders.find(icon["src"].removeprefix(settings.STATIC_URL))
        header = Path(str(found)).read_bytes()[16:24]
        assert (int.from_bytes(header[:4]), int.from_bytes(header[4:])) == (int(width), int(height))


@pytest.mark.parametrize("mark", ["0m", "59m", "14h", "3d"])
def test_the_icon_of_a_deadline_shows_the_time_left(mark: str) -> None:
    answer = Client().get(f"/icons/left-{mark}.svg")

    assert answer["Content-Type"] == "image/svg+xml"
    assert f">{mark}</text>" in answer.content.decode()
    assert "immutable" in answer["Cache-Control"]


@pytest.mark.django_db
@pytest.mark.parametrize("mark", ["", "123m", "14", "1s", "<b>", "1m1m", "x" * 500])
def test_no_other_icon_is_drawn(mark: str) -> None:
    assert Client().get(f"/icons/left-{mark}.svg").status_code == 404
