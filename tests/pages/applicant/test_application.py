"""The page of one application, in every state that it can be in."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client

from pipeline.domain.states import Outcome, Reason
from pipeline.pages.applicant import application as application_page
from pipeline.selectors.jobs import read_job
from pipeline.services.jobs import close_job, pause_job
from tests.support import factories
from tests.support.applicants import (
    applicant_browser,
    confirm,
    decide,
    leave,
    mine,
    owner_signed_in,
)
from tests.support.clock import let_time_pass
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


def offered(**policy: Any) -> Any:
    return factories.application(factories.job(acknowledge_first_seat=True, **policy))


def page_of(application: Any) -> str:
    return text_of(owner_signed_in(application).get(mine(application)))


def test_an_offer_says_until_when_and_what_is_lost_otherwise() -> None:
    application = offered(penalty_places=2, max_decays=1)

    page = page_of(application)

    assert "It is your turn. Confirm by" in page
    assert " min" in page
    assert re.search(r"\d+ \w+ left to confirm It is your turn. Confirm by [^.]+ and", page)
    assert "behind everyone in line and the next 2 people to join." in page
    assert "The next miss after that ends the application." in page


def test_confirming_takes_the_seat() -> None:
    application = offered()
    client = owner_signed_in(application)

    answer = client.post(mine(application, "confirm/"), follow=True)

    assert factories.status_of(application) == "ACTIVE"
    assert "Seat confirmed." in text_of(answer)
    assert "You have a seat" in text_of(answer)
    assert mine(application, "confirm/") not in answer.content.decode()


def test_after_the_deadline_confirming_tells_the_new_place() -> None:
    application = offered()
    let_time_pass(application.job_id, factories.WINDOW)
    before = page_of(application)

    answer = owner_signed_in(application).post(mine(application, "confirm/"), follow=True)

    assert "The time to confirm is over." in before
    assert factories.status_of(application) == "WAITLIST"
    assert "The deadline for this seat has passed" in text_of(answer)
    assert "You missed the deadline. You are now number 1 of 1 in line." in text_of(answer)
    assert "you are not offered a seat before" in text_of(answer)


def test_the_last_miss_ends_it_and_says_what_can_be_done() -> None:
    application = offered(max_decays=0)
    let_time_pass(application.job_id, factories.WINDOW)
    factories.settle_all()

    page = page_of(application)

    assert "too many deadlines were missed" in page
    assert "Apply to this job again" in page


def test_the_title_comes_along_with_what_is_fetched_again() -> None:
    application = offered()

    part = owner_signed_in(application).get(mine(application), {"fragment": "1"})

    assert 'data-title="It is your turn. Engineer · Next in Line"' in part.content.decode()


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome.REMOVED, "removed your application from the line"),
        (Outcome.REJECTED, "only the company can add you again"),
        (Outcome.HIRED, "Congratulations"),
    ],
)
def test_a_decision_says_what_it_means_and_why(outcome: Outcome, words: str) -> None:
    application = factories.application(factories.job())
    decide(application, outcome, reason=Reason.POSITION_FILLED)

    page = page_of(application)

    assert words in page
    assert "(reason: the position is filled)" in page


def test_a_closed_job_says_that_it_was_nothing_they_did() -> None:
    job = factories.job()
    _holder, waiting = factories.applications(job, 2)
    close_job(job_id=job, actor=factories.RECRUITER)
    before = page_of(waiting)
    factories.settle_all()

    assert "The company has closed this job." in before
    assert "You did nothing wrong" in page_of(waiting)


def test_a_paused_job_keeps_the_place() -> None:
    job = factories.job()
    _holder, waiting = factories.applications(job, 2)
    pause_job(job_id=job, actor=factories.RECRUITER)

    page = page_of(waiting)

    assert "Job paused" in page
    assert "Nobody is offered a seat until it resumes" in page


def test_a_place_says_why_it_last_changed() -> None:
    job = factories.job()
    _holder, ahead, waiting = factories.applications(job, 3)
    joined = page_of(waiting)

    leave(ahead)

    assert "You joined the line." in joined
    assert "Someone ahead of you left the line, so you moved up by one." in page_of(waiting)


def test_the_head_of_the_log_is_shown() -> None:
    application = factories.application(factories.job())

    row = factories.row_of(application.job_id)

    assert f"Event {row.seq} Hash {bytes(row.chain_head).hex()}" in page_of(application)


@pytest.mark.parametrize("act", ["", "confirm/", "withdraw/"])
def test_somebody_elses_application_does_not_exist(act: str) -> None:
    application = offered()
    stranger, nobody = applicant_browser(factories.applicant()), Client()
    verb = "get" if act == "" else "post"

    assert getattr(stranger, verb)(mine(application, act)).status_code == 404
    assert getattr(nobody, verb)(mine(application, act))["Location"].startswith("/sign-in/")
    assert factories.status_of(application) == "PENDING_ACKNOWLEDGMENT"


@pytest.mark.parametrize("act", ["confirm/", "withdraw/"])
def test_only_a_form_of_ours_changes_anything(act: str) -> None:
    application = offered()
    client = owner_signed_in(application)
    client.handler.enforce_csrf_checks = True

    assert client.get(mine(application, act)).status_code in (200, 302)
    assert client.post(mine(application, act)).status_code == 403
    assert factories.status_of(application) == "PENDING_ACKNOWLEDGMENT"


def test_looking_changes_nothing_and_takes_few_queries(django_assert_num_queries: Any) -> None:
    job = factories.job()
    for person in factories.applications(job, 4):
        last = person
    client, seq = owner_signed_in(last), factories.row_of(job).seq

    # session, person, application, job, emails, the application again; why it moved, the forecast,
    # its events, its answers and an open question. Files and unread messages have no event: their
    # state is in the tag.
    with django_assert_num_queries(15):
        page = client.get(mine(last))
    etag = client.get(mine(last), {"fragment": "1"})["ETag"]
    with django_assert_num_queries(10):
        same = client.get(mine(last), {"fragment": "1"}, headers={"If-None-Match": etag})

    assert (page.status_code, same.status_code) == (200, 304)
    assert factories.row_of(job).seq == seq


def test_a_confirmed_seat_says_that_there_is_nothing_to_do() -> None:
    application = offered()
    confirm(application)

    assert "You keep the seat until the company decides." in page_of(application)


def test_an_offer_made_while_the_page_is_read_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    job = factories.job()
    first, mine_ = factories.applications(job, 2)
    browser = owner_signed_in(mine_)

    def read_after_offer(job_id: Any) -> Any:
        if factories.status_of(mine_) == "WAITLIST":
            decide(first, Outcome.REJECTED)
        return read_job(job_id)

    monkeypatch.setattr(application_page, "read_job", read_after_offer)

    page = browser.get(mine(mine_))

    assert page.status_code == 200
    assert "It is your turn." in text_of(page)
