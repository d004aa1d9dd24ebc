"""The dashboard: every application of one person, what needs them first."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from jobs.models import JobPosting
from pipeline.domain.states import Outcome
from tests.support import factories
from tests.support.applicants import applicant_browser, confirm, decide, leave, mine
from tests.support.clock import let_time_pass
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


def test_who_has_not_applied_is_led_to_the_open_jobs() -> None:
    page = text_of(applicant_browser(factories.applicant()).get("/me/"))

    assert "You have not applied to a job yet" in page
    assert "See open jobs" in page


def test_what_needs_the_person_comes_first() -> None:
    person = factories.applicant()
    ended = factories.application(factories.job(), person)
    leave(ended)
    active = factories.application(factories.job(), person)
    lines = [factories.job(), factories.job()]
    factories.applications(lines[0], 3)
    factories.applications(lines[1], 2)
    third, second = (factories.application(job, person) for job in lines)
    offers = [
        factories.application(
            factories.job(acknowledge_first_seat=True, acknowledgment_window_seconds=w), person
        )
        for w in (7200, 600)
    ]

    page = applicant_browser(person).get("/me/")

    live = [card.application.id for card in page.context["live_cards"]]
    assert live == [each.id for each in (offers[1], offers[0], second, third, active)]
    assert [card.application.id for card in page.context["ended_cards"]] == [ended.id]


def test_a_card_says_status_place_and_deadline() -> None:
    person, job = factories.applicant(), factories.job()
    factories.applications(job, 3)
    factories.application(job, person)
    offer = factories.application(factories.job(acknowledge_first_seat=True), person)

    page = applicant_browser(person).get("/me/")

    assert "Waiting Your place 3 of 3" in text_of(page)
    assert "Your turn" in text_of(page)
    assert '<span role="timer">' in page.content.decode()
    assert mine(offer, "confirm/") in page.content.decode()


def test_somebody_elses_applications_are_not_there() -> None:
    job = factories.job()
    JobPosting.objects.filter(job_id=job).update(title="Secret post")
    factories.application(job)

    assert "Secret post" not in text_of(applicant_browser(factories.applicant()).get("/me/"))


def test_the_timeline_tells_everything_newest_first() -> None:
    person = factories.applicant()
    application = factories.application(factories.job(acknowledge_first_seat=True), person)
    confirm(application)
    decide(application, Outcome.HIRED)

    page = applicant_browser(person).get("/me/")

    assert [line.title for line in page.context["lines"]] == ["Hired", "Seat confirmed", "Applied"]
    assert "Your earlier ones are below" in text_of(page)


def test_times_are_in_the_zone_of_the_reader() -> None:
    person = factories.applicant()
    factories.application(factories.job(acknowledge_first_seat=True), person)
    client = applicant_browser(person)

    assert " UTC on " in text_of(client.get("/me/"))
    client.cookies["time_zone"] = "Asia/Kolkata"
    assert "(Kolkata)" in text_of(client.get("/me/"))
    assert " UTC on " not in text_of(client.get("/me/"))


def fragment(client: Client, etag: str = "") -> Any:
    headers = {"If-None-Match": etag} if etag else {}
    return client.get("/me/?fragment=1", headers=headers)


def test_the_fragment_is_new_only_when_something_has_changed() -> None:
    person, job = factories.applicant(), factories.job()
    ahead, other = factories.applications(job, 2)
    factories.application(job, person)
    client = applicant_browser(person)
    first = fragment(client)
    again = fragment(client, first["ETag"])

    leave(other)
    after = fragment(client, first["ETag"])

    assert (first.status_code, again.status_code, after.status_code) == (200, 304, 200)
    assert "1 of 1" in text_of(after)
    assert factories.status_of(ahead) == "ACTIVE"


def test_a_deadline_that_has_passed_changes_the_fragment_before_it_is_settled() -> None:
    person, job = factories.applicant(), factories.job(acknowledge_first_seat=True)
    factories.application(job, person)
    client = applicant_browser(person)
    first = fragment(client)

    let_time_pass(job, factories.WINDOW)
    after = fragment(client, first["ETag"])

    assert after.status_code == 200
    assert "The time to confirm is over." in text_of(after)


def test_the_number_of_queries_does_not_grow(django_assert_num_queries: Any) -> None:
    person = factories.applicant()
    for _ in range(4):
        factories.application(factories.job(), person)
    client = applicant_browser(person)

    # session, person, their states, unread messages; one instant: its snapshot, applications, jobs,
    # events
    with django_assert_num_queries(10):
        client.get("/me/")
    etag = fragment(client)["ETag"]
    with django_assert_num_queries(4):
        assert fragment(client, etag).status_code == 304
