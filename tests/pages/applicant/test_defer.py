"""Asking for no seat yet by the page: in the person's time zone, refused beside the field."""

from __future__ import annotations

from datetime import time, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from pipeline.models import Application
from tests.support import factories
from tests.support.applicants import leave, mine, owner_signed_in
from tests.support.clock import database_now, let_time_pass
from tests.support.pages import text_of, values_of_form

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def waiting() -> Application:
    """The first of two who wait for the only seat."""
    _seated, first, _second = factories.applications(factories.job(), 3)
    return first


def in_days(days: int) -> str:
    return str((timezone.now() + timedelta(days=days)).date())


def test_a_date_is_saved_in_the_persons_zone_and_shown(waiting: Application) -> None:
    client = owner_signed_in(waiting)
    client.cookies["time_zone"] = "Asia/Tokyo"

    asked = text_of(client.get(mine(waiting, "not-before/")))
    answer = client.post(
        mine(waiting, "not-before/"), {"day": in_days(3), "at": "09:00"}, follow=True
    )

    assert "In your time zone, Asia/Tokyo." in asked
    row = factories.fresh(waiting)
    assert row.not_before is not None
    there = row.not_before.astimezone(ZoneInfo("Asia/Tokyo"))
    assert (str(there.date()), there.hour) == (in_days(3), 9)
    said = text_of(answer)
    assert "You keep your place in line." in said
    day = f"Not before {there:%A}, {there.day} {there:%B}."
    assert said.count(day) == 2  # once as the answer, and from then on
    assert day in text_of(client.get("/me/"))
    assert "You asked for no seat before" in said
    assert "How long you will wait" not in said
    assert "You asked for no seat before" in text_of(client.get("/me/"))


def test_it_is_taken_back_by_a_button(waiting: Application) -> None:
    client = owner_signed_in(waiting)
    client.post(mine(waiting, "not-before/"), {"day": in_days(3), "at": "09:00"})

    asked = text_of(client.get(mine(waiting, "not-before/")))
    answer = client.post(mine(waiting, "not-before/"), {"now": "yes"}, follow=True)

    assert "Offer me seats again" in asked
    assert "You can be offered a seat at any time again." in text_of(answer)
    assert factories.fresh(waiting).not_before is None


@pytest.mark.parametrize(
    ("day", "said"),
    [
        (in_days(-2), "This time has passed."),
        (in_days(70), "in the next 60 days"),
        ("soon", "Enter a date, like 2027-01-31."),
        ("", "Enter a date."),
    ],
)
def test_a_wrong_date_is_refused_beside_the_field(
    waiting: Application, day: str, said: str
) -> None:
    answer = owner_signed_in(waiting).post(
        mine(waiting, "not-before/"), {"day": day, "at": "09:00"}
    )

    assert answer.status_code == 422
    assert text_of(answer).count(said) == 1
    assert factories.fresh(waiting).not_before is None


def test_the_form_proposes_tomorrow_at_nine(waiting: Application) -> None:
    client = owner_signed_in(waiting)

    given = values_of_form(client, mine(waiting, "not-before/"))

    tomorrow = database_now() + timedelta(days=1)
    assert (given["day"], given["at"]) == (tomorrow.date(), time(9, 0))


def test_with_an_offer_or_a_seat_the_page_leads_back(waiting: Application) -> None:
    leave(Application.objects.get(job_id=waiting.job_id, status="ACTIVE"))
    client = owner_signed_in(waiting)

    shown = client.get(mine(waiting, "not-before/"), follow=True)
    sent = client.post(
        mine(waiting, "not-before/"), {"day": in_days(3), "at": "09:00"}, follow=True
    )

    assert "You can only do this while you wait for a seat." in text_of(shown)
    assert "no longer possible" in text_of(sent)
    assert "Not before a date" not in text_of(client.get(mine(waiting)))
    assert factories.status_of(waiting) == "PENDING_ACKNOWLEDGMENT"


def test_nobody_else_can_do_it(waiting: Application) -> None:
    stranger = owner_signed_in(factories.application(waiting.job_id))

    assert stranger.get(mine(waiting, "not-before/")).status_code == 404
    assert stranger.post(mine(waiting, "not-before/"), {"now": "yes"}).status_code == 404


def test_the_page_of_the_application_changes_when_the_date_comes(waiting: Application) -> None:
    client = owner_signed_in(waiting)
    client.post(mine(waiting, "not-before/"), {"day": in_days(2), "at": "00:00"})
    assert "You asked for no seat before" in text_of(client.get(mine(waiting)))

    let_time_pass(waiting.job_id, 3 * 86_400)

    said = text_of(client.get(mine(waiting)))
    assert "You asked for no seat before" not in said
    assert database_now() > factories.fresh(waiting).not_before


def test_a_time_that_the_clocks_skip_is_refused(waiting: Application) -> None:
    client = owner_signed_in(waiting)
    client.cookies["time_zone"] = "Europe/Berlin"

    answer = client.post(mine(waiting, "not-before/"), {"day": "2027-03-28", "at": "02:30"})

    assert answer.status_code == 422
    assert "The clocks skip this time on that day" in text_of(answer)
    assert factories.fresh(waiting).not_before is None
