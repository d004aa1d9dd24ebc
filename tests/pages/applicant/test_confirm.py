"""The page behind the link in a mail."""

from __future__ import annotations

import logging
import time
from typing import Any

import pytest
from django.core import signing
from django.test import Client

from applicants import browser
from applicants.models import Applicant
from applicants.people import remember_browser
from pipeline.audit.verify import verify_job
from pipeline.domain.states import Outcome
from pipeline.mail.links import LinkedOffer, make_offer_token, read_offer_token, unsubscribe_url
from pipeline.privacy.erase import erase_person
from pipeline.services.jobs import close_job
from tests.services.test_verify import unverified
from tests.support import factories
from tests.support.applicants import confirm, decide, leave, mine, who
from tests.support.clock import let_time_pass
from tests.support.pages import text_of

BROKEN = "This link doesn\N{RIGHT SINGLE QUOTATION MARK}t work It may be incomplete or expired."
pytestmark = pytest.mark.django_db(transaction=True)


def offered(**policy: Any) -> Any:
    person = factories.applicant(email="ana.li@example.org")
    return factories.application(factories.job(acknowledge_first_seat=True, **policy), person)


def token_of(application: Any) -> str:
    """The token of the last offer."""
    events = [each for each in factories.events(application.job_id) if each.to_status]
    offers = [each.seq for each in events if each.to_status == "PENDING_ACKNOWLEDGMENT"]
    return make_offer_token(LinkedOffer(application.id, offers[-1]))


def test_opening_the_link_shows_one_button_and_changes_nothing(visitor: Client) -> None:
    application = offered()
    seq, token = factories.row_of(application.job_id).seq, token_of(application)

    for _ in range(3):
        page = visitor.get(f"/confirm/{token}/")

    assert "It is your turn. Confirm by" in text_of(page)
    assert "a…i@example.org" in text_of(page)
    assert "ana.li@example.org" not in page.content.decode()
    assert page.content.decode().count('method="post"') == 1
    assert factories.row_of(application.job_id).seq == seq
    assert who(visitor) is None


def test_a_browser_that_was_never_here_sees_the_deadline_in_the_persons_zone(
    visitor: Client,
) -> None:
    application = offered()
    remember_browser(application.applicant_id, zone="Asia/Tokyo", language="en")

    page = visitor.get(f"/confirm/{token_of(application)}/")
    visitor.cookies["time_zone"] = "Europe/Berlin"
    own = visitor.get(f"/confirm/{token_of(application)}/")

    assert "(Tokyo)" in text_of(page)
    assert "your time zone, Asia/Tokyo" in page.content.decode()
    assert "(Berlin)" in text_of(own)


def test_the_links_address_stays_secret(visitor: Client) -> None:
    page = visitor.get(f"/confirm/{token_of(offered())}/")

    assert page["Referrer-Policy"] == "strict-origin"
    assert '<meta name="referrer" content="strict-origin">' in page.content.decode()
    assert "no-store" in page["Cache-Control"]


def test_the_button_takes_the_seat_and_opens_that_application_alone(visitor: Client) -> None:
    application = offered()
    other = factories.application(factories.job(), application.applicant)

    answer = visitor.post("/confirm/", {"token": token_of(application)}, follow=True)

    assert factories.status_of(application) == "ACTIVE"
    assert answer.redirect_chain == [(mine(application), 302)]
    assert "Seat confirmed." in text_of(answer)
    assert "A link in an email opened this application" in text_of(answer)
    assert who(visitor) is None
    closed = [mine(other), "/me/", "/me/data/", "/me/data/download/", "/me/data/erase/"]
    assert [visitor.get(page).status_code for page in closed] == [302] * len(closed)
    assert visitor.post("/me/data/erase/").status_code == 302
    assert not Applicant.objects.get(id=application.applicant_id).is_erased
    assert visitor.get("/api/v1/me/applications").status_code in (401, 404)


