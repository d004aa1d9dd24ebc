"""A job's pipeline on its page: what it shows, what it costs, and what its buttons do."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import Company
from pipeline.models import Heartbeat
from tests.support import factories
from tests.support.applicants import leave, named
from tests.support.clock import database_now, let_time_pass
from tests.support.pages import page_of


def test_the_board_shows_seats_deadlines_and_the_line_in_order(viewer: Client, job: UUID) -> None:
    leave(named(job, "Ana Li"))

    page = page_of(viewer, f"/company/jobs/{job}/")

    assert "2 <small>of 2" in page
    assert "Cy Okafor" in page
    assert "must confirm by" in page
    assert "<count-down" in page
    assert page.index("Dee Rao") < page.index("Eli Sato")
    assert "They are. Last promotion: <time" in page


def test_misses_and_cool_downs_show(viewer: Client, job: UUID) -> None:
    leave(named(job, "Ana Li"))
    let_time_pass(job, factories.WINDOW + 1)
    factories.settle_all()

    page = page_of(viewer, f"/company/jobs/{job}/")

    assert "1 miss<" in page
    assert "cool-down until" in page


def test_free_seats_show_as_free(viewer: Client, company: Company) -> None:
    job = factories.job(company_id=company.id, capacity=9)
    factories.application(job)

    page = page_of(viewer, f"/company/jobs/{job}/")

    assert page.count("Free seat<") == 6
    assert "and 2 more free seats" in page


def test_a_silent_worker_is_said(viewer: Client, job: UUID) -> None:
    leave(named(job, "Ana Li"))
    let_time_pass(job, factories.WINDOW + 1)

    assert "worker that enforces deadlines is not running" in page_of(
        viewer, f"/company/jobs/{job}/"
    )
    Heartbeat.objects.create(worker="decay", completed_at=database_now())
    assert "is being settled" in page_of(viewer, f"/company/jobs/{job}/")


def test_both_lists_have_pages(viewer: Client, company: Company, monkeypatch: Any) -> None:
    monkeypatch.setattr("pipeline.selectors.board.SEATS_SHOWN", 2)
    monkeypatch.setattr("pipeline.selectors.board.WAITING_SHOWN", 2)
    job = factories.job(company_id=company.id, capacity=5)
    names = [f"P{n}" for n in range(10)]
    for name in names:
        factories.application(job, factories.applicant(name=name))
    leave(named(job, "P0"))

    seats = names_over_pages(viewer, job, "seats")
    line = names_over_pages(viewer, job, "waitlist")

    assert seats == ["P5", "P1", "P2", "P3", "P4"]
    assert line == ["P6", "P7", "P8", "P9"]


def names_over_pages(client: Client, job: UUID, section: str) -> list[str]:
    names, path = [], f"/company/jobs/{job}/"
    while path:
        page = page_of(client, path).replace("&amp;", "&")
        part = page[page.index(f'id="{section}"') :].split("</section>")[0]
        names += re.findall(r'who-link"[^>]*>([^<]+)<', part)
        found = re.search(r'href="([^"#]+)#?[^"]*" rel="next"', part)
        path = found[1] if found else ""
    return names


@pytest.mark.parametrize("path", ["?seats=x&waiting=y", "?seats=active~2026-01-01~1", "?waiting=1"])
def test_a_place_that_is_none_is_the_start(viewer: Client, job: UUID, path: str) -> None:
    assert "Ana Li" in page_of(viewer, f"/company/jobs/{job}/{path}")


def test_the_board_costs_the_same_however_long_the_line(viewer: Client, company: Company) -> None:
    def cost(people: int) -> int:
        job = factories.job(company_id=company.id, capacity=2)
        factories.applications(job, people)
        page_of(viewer, f"/company/jobs/{job}/")  # now the session knows for which company
        with CaptureQueriesContext(connection) as queries:
            page_of(viewer, f"/company/jobs/{job}/")
        return len(queries)

    assert cost(1) == cost(70) == 15


def test_who_has_the_fragment_already_gets_nothing(viewer: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/?fragment=1"
    first = viewer.get(path)

    assert viewer.get(path, headers={"If-None-Match": first["ETag"]}).status_code == 304
    leave(named(job, "Ana Li"))
    changed = viewer.get(path, headers={"If-None-Match": first["ETag"]})
    assert changed.status_code == 200
    assert "<html" not in changed.content.decode()


def test_looking_again_at_what_has_not_changed_is_cheap(
    viewer: Client, job: UUID, django_assert_num_queries: Any
) -> None:
    path = f"/company/jobs/{job}/?fragment=1"
    headers = {"If-None-Match": viewer.get(path)["ETag"]}

    with django_assert_num_queries(5):  # session, account, memberships, job, worker
        assert viewer.get(path, headers=headers).status_code == 304
