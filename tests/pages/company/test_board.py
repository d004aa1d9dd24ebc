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
from pipeline.maintenance import name_index
from pipeline.models import Heartbeat
from pipeline.services.jobs import pause_job
from tests.support import factories
from tests.support.applicants import leave, named
from tests.support.clock import database_now, let_time_pass
from tests.support.pages import page_of, text_of


def test_the_board_shows_seats_deadlines_and_the_line_in_order(viewer: Client, job: UUID) -> None:
    leave(named(job, "Ana Li"))

    page = page_of(viewer, f"/company/jobs/{job}/")

    text = re.sub("<[^>]+>", "", page)
    assert "1 in review, 1 offered" in " ".join(text.split())
    assert "Cy Okafor" in page
    assert "must confirm by" in page
    assert "<count-down" in page
    line = page.split('id="waitlist"')[1]
    assert line.index("Dee Rao") < line.index("Eli Sato")
    assert 'id="why"' not in page  # nothing is wrong


def test_a_seat_without_answers_says_since_when_its_person_is_there(
    viewer: Client, job: UUID
) -> None:
    seat = page_of(viewer, f"/company/jobs/{job}/").split('class="slot-answer"')[1].split("</p>")[0]

    assert re.sub(r"\s+", " ", re.sub("<[^>]+>", "", seat)).startswith("> applied ")


def test_the_list_of_jobs_has_heads_and_a_pause_is_quiet(viewer: Client, company: Company) -> None:
    paused = factories.job(company_id=company.id)
    pause_job(job_id=paused, actor=factories.RECRUITER)

    page = page_of(viewer, "/company/")

    heads = page.split('class="job-heads"')[1].split("</p>")[0]
    assert re.findall(r"<span[^>]*>([^<]+)</span>", heads) == [
        "Job",
        "Seats",
        "Waiting",
        "Attention",
    ]
    assert '<span class="chip held">Paused</span>' in page  # amber is for what waits for somebody


def test_the_last_events_are_told(viewer: Client, job: UUID) -> None:
    leave(named(job, "Ana Li"))

    page = page_of(viewer, f"/company/jobs/{job}/")

    told = page.split('id="activity-title"')[1].split("</section>")[0]
    words = re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", told))
    assert words.index("Cy Okafor was offered a seat") < words.index("Ana Li withdrew")


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

    assert cost(1) == cost(70) == 17


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

    with django_assert_num_queries(
        6
    ):  # session, account, memberships, job, worker, unread messages
        assert viewer.get(path, headers=headers).status_code == 304


def test_the_board_leads_to_the_public_page_and_gives_its_address(
    viewer: Client, job: UUID
) -> None:
    page = page_of(viewer, f"/company/jobs/{job}/")

    assert re.search(rf'<a class="menu-item" href="/jobs/{job}/">\s*Public page</a>', page)
    assert f'value="http://testserver/jobs/{job}/"' in page


def test_one_more_seat_is_one_page_away(owner: Client, job: UUID) -> None:
    page = page_of(owner, f"/company/jobs/{job}/")
    [address] = re.findall(r'href="([^"]+/capacity/[^"]*)" aria-label="One more seat…"', page)

    assert "3 seats instead of 2" in page_of(owner, address)


def test_a_long_line_is_searched_by_name(
    owner: Client, company: Company, job: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = factories.job(company_id=company.id)
    factories.application(other, factories.applicant(name="Dee Elsewhere"))
    factories.applications(job, 60)
    name_index.update()

    board = page_of(owner, f"/company/jobs/{job}/")
    found = page_of(owner, f"/company/people/?job={job}&q=dee")

    assert "Find a person in this line" in board
    assert "Dee Rao" in found
    assert "Dee Elsewhere" not in found
    assert "Dee Elsewhere" in page_of(owner, "/company/people/?q=dee")


def test_another_companys_job_limits_no_search(stranger: Client, job: UUID) -> None:
    assert "Only applications for" not in page_of(stranger, f"/company/people/?job={job}&q=dee")


def test_missed_turns_are_listed_with_their_people(viewer: Client, company: Company) -> None:
    job = factories.job(company_id=company.id, capacity=1, acknowledge_first_seat=True)
    factories.application(job, factories.applicant(name="Ana Li"))
    assert "Missed turns" not in page_of(viewer, f"/company/jobs/{job}/")
    let_time_pass(job, factories.WINDOW + 1)
    factories.settle_all()

    page = page_of(viewer, f"/company/jobs/{job}/")

    missed = page.partition("Missed turns")[2].partition("</section>")[0]
    assert "Ana Li" in missed


def test_a_page_of_the_line_may_begin_or_end_with_somebody_who_has_no_place(
    viewer: Client, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.selectors.board.WAITING_SHOWN", 3)
    job = factories.job(company_id=company.id)
    factories.application(job)
    for verified in (False, True, True, True, False, False):
        factories.application(job, verified=verified)

    first = text_of(viewer.get(f"/company/jobs/{job}/"))
    second = text_of(viewer.get(f"/company/jobs/{job}/?place=3", follow=True))

    assert "1 to 2 shown" in first
    assert "3 to 3 shown" in second


def test_a_page_of_the_line_may_have_nobody_with_a_place(
    viewer: Client, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.selectors.board.WAITING_SHOWN", 2)
    job = factories.job(company_id=company.id)
    factories.application(job)
    for _ in range(3):
        factories.application(job, verified=False)

    page = " ".join(page_of(viewer, f"/company/jobs/{job}/").split())

    assert "0 people and 3 not verified</span>" in page
