"""Deciding on several people, undoing it, and going on with the next person."""

from __future__ import annotations

import re
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from jobs.models import Company
from pipeline.models import DecisionItem, PendingDecision
from tests.support import factories
from tests.support.applicants import leave, named
from tests.support.pages import follow, page_of, text_of
from tests.support.task_runs import let_tasks_wait, run_due_tasks


@pytest.fixture
def _wait(settings: Any) -> None:
    settings.DECISION_UNDO_SECONDS = 10


def ticked(job: UUID, *names: str) -> dict[str, Any]:
    return {"who": [str(named(job, name).id) for name in names]}


def form_of(page: str) -> dict[str, str]:
    return dict(
        re.findall(r'<input type="hidden" name="(who|decision|promised)" value="([^"]*)"', page)
    )


def test_several_people_are_rejected_with_one_consequence(recruiter: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/decide/"
    assert 'form="bulk"' in page_of(recruiter, f"/company/jobs/{job}/")

    asked = follow(recruiter, path, ticked(job, "Ana Li", "Bo Berg", "Dee Rao"))
    done = follow(recruiter, path, form_of(asked) | {"outcome": "REJECTED"})

    assert "2 seats open, for Cy Okafor and Eli Sato" in asked
    assert "Reject 3 people" in asked
    assert "A decision is final." in asked
    assert "3 people rejected." in done
    assert factories.statuses(named(job, "Dee Rao"), named(job, "Eli Sato")) == [
        "REJECTED",
        "PENDING_ACKNOWLEDGMENT",
    ]


def test_people_who_do_not_hold_a_seat_open_none(recruiter: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/decide/"

    asked = follow(recruiter, path, ticked(job, "Cy Okafor", "Dee Rao"))

    assert "no seat opens, and nobody is promoted" in asked
    assert "Hire" not in text_of(recruiter.post(path, ticked(job, "Cy Okafor")))


def test_it_asks_again_when_somebody_else_would_get_the_seat(recruiter: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/decide/"
    asked = follow(recruiter, path, ticked(job, "Ana Li"))
    leave(named(job, "Cy Okafor"))

    stale = recruiter.post(path, form_of(asked) | {"outcome": "REJECTED"})

    assert stale.status_code == 422
    assert "The line has moved on" in stale.content.decode()
    assert factories.status_of(named(job, "Ana Li")) == "ACTIVE"


def test_nobody_ticked_says_what_to_do(recruiter: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/decide/"

    for page in (page_of(recruiter, path), follow(recruiter, path, {"who": ["x", ""]})):
        assert "Nobody is chosen" in page


@pytest.mark.usefixtures("_wait")
def test_colleagues_see_a_decision_that_waits_and_can_undo_it(
    recruiter: Client, owner: Client, viewer: Client, job: UUID
) -> None:
    ana, board = named(job, "Ana Li"), f"/company/jobs/{job}/"
    follow(recruiter, f"/company/applications/{ana.id}/decide/", {"outcome": "REJECTED"})
    decision = PendingDecision.objects.get()
    undo = f"/company/jobs/{job}/decisions/{decision.id}/undo/"

    seen = page_of(owner, board)
    assert "Reject Ana Li" in seen
    assert re.search(r"The seat is free at <time.*</time> unless undone", seen)
    assert f"/company/applications/{ana.id}/decide/" not in seen
    assert "Undo" in page_of(owner, f"/company/applications/{ana.id}/")
    assert undo not in page_of(viewer, board)
    assert viewer.post(undo).status_code == 403
    assert owner.get(f"/company/applications/{ana.id}/decide/").status_code == 302

    assert "The decision was undone" in follow(owner, undo, {})
    let_tasks_wait(10)
    run_due_tasks()
    assert factories.status_of(ana) == "ACTIVE"
    assert "already taken effect" in follow(owner, undo.replace(str(decision.id), str(job)), {})


@pytest.mark.usefixtures("_wait")
def test_an_open_board_hears_of_a_decision_and_of_undoing_it(owner: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/?fragment=1"

    def tag() -> str:
        return str(owner.get(path)["ETag"])

    before = tag()
    follow(
        owner, f"/company/applications/{named(job, 'Ana Li').id}/decide/", {"outcome": "REMOVED"}
    )
    waiting = tag()
    decision = PendingDecision.objects.get()
    follow(owner, f"/company/jobs/{job}/decisions/{decision.id}/undo/", {})

    assert len({before, waiting}) == 2
    assert tag() == before


@pytest.mark.usefixtures("_wait")
def test_reject_and_next_leads_to_the_next_who_is_not_decided_on(
    recruiter: Client, job: UUID
) -> None:
    cy, dee, eli = (named(job, name) for name in ("Cy Okafor", "Dee Rao", "Eli Sato"))
    follow(recruiter, f"/company/applications/{dee.id}/decide/", {"outcome": "REJECTED"})

    page = page_of(recruiter, f"/company/applications/{cy.id}/decide/")
    answer = recruiter.post(
        f"/company/applications/{cy.id}/decide/?then=next", {"outcome": "REJECTED"}
    )

    assert "Reject and next" in page
    assert answer.url == f"/company/applications/{eli.id}/decide/?reason="
    last = recruiter.post(
        f"/company/applications/{eli.id}/decide/?then=next", {"outcome": "REJECTED"}
    )
    assert last.url.startswith(f"/company/jobs/{job}/#decision-")


@pytest.mark.usefixtures("_wait")
def test_the_next_person_starts_with_the_reason_of_the_one_before(
    recruiter: Client, job: UUID
) -> None:
    cy = named(job, "Cy Okafor")
    given = {"outcome": "REJECTED", "reason": "NOT_A_MATCH"}

    answer = recruiter.post(f"/company/applications/{cy.id}/decide/?then=next", given, follow=True)

    page = answer.content.decode()
    assert '<option value="NOT_A_MATCH" selected>' in page
    assert re.search(r'id="decide-title" data-focus tabindex="-1">\s*Decide on Dee Rao', page)


def test_the_page_of_a_decision_says_for_whom_it_was_refused(
    recruiter: Client, stranger: Client, job: UUID, settings: Any
) -> None:
    settings.DECISION_UNDO_SECONDS = 10
    path = f"/company/jobs/{job}/decide/"
    asked = follow(recruiter, path, ticked(job, "Ana Li", "Dee Rao"))
    recruiter.post(path, form_of(asked) | {"outcome": "REMOVED"})
    decision = PendingDecision.objects.get()
    here = f"/company/jobs/{job}/decisions/{decision.id}/"
    assert "It takes effect at" in page_of(recruiter, here)
    leave(named(job, "Dee Rao"))
    let_tasks_wait(10)
    run_due_tasks()

    page = page_of(recruiter, here)

    assert "1 person removed; not possible for 1." in page
    assert "Dee Rao</a>: no longer possible" in page
    board = page_of(recruiter, f"/company/jobs/{job}/")
    assert "Dee Rao: not removed; 1 was" in board
    assert "others in this decision" not in board
    assert stranger.get(here).status_code == 404
    other = factories.job(company_id=factories.row_of(job).company_id)
    assert recruiter.get(here.replace(str(job), str(other))).status_code == 404


@pytest.mark.usefixtures("_wait")
def test_what_was_typed_is_shown_until_it_is_sent_and_kept_after_undoing(
    recruiter: Client, owner: Client, job: UUID
) -> None:
    ana, bo = named(job, "Ana Li"), named(job, "Bo Berg")
    path, text = f"/company/applications/{ana.id}/decide/", "You build boats well. Try in May."
    follow(recruiter, path, {"outcome": "REJECTED", "reason": "NOT_A_MATCH", "text": text})
    undo = f"/company/jobs/{job}/decisions/{PendingDecision.objects.get().id}/undo/"
    assert f'<blockquote class="any small">{text}' in page_of(owner, f"/company/jobs/{job}/")

    undone = recruiter.post(undo)

    assert undone.headers["Location"] == path
    assert text not in page_of(recruiter, path.replace(str(ana.id), str(bo.id)))
    follow(recruiter, path, {"outcome": "REJECTED", "reason": "NOT_A_MATCH", "text": text})
    again = PendingDecision.objects.get(finished_at=None)
    kept = follow(recruiter, f"/company/jobs/{job}/decisions/{again.id}/undo/", {})
    assert f"{text}</textarea>" in kept
    assert '<option value="NOT_A_MATCH" selected>' in kept
    assert text not in page_of(recruiter, path)  # nobody stores it for longer
    assert not PendingDecision.objects.exclude(text="").exists()


@pytest.mark.usefixtures("_wait")
def test_a_form_sent_again_says_that_its_decision_was_undone(recruiter: Client, job: UUID) -> None:
    path = f"/company/applications/{named(job, 'Ana Li').id}/decide/"
    sent = form_of(page_of(recruiter, path)) | {"outcome": "REJECTED"}
    follow(recruiter, path, sent)
    undo = f"/company/jobs/{job}/decisions/{PendingDecision.objects.get().id}/undo/"
    assert "The line is as it was." in follow(recruiter, undo, {})

    again = follow(recruiter, path, sent)

    assert "Nothing was decided: this decision was undone; decide again." in again
    assert "was rejected" not in again


@pytest.mark.parametrize("others", [("Bo Berg",), ("Bo Berg", "Cy Okafor"), ()])
@pytest.mark.usefixtures("_wait")
def test_a_form_with_the_id_of_another_decision_decides_nothing(
    recruiter: Client, job: UUID, others: tuple[str, ...]
) -> None:
    path = f"/company/jobs/{job}/decide/"
    asked = form_of(follow(recruiter, path, ticked(job, *(others or ("Bo Berg",)))))
    recruiter.post(path, asked | {"outcome": "REJECTED"})
    if not others:
        DecisionItem.objects.all().delete()

    page = follow(
        recruiter,
        f"/company/applications/{named(job, 'Ana Li').id}/decide/",
        {"outcome": "REJECTED", "decision": asked["decision"]},
    )

    assert (
        "Nothing was decided: this form was already used for another decision; decide again."
        in page
    )
    assert not DecisionItem.objects.filter(application=named(job, "Ana Li")).exists()


@pytest.mark.usefixtures("_wait")
def test_before_deciding_on_several_people_it_says_who_still_holds_seats(
    recruiter: Client, job: UUID
) -> None:
    factories.alter(job, capacity=1)

    asked = follow(recruiter, f"/company/jobs/{job}/decide/", ticked(job, "Ana Li"))

    assert "nobody is promoted: 1 person still holds 1 seat" in asked
    assert "takes effect after 10 seconds. Until then you can undo it." in asked


@pytest.mark.usefixtures("_wait")
def test_undone_halfway_it_says_how_many_were_decided_on(recruiter: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/decide/"
    asked = follow(recruiter, path, ticked(job, "Ana Li", "Cy Okafor", "Dee Rao"))
    recruiter.post(path, form_of(asked) | {"outcome": "REMOVED"})
    decision = PendingDecision.objects.get()
    DecisionItem.objects.filter(application=named(job, "Cy Okafor")).update(state="DONE")

    page = follow(recruiter, f"/company/jobs/{job}/decisions/{decision.id}/undo/", {})

    assert "undone for 2 people. 1 person had been decided on already." in page
    assert "The line is as it was" not in page


def test_a_viewer_decides_on_nobody(viewer: Client, stranger: Client, job: UUID) -> None:
    path = f"/company/jobs/{job}/decide/"

    assert "bulk" not in page_of(viewer, f"/company/jobs/{job}/")
    assert viewer.post(path, ticked(job, "Ana Li")).status_code == 403
    assert stranger.post(path, ticked(job, "Ana Li")).status_code == 404


def test_people_of_another_job_cannot_be_ticked(
    recruiter: Client, company: Company, job: UUID
) -> None:
    other = factories.application(factories.job(company_id=company.id))

    page = follow(recruiter, f"/company/jobs/{job}/decide/", {"who": [str(other.id)]})

    assert "Nobody is chosen" in page
