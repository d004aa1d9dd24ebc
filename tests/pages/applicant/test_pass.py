"""Passing a turn by the page, and by the page behind the link of an offer's email."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client

from pipeline.mail.links import LinkedOffer, make_offer_token
from pipeline.models import Application, Event
from pipeline.services.turns import preaccept
from tests.support import factories
from tests.support.applicants import leave, mine, owner_signed_in
from tests.support.clock import database_now, let_time_pass
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def waiting() -> Application:
    """The first of two who wait for the only seat."""
    _seated, first, _second = factories.applications(factories.job(), 3)
    return first


@pytest.fixture
def offered(waiting: Application) -> Application:
    """The same person, with the seat on offer."""
    leave(Application.objects.get(job_id=waiting.job_id, status="ACTIVE"))
    return waiting


def link_of(offered: Application) -> str:
    seq = Event.objects.get(application_id=offered.id, event="PROMOTED").seq
    return make_offer_token(LinkedOffer(offered.id, seq))


def test_an_open_offer_is_passed_by_a_button(offered: Application) -> None:
    client = owner_signed_in(offered)

    asked = text_of(client.get(mine(offered, "pass/")))
    said = text_of(client.post(mine(offered, "pass/"), {"turn": "open"}, follow=True))

    assert "Pass this turn?" in asked
    assert "You can pass once for this job." in asked
    assert factories.fresh(offered).passes_used == 1
    assert "You passed this turn. You keep your place in line." in said
    assert "You are next in line." in said
    assert "Because you passed a turn, you are not offered a seat before" in said
    assert "missed" not in said.split("What happened")[0]
    assert "Because you passed a turn" in text_of(client.get("/me/"))


def test_looking_at_the_page_passes_nothing(offered: Application) -> None:
    owner_signed_in(offered).get(mine(offered, "pass/"))

    assert factories.status_of(offered) == "PENDING_ACKNOWLEDGMENT"


def test_the_next_turn_is_passed_and_taken_back_by_buttons(waiting: Application) -> None:
    client = owner_signed_in(waiting)

    said = text_of(client.post(mine(waiting, "pass/"), {"turn": "next"}, follow=True))

    assert "You pass your next turn" in said
    assert "I want my next turn" in text_of(client.get(mine(waiting, "pass/")))
    client.post(mine(waiting, "pass/"), {"turn": "keep"})
    assert not factories.fresh(waiting).pass_next


def test_a_button_for_an_offer_that_ran_out_does_not_pass_the_next_turn(
    offered: Application,
) -> None:
    client = owner_signed_in(offered)
    let_time_pass(offered.job_id, factories.WINDOW)

    said = text_of(client.post(mine(offered, "pass/"), {"turn": "open"}, follow=True))

    assert "The deadline for this seat has passed" in said
    assert not factories.fresh(offered).pass_next


def test_the_page_says_what_a_pass_takes_back(waiting: Application) -> None:
    preaccept(
        application_id=waiting.id,
        accept_until=database_now() + timedelta(days=1),
        actor=factories.owner_of(waiting),
    )
    owner_signed_in(waiting).post(mine(waiting, "pass/"), {"turn": "next"})

    said = text_of(owner_signed_in(waiting).get(mine(waiting, "yes/")))

    assert "You asked to pass your next turn. Saying yes cancels that." in said


def test_a_job_without_passes_shows_no_button(offered: Application) -> None:
    factories.alter(offered.job_id, policy={"max_passes": 0})
    client = owner_signed_in(offered)

    assert "Pass this turn" not in text_of(client.get(mine(offered)))
    assert "does not let people pass a turn" in text_of(client.get(mine(offered, "pass/")))


def test_the_link_of_the_email_has_the_button_and_reading_it_changes_nothing(
    offered: Application,
) -> None:
    page = Client().get(f"/confirm/{link_of(offered)}/")

    assert "Pass this turn" in text_of(page)
    assert factories.status_of(offered) == "PENDING_ACKNOWLEDGMENT"


def test_the_button_behind_the_link_passes_and_the_link_then_says_so(
    offered: Application,
) -> None:
    client, token = Client(), link_of(offered)

    said = text_of(client.post("/confirm/", {"token": token, "pass": "yes"}, follow=True))

    assert factories.fresh(offered).passes_used == 1
    assert "You passed this turn." in said
    again = text_of(Client().get(f"/confirm/{token}/"))
    assert "You passed this turn." in again
    assert "The deadline has passed" not in again