@pytest.mark.parametrize("page", ["withdraw/", "name/", "look-again/"])
def test_a_link_neither_ends_the_application_nor_speaks_in_the_persons_name(
    visitor: Client, page: str
) -> None:
    application = offered()
    visitor.post("/confirm/", {"token": token_of(application)})

    answer = visitor.post(mine(application, page), {"name": "Someone Else", "text": "Why?"})

    assert answer.status_code == 302
    assert answer["Location"].startswith("/sign-in/")
    assert factories.status_of(application) == "ACTIVE"
    assert factories.fresh(application).name == application.name


def test_a_person_who_is_signed_in_stays_so_and_a_link_does_not_change_their_time_zone(
    visitor: Client,
) -> None:
    application = offered()
    session = visitor.session
    session[browser.KEY] = str(application.applicant_id)
    session.save()
    visitor.cookies["time_zone"] = "Asia/Tokyo"

    visitor.post("/confirm/", {"token": token_of(application)})

    assert who(visitor) == str(application.applicant_id)
    assert visitor.get("/me/data/").status_code == 200
    assert not Applicant.objects.get(id=application.applicant_id).time_zone


def test_a_link_opens_its_application_for_a_day_and_verifies_no_other(
    visitor: Client,
) -> None:
    application = offered()
    other = unverified(factories.job(), application.applicant)

    visitor.post("/confirm/", {"token": token_of(application)})

    assert 86_000 < visitor.session.get_expiry_age() <= 86_400
    assert not factories.fresh(other).is_verified


def refused(visitor: Client, token: str) -> str:
    """Return the page's refusal, to a GET and to a POST by a button that should not be there."""
    looked = visitor.get(f"/confirm/{token}/")
    pressed = visitor.post("/confirm/", {"token": token})
    assert pressed.status_code in (404, 409)
    assert b'method="post"' not in looked.content
    assert text_of(looked) == text_of(pressed)
    assert who(visitor) is None
    return text_of(looked)


def test_a_used_link_signs_nobody_in(visitor: Client) -> None:
    application = offered()
    token = token_of(application)
    confirm(application)

    assert "This seat is already confirmed." in refused(visitor, token)


@pytest.mark.parametrize("settled", [True, False])
def test_a_late_link_tells_the_new_place(visitor: Client, settled: bool) -> None:
    application = offered()
    factories.applications(application.job_id, 1)
    token = token_of(application)
    let_time_pass(application.job_id, factories.WINDOW)
    if settled:
        factories.settle_all()

    page = refused(visitor, token)

    assert "The deadline has passed." in page
    assert ("is now number 1 of 1 in line" in page) is settled


def test_the_link_of_an_earlier_offer_confirms_no_newer_one(visitor: Client) -> None:
    application = offered()
    old = token_of(application)
    let_time_pass(application.job_id, factories.WINDOW)
    factories.settle_all()
    let_time_pass(application.job_id, factories.COOLDOWN)
    factories.settle_all()
    assert factories.status_of(application) == "PENDING_ACKNOWLEDGMENT"

    assert "There is a newer offer." in refused(visitor, old)
    assert factories.status_of(application) == "PENDING_ACKNOWLEDGMENT"


def test_a_link_to_what_has_ended_says_how(visitor: Client) -> None:
    gone, rejected = offered(), factories.application(factories.job(acknowledge_first_seat=True))
    tokens = [token_of(gone), token_of(rejected)]
    leave(gone)
    decide(rejected, Outcome.REJECTED)

    assert "You withdrew this application." in refused(visitor, tokens[0])
    assert "decided not to continue" in refused(visitor, tokens[1])


def test_a_link_to_a_closed_job_says_so(visitor: Client) -> None:
    application = offered()
    token = token_of(application)
    close_job(job_id=application.job_id, actor=factories.RECRUITER)

    assert "The company has closed this job." in refused(visitor, token)


def test_a_forged_link_leads_back_in(visitor: Client) -> None:
    token = token_of(offered())

    for bad in ("nonsense", f"{token}x", token.replace(":", "", 1)):
        assert BROKEN in refused(visitor, bad)


