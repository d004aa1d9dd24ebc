"""A yes in advance on the page: until a date in the person's time zone, and cancelled."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from pipeline.models import Application
from tests.support import factories
from tests.support.applicants import leave, mine, owner_signed_in
from tests.support.clock import let_time_pass
from tests.support.lottery import lottery
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def waiting() -> Application:
    """The first of two who wait for the only seat."""
    _seated, first, _second = factories.applications(factories.job(), 3)
    return first


def in_days(days: int) -> dict[str, str]:
    return {"day": str((timezone.now() + timedelta(days=days)).date()), "at": "09:00"}


def test_a_date_is_saved_and_shown(waiting: Application) -> None:
    client = owner_signed_in(waiting)

    said = text_of(client.post(mine(waiting, "yes/"), in_days(3), follow=True))

    assert factories.fresh(waiting).accept_until is not None
    assert "is yours at once" in said
    assert "You said yes: if your turn comes before" in said
    assert "is yours at once" in text_of(client.get("/me/"))


def test_the_seat_is_told_as_accepted_in_advance(waiting: Application) -> None:
    client = owner_signed_in(waiting)
    client.post(mine(waiting, "yes/"), in_days(3))

    leave(Application.objects.get(job_id=waiting.job_id, status="ACTIVE"))

    said = text_of(client.get(mine(waiting)))
    assert "You had said yes in advance until" in said
    assert "Confirm my seat" not in said


def test_it_is_taken_back_by_a_button(waiting: Application) -> None:
    client = owner_signed_in(waiting)
    client.post(mine(waiting, "yes/"), in_days(3))

    asked = text_of(client.get(mine(waiting, "yes/")))
    answer = client.post(mine(waiting, "yes/"), {"now": "yes"}, follow=True)

    assert "Cancel my acceptance" in asked
    assert "You will be asked to confirm when it is your turn." in text_of(answer)
    assert factories.fresh(waiting).accept_until is None


def test_the_page_says_when_a_yes_has_ended(waiting: Application) -> None:
    client = owner_signed_in(waiting)
    client.post(mine(waiting, "yes/"), in_days(3))
    client.get(mine(waiting))

    let_time_pass(waiting.job_id, 5 * 86_400)

    assert "Your yes in advance ended" in text_of(client.get(mine(waiting)))
    assert "Cancel my acceptance" not in text_of(client.get(mine(waiting, "yes/")))


def test_a_turn_put_off_is_named_beside_the_form(waiting: Application) -> None:
    client = owner_signed_in(waiting)
    client.post(mine(waiting, "not-before/"), in_days(3))

    assert "Choose a later date, or this has no effect." in text_of(
        client.get(mine(waiting, "yes/"))
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (in_days(-2), "This time has passed."),
        (in_days(20), "in the next 14 days"),
        ({"day": "", "at": "09:00"}, "Enter a date."),
    ],
)
def test_a_wrong_date_is_refused_beside_the_field(
    waiting: Application, given: dict[str, str], said: str
) -> None:
    answer = owner_signed_in(waiting).post(mine(waiting, "yes/"), given)

    assert answer.status_code == 422
    assert said in text_of(answer)
    assert factories.fresh(waiting).accept_until is None


def test_nobody_else_can_do_it(waiting: Application) -> None:
    stranger = owner_signed_in(factories.application(waiting.job_id))

    assert stranger.get(mine(waiting, "yes/")).status_code == 404
    assert stranger.post(mine(waiting, "yes/"), {"now": "yes"}).status_code == 404


def test_with_an_offer_the_page_leads_back(waiting: Application) -> None:
    leave(Application.objects.get(job_id=waiting.job_id, status="ACTIVE"))
    client = owner_signed_in(waiting)

    shown = client.get(mine(waiting, "yes/"), follow=True)
    sent = client.post(mine(waiting, "yes/"), in_days(3), follow=True)

    assert "You can only do this while you wait for a seat." in text_of(shown)
    assert "no longer possible" in text_of(sent)
    assert "Say yes in advance" not in text_of(client.get(mine(waiting)))


def test_in_a_draw_a_yes_is_shown_and_taken_back() -> None:
    person, _other = factories.applications(lottery(), 2)
    client = owner_signed_in(person)
    form = text_of(client.get(mine(person, "yes/")))

    client.post(mine(person, "yes/"), in_days(3))

    page = text_of(client.get(mine(person))).split("What happened")[0]
    dashboard = text_of(client.get("/me/"))
    assert "Say yes in advance" in form
    assert "You said yes: " in page
    assert "Change my acceptance" in page
    assert "drawn by lot" in page
    assert all("You said yes: if your turn comes before" in said for said in (page, dashboard))
    client.post(mine(person, "yes/"), {"now": "yes"})
    assert factories.fresh(person).accept_until is None
    assert "You said yes: " not in text_of(client.get(mine(person))).split("What happened")[0]


def test_in_a_draw_a_date_is_shown_too() -> None:
    person, _other = factories.applications(lottery(), 2)
    client = owner_signed_in(person)

    client.post(mine(person, "not-before/"), in_days(3))

    page = text_of(client.get(mine(person))).split("What happened")[0]
    assert "You asked for no seat before" in page
