"""The page of how long decisions can be undone, and the list of those that wait."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company
from pipeline.models import PendingDecision
from pipeline.selectors.review import MOST_LISTED
from tests.support import factories
from tests.support.applicants import named
from tests.support.decisions import made, states
from tests.support.pages import follow, page_of, text_of

pytestmark = pytest.mark.django_db(transaction=True)

HERE = "/company/time-to-undo/"


@pytest.fixture
def _wait(settings: Any) -> None:
    settings.DECISION_UNDO_SECONDS = 300


def sent(removal: str, hiring: str, *, unit: int = 60) -> dict[str, Any]:
    units = {"removal_unit": unit, "hiring_unit": unit}
    return {"removal": removal, "hiring": hiring, **units}


@pytest.mark.usefixtures("_wait")
def test_an_owner_chooses_both_times_or_takes_the_usual_one(
    owner: Client, company: Company, job: UUID
) -> None:
    ana = named(job, "Ana Li")
    assert "A decision takes effect after 5 minutes." in page_of(owner, HERE)

    follow(owner, HERE, sent("20", ""))

    company.refresh_from_db()
    assert (company.undo_removal_seconds, company.undo_hiring_seconds) == (1_200, None)
    words = "A rejection or removal takes effect after 20 minutes, a hire after 5 minutes."
    assert words in page_of(owner, f"/company/applications/{ana.id}/decide/")
    page = page_of(owner, HERE)
    assert 'name="removal" value="20"' in page
    follow(owner, HERE, sent("45", "10", unit=1))
    company.refresh_from_db()
    assert (company.undo_removal_seconds, company.undo_hiring_seconds) == (45, 10)
    assert 'name="removal" value="45"' in page_of(owner, HERE)


@pytest.mark.parametrize(("number", "unit"), [("9", 1), ("61", 60), ("3601", 1)])
def test_a_time_out_of_range_is_refused_in_words(
    owner: Client, company: Company, number: str, unit: int
) -> None:
    answer = owner.post(HERE, sent(number, "", unit=unit))

    assert answer.status_code == 422
    assert "from 10 seconds to 60 minutes" in text_of(answer)
    company.refresh_from_db()
    assert company.undo_removal_seconds is None


def test_others_read_it_and_only_owners_change_it(recruiter: Client, viewer: Client) -> None:
    for member in (recruiter, viewer):
        assert "Only an owner can change it." in page_of(member, HERE)
        assert member.post(HERE, sent("5", "5")).status_code == 403


def test_where_only_one_kind_waits_it_says_that_the_other_is_final(
    owner: Client, company: Company
) -> None:
    follow(owner, HERE, sent("5", ""))
    assert "A hire is final." in page_of(owner, HERE)
    follow(owner, HERE, sent("", "5"))
    assert "A rejection or removal is final." in page_of(owner, HERE)


@pytest.mark.usefixtures("_wait")
def test_the_board_shows_the_last_three_and_the_list_all_that_wait(
    recruiter: Client, viewer: Client, job: UUID
) -> None:
    names = ("Ana Li", "Bo Berg", "Cy Okafor", "Dee Rao")
    for name in names:
        made(job, name)

    board, all_of_them = (
        page_of(recruiter, f"/company/jobs/{job}/{rest}") for rest in ("", "decisions/")
    )

    assert [f"Undo: Reject {name}" in board for name in names] == [False, True, True, True]
    assert f"/company/jobs/{job}/decisions/" in board
    assert all(f"Undo: Reject {name}" in all_of_them for name in names)
    assert re.search(r"The seat is free at <time.*</time> unless undone", all_of_them)
    assert re.search(r"It takes effect at <time.*</time> unless undone", all_of_them)
    assert "Undo: " not in page_of(viewer, f"/company/jobs/{job}/decisions/")
    assert MOST_LISTED >= 200


@pytest.mark.usefixtures("_wait")
def test_undone_from_anywhere_it_leads_back_there(recruiter: Client, job: UUID) -> None:
    ana = named(job, "Ana Li")
    places = {
        f"/company/jobs/{job}/": "board",
        f"/company/jobs/{job}/decisions/": "decisions",
        f"/company/applications/{ana.id}/": str(ana.id),
    }
    for here, back in places.items():
        decision = made(job, "Ana Li")
        page = page_of(recruiter, here)
        undo = f"/company/jobs/{job}/decisions/{decision.id}/undo/"
        assert f'action="{undo}"' in page
        assert f'name="next" value="{back}"' in page

        assert recruiter.post(undo, {"next": back}).url == here  # type: ignore[attr-defined]
        assert states(decision) == ["UNDONE"]
    odd = made(job, "Ana Li")
    undo = f"/company/jobs/{job}/decisions/{odd.id}/undo/"
    away = recruiter.post(undo, {"next": "https://evil.example/"})
    assert away.url == f"/company/jobs/{job}/"  # type: ignore[attr-defined]


@pytest.mark.usefixtures("_wait")
def test_the_page_of_a_person_shows_the_decision_on_them_first(
    recruiter: Client, job: UUID
) -> None:
    for name in ("Ana Li", "Bo Berg", "Cy Okafor", "Dee Rao"):
        made(job, name)

    page = page_of(recruiter, f"/company/applications/{named(job, 'Ana Li').id}/")

    order = re.findall(r"Undo: Reject ([A-Z]\w+)", page)
    assert order[0] == "Ana"


def test_nothing_waits_in_a_job_without_decisions(
    recruiter: Client, stranger: Client, job: UUID
) -> None:
    assert "No decision waits" in page_of(recruiter, f"/company/jobs/{job}/decisions/")
    assert stranger.get(f"/company/jobs/{job}/decisions/").status_code == 404
    assert not PendingDecision.objects.exists()


@pytest.mark.usefixtures("_wait")
def test_the_board_has_the_moment_at_which_each_seat_is_free(recruiter: Client, job: UUID) -> None:
    decision = made(job, "Ana Li")

    context = recruiter.get(f"/company/jobs/{job}/").context

    awaited = context["awaited"][named(job, "Ana Li").id]
    assert (awaited.id, awaited.due_at, awaited.outcome) == (
        decision.id,
        decision.due_at,
        "REJECTED",
    )
    assert context["may"]["extend"] is True
    assert factories.row_of(job).status == "OPEN"


@pytest.mark.usefixtures("_wait")
def test_the_page_leads_back_to_the_settings_and_the_focus_is_beside_what_was_saved(
    owner: Client,
) -> None:
    page = page_of(owner, HERE)
    assert re.search(r'class="crumbs"><a href="/company/settings/">', page)
    assert "data-focus" not in page

    saved = follow(owner, HERE, sent("20", ""))

    assert "Saved. Decisions that already wait keep their time." in saved
    assert '<h1 data-focus tabindex="-1">' in saved