def test_a_link_works_until_its_offers_deadline_however_far_quiet_hours_put_it(
    visitor: Client, monkeypatch: Any
) -> None:
    application = offered(
        acknowledgment_window_seconds=30 * 86_400,
        quiet_from="12:00",
        quiet_to="08:00",
        quiet_weekends=True,
    )
    token = token_of(application)
    days = (application.acknowledge_by - application.applied_at).days
    assert days > 200
    almost = time.time() + (days - 1) * 86_400

    monkeypatch.setattr("django.core.signing.time.time", lambda: almost)

    assert "It is your turn." in text_of(visitor.get(f"/confirm/{token}/"))
    visitor.post("/confirm/", {"token": token})
    assert factories.status_of(application) == "ACTIVE"
    assert BROKEN in text_of(visitor.get(f"/confirm/{token}/")), "nothing is open: the link is old"


def test_an_ancient_link_leads_back_in(visitor: Client, monkeypatch: Any) -> None:
    application = offered()
    token = token_of(application)
    leave(application)
    later = time.time() + 62 * 86_400
    monkeypatch.setattr("time.time", lambda: later)
    assert "we\N{RIGHT SINGLE QUOTATION MARK}ll email you a code" in refused(visitor, token)


def test_a_form_of_somebody_else_takes_no_seat() -> None:
    application = offered()
    client = Client(enforce_csrf_checks=True)

    assert client.post("/confirm/", {"token": token_of(application)}).status_code == 403
    assert factories.status_of(application) == "PENDING_ACKNOWLEDGMENT"


def test_no_log_holds_a_token_that_is_good(
    visitor: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="django.request")
    caplog.set_level(logging.DEBUG, logger="django.security")
    application = offered()
    token = token_of(application)

    Client(enforce_csrf_checks=True).post("/confirm/", {"token": token})
    visitor.get(f"/confirm/{token}/")
    visitor.post("/confirm/", {"token": token})

    assert token not in caplog.text
    assert Applicant.objects.get(id=application.applicant_id).email not in caplog.text


def test_a_link_of_another_kind_neither_confirms_nor_signs_in(visitor: Client) -> None:
    """Each kind of link is signed with a salt of its own, and so is each cookie."""
    application = offered()
    person, seq = application.applicant_id, factories.row_of(application.job_id).seq
    token = token_of(application)
    others = [
        unsubscribe_url("reminders", person).split("/")[-2],
        signing.dumps([application.id.hex, seq], salt="pipeline.notifications.unsubscribe"),
        signing.dumps([application.id.hex, seq]),
        signing.dumps([application.id.hex, seq], salt="applicants.http.proving"),
    ]

    assert all(BROKEN in refused(visitor, other) for other in others)
    assert visitor.post(f"/unsubscribe/{token}/").status_code == 404
    visitor.cookies["address_to_prove"] = token
    assert visitor.get("/code/").url == "/sign-in/"
    assert who(visitor) is None
    assert factories.status_of(application) == "PENDING_ACKNOWLEDGMENT"


def test_no_byte_of_a_link_can_be_changed(visitor: Client) -> None:
    application = offered()
    token = token_of(application)

    for at in range(len(token) - 1):  # the last letter holds bits that mean nothing
        other = "A" if token[at] != "A" else "B"
        found = read_offer_token(token[:at] + other + token[at + 1 :])
        assert found is None, at
    assert read_offer_token(token) is not None


def test_a_link_of_someone_erased_says_nothing_about_them_and_opens_nothing_later(
    visitor: Client,
) -> None:
    """Nor does it once the same address has applied again."""
    application = offered()
    token = token_of(application)
    erase_person(applicant_id=application.applicant_id)
    again = factories.application(
        application.job_id, factories.applicant(email="ana.li@example.org")
    )

    page = text_of(visitor.get(f"/confirm/{token}/"))
    answer = visitor.post("/confirm/", {"token": token})

    assert answer.status_code == 409
    assert who(visitor) is None
    assert factories.status_of(again) == "PENDING_ACKNOWLEDGMENT"
    assert "example.org" not in page
    assert verify_job(application.job_id).is_sound
