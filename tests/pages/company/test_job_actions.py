"""The buttons that decide on people and run a job: they say what follows, and it happens."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company, Job
from pipeline.domain.states import SYSTEM
from pipeline.models import Application, DecisionNote
from pipeline.services.jobs import pause_job
from tests.support import factories
from tests.support.applicants import leave, named
from tests.support.clock import database_now, let_time_pass
from tests.support.pages import follow, page_of


def assert_offers(page: str, button: str, consequence: str) -> None:
    """Check a decision's button, and the consequence that stands above the buttons."""
    assert f">{button}</button>" in page
    assert f"<b>{consequence}</b>" in page


def test_a_decision_names_who_is_promoted_and_it_happens(recruiter: Client, job: UUID) -> None:
    bo = named(job, "Bo Berg")
    path = f"/company/applications/{bo.id}/decide/"

    assert_offers(page_of(recruiter, path), "Reject Bo Berg", "the seat goes to Cy Okafor")
    given = {"outcome": "REJECTED", "reason": "NOT_A_MATCH", "note": "Come back in a year."}
    page = follow(recruiter, path, given)

    assert "Bo Berg was rejected. Cy Okafor was promoted." in page
    assert factories.statuses(bo, named(job, "Cy Okafor")) == ["REJECTED", "PENDING_ACKNOWLEDGMENT"]
    assert DecisionNote.objects.get().text == "Come back in a year."


def test_only_who_is_in_review_can_be_hired(recruiter: Client, job: UUID) -> None:
    active, waiting = named(job, "Ana Li"), named(job, "Dee Rao")

    hiring = page_of(recruiter, f"/company/applications/{active.id}/decide/")
    assert_offers(hiring, "Hire Ana Li", "the seat goes to Cy Okafor")
    path = f"/company/applications/{waiting.id}/decide/"
    page = page_of(recruiter, path)
    assert "Hire" not in page
    assert_offers(page, "Remove Dee Rao", "1 person behind moves up by one")
    assert "no longer possible" in follow(recruiter, path, {"outcome": "HIRED"})
    assert factories.status_of(waiting) == "WAITLIST"


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (lambda job: pause_job(job_id=job, actor=SYSTEM), "while the job is paused"),
        (
            lambda job: factories.alter(job, capacity=1),
            "nobody is promoted: 1 person still holds 1 seat",
        ),
    ],
)
def test_a_decision_says_when_nobody_is_promoted_by_it(
    recruiter: Client, job: UUID, prepare: Any, says: str
) -> None:
    prepare(job)
    ana = named(job, "Ana Li")

    page = page_of(recruiter, f"/company/applications/{ana.id}/decide/")

    assert says in page
    assert "the seat goes to" not in page


def promised_on(client: Client, path: str) -> dict[str, str]:
    found = re.search(r'name="promised" value="([^"]*)"', page_of(client, path))
    assert found
    return {"promised": html.unescape(found[1])}


def test_a_decision_asks_again_when_somebody_else_would_be_promoted_by_now(
    recruiter: Client, job: UUID
) -> None:
    ana = named(job, "Ana Li")
    path = f"/company/applications/{ana.id}/decide/"
    promised = promised_on(recruiter, path)
    leave(named(job, "Cy Okafor"))

    stale = recruiter.post(path, {"outcome": "REJECTED", **promised})

    assert stale.status_code == 422
    assert "The line has moved on" in stale.content.decode()
    assert "the seat goes to Dee Rao" in stale.content.decode()
    assert factories.status_of(ana) == "ACTIVE"
    page = follow(recruiter, path, {"outcome": "REJECTED", **promised_on(recruiter, path)})
    assert "Ana Li was rejected. Dee Rao was promoted." in page


def test_a_decision_on_somebody_who_has_missed_the_deadline_meanwhile_asks_again(
    recruiter: Client, job: UUID
) -> None:
    leave(named(job, "Ana Li"))
    cy = named(job, "Cy Okafor")
    path = f"/company/applications/{cy.id}/decide/"
    promised = promised_on(recruiter, path)
    let_time_pass(job, factories.WINDOW + 1)
    factories.settle_all()

    stale = recruiter.post(path, {"outcome": "REJECTED", **promised})

    assert stale.status_code == 422
    assert "nobody is waiting behind" in stale.content.decode()
    assert factories.status_of(cy) == "WAITLIST"


def test_a_decision_on_who_waits_does_not_mind_newcomers(recruiter: Client, job: UUID) -> None:
    cy = named(job, "Cy Okafor")
    path = f"/company/applications/{cy.id}/decide/"
    promised = promised_on(recruiter, path)
    factories.application(job)

    page = follow(recruiter, path, {"outcome": "REMOVED", **promised})

    assert "Cy Okafor was removed." in page


