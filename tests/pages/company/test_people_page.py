"""The page on which a company looks for its own applicants."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.test import Client

from applicants.models import Applicant
from pipeline.maintenance import name_index
from tests.support.applicants import named


def test_without_a_search_the_last_applicants_show(
    viewer: Client, stranger: Client, job: UUID, monkeypatch: Any
) -> None:
    monkeypatch.setattr("pipeline.pages.company.people.FOUND_SHOWN", 3)

    page = viewer.get("/company/people/").content.decode()

    assert page.index("Eli Sato") < page.index("Dee Rao") < page.index("Cy Okafor")
    assert "Bo Berg" not in page
    assert "No recent applications" in stranger.get("/company/people/").content.decode()


def test_the_page_finds_by_name_and_by_whole_address(viewer: Client, job: UUID) -> None:
    name_index.update()
    ana = Applicant.objects.get(id=named(job, "Ana Li").applicant_id)

    for query in ("ana", ana.email, ana.email.upper()):
        page = viewer.get("/company/people/", {"q": query}).content.decode()
        assert f"/company/people/{ana.id}/" in page
    page = viewer.get("/company/people/", {"q": "x@example.org"}).content.decode()
    assert "Nobody with this address" in page
