"""Leaving a line by the page: what it says will follow, and that it is done once."""

from __future__ import annotations

import pytest

from pipeline.domain.states import Outcome
from pipeline.pages.applicant.application import CONFIRMED, WITHDRAWN
from pipeline.services.jobs import close_job, pause_job
from tests.support import factories
from tests.support.applicants import decide, mine, owner_signed_in
from tests.support.clock import let_time_pass
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_withdrawing_asks_once_and_then_does_it() -> None:
    job = factories.job()
    holder, waiting = factories.applications(job, 2)
    client = owner_signed_in(holder)

    asked = client.get(mine(holder, "withdraw/"))
    assert factories.status_of(holder) == "ACTIVE"
    answer = client.post(mine(holder, "withdraw/"), follow=True)

    assert "the seat is offered at once to the first person in line" in text_of(asked)
    assert "Withdraw my application" in text_of(asked)
    assert factories.statuses(holder, waiting) == ["WITHDRAWN", "PENDING_ACKNOWLEDGMENT"]
    assert "You withdrew this application." in text_of(answer)


def test_withdrawing_says_what_really_follows() -> None:
    job = factories.job()
    holder = factories.application(job)
    client = owner_signed_in(holder)

    def said() -> str:
        return text_of(client.get(mine(holder, "withdraw/")))

    assert "Nobody is waiting." in said()
    [waiting] = factories.applications(job, 1)
    last = text_of(owner_signed_in(waiting).get(mine(waiting, "withdraw/")))
    assert "You are number 1 of 1 in line. You cannot undo this." in last
    factories.alter(job, capacity=2)
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()
    assert "Nobody on the waitlist can take a seat right now." in said()
    pause_job(job_id=job, actor=factories.RECRUITER)
    assert "stays free until the job resumes" in said()
    close_job(job_id=job, actor=factories.RECRUITER)
    assert "nobody else is offered the seat" in said()


def test_a_seat_too_many_is_not_offered_again() -> None:
    job = factories.job(capacity=2)
    holder, _other, _waiting = factories.applications(job, 3)
    factories.alter(job, capacity=1)

    page = owner_signed_in(holder).get(mine(holder, "withdraw/"))

    assert "this one is not offered again" in text_of(page)


def test_pressing_a_button_twice_says_nothing_wrong() -> None:
    application = factories.application(factories.job(acknowledge_first_seat=True))
    client = owner_signed_in(application)

    for act in ("confirm/", "confirm/", "withdraw/", "withdraw/"):
        client.post(mine(application, act))
    page = client.get(mine(application, "withdraw/"), follow=True)

    assert factories.status_of(application) == "WITHDRAWN"
    told = [str(message) for message in page.context["messages"]]
    assert told == [CONFIRMED, WITHDRAWN]


def test_what_has_ended_cannot_be_withdrawn() -> None:
    application = factories.application(factories.job(acknowledge_first_seat=True))
    decide(application, Outcome.REJECTED)
    client = owner_signed_in(application)

    assert "nothing to withdraw" in text_of(client.get(mine(application, "withdraw/"), follow=True))
    tried = client.post(mine(application, "withdraw/"), follow=True)

    assert "no longer possible" in text_of(tried)
    assert factories.status_of(application) == "REJECTED"