def test_seats_ask_again_when_somebody_else_would_be_promoted_by_now(
    owner: Client, job: UUID
) -> None:
    path = f"/company/jobs/{job}/capacity/"
    promised = promised_on(owner, f"{path}?capacity=3")
    leave(named(job, "Cy Okafor"))

    stale = owner.post(path, {"capacity": 3, **promised})

    assert stale.status_code == 422
    assert "Dee Rao is promoted at once" in stale.content.decode()
    assert Job.objects.get(id=job).capacity == 2


def test_behind_many_in_a_cool_down_somebody_is_still_promised_the_seat(
    owner: Client, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = factories.job(company_id=company.id, capacity=1, penalty_places=0)
    first, *_ = factories.applications(job, 4)
    for module in ("pipeline.selectors.board", "pipeline.pages.company.consequences"):
        monkeypatch.setattr(f"{module}.LOOKED_AHEAD", 2)
    later = database_now() + timedelta(hours=1)
    front = Application.objects.filter(job_id=job, status="WAITLIST").order_by("ticket")[:2]
    Application.objects.filter(id__in=[each.id for each in front]).update(eligible_at=later)

    asked = page_of(owner, f"/company/applications/{first.id}/decide/")
    seats = page_of(owner, f"/company/jobs/{job}/capacity/?capacity=2")

    assert "the seat goes to the first person in line who can take it now" in asked
    assert "Up to 1 person are promoted" not in seats
    assert "The first people who can take a seat now are promoted at once, up to 1." in seats


def test_a_decision_without_an_outcome_is_refused(recruiter: Client, job: UUID) -> None:
    ana = named(job, "Ana Li")

    answer = recruiter.post(f"/company/applications/{ana.id}/decide/", {"outcome": "LAPSED"})

    assert answer.status_code == 422
    assert factories.status_of(ana) == "ACTIVE"


def test_a_job_is_paused_resumed_and_closed_by_its_buttons(owner: Client, job: UUID) -> None:
    follow(owner, f"/company/jobs/{job}/pause/", {})
    leave(named(job, "Ana Li"))
    assert "When you resume, Cy Okafor is promoted at once" in page_of(
        owner, f"/company/jobs/{job}/"
    )

    resumed = follow(owner, f"/company/jobs/{job}/open/", {})
    assert "Cy Okafor was promoted." in resumed

    asked = page_of(owner, f"/company/jobs/{job}/close/")
    assert "<b>3 people are released" in asked
    assert "1 in review stays" in asked
    closed = follow(owner, f"/company/jobs/{job}/close/", {})
    assert "being released" in closed
    assert Job.objects.get(id=job).status == "CLOSED"


def test_a_change_that_is_not_possible_is_said_and_nothing_happens(
    owner: Client, job: UUID
) -> None:
    follow(owner, f"/company/jobs/{job}/close/", {})

    page = follow(owner, f"/company/jobs/{job}/open/", {})

    assert "not possible in the job’s current status" in page
    assert Job.objects.get(id=job).status == "CLOSED"


def test_seats_say_what_they_do_before_and_after(owner: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/capacity/"

    more = page_of(owner, f"{path}?capacity=4")
    assert "Cy Okafor and Dee Rao are promoted at once" in more
    less = page_of(owner, f"{path}?capacity=1")
    assert "2 people hold a seat now, 1 more than that allows." in less

    done = follow(owner, path, {"capacity": 4})
    assert "The job now has 4 seats. Cy Okafor and Dee Rao were promoted." in done
    drained = follow(owner, path, {"capacity": 1})
    assert "3 people above that keep their seats" in drained
    assert owner.post(path, {"capacity": 0}).status_code == 422


def test_after_a_hire_it_says_how_to_stop(recruiter: Client, owner: Client, job: UUID) -> None:
    people = {recruiter: "Ana Li", owner: "Bo Berg"}

    said = [
        follow(client, f"/company/applications/{named(job, name).id}/decide/", {"outcome": "HIRED"})
        for client, name in people.items()
    ]

    assert "If you are not looking for anyone else, pause the job." in said[0]
    assert "If you are not looking for anyone else, pause the job or close it." in said[1]


def test_who_may_not_change_seats_reads_who_may(
    recruiter: Client, owner: Client, job: UUID
) -> None:
    hint = "An owner can change seats and close the job."

    assert hint in page_of(recruiter, f"/company/jobs/{job}/")
    assert hint not in page_of(owner, f"/company/jobs/{job}/")
    assert "Pause job" in page_of(recruiter, f"/company/jobs/{job}/")
