"""What others could learn from a browser, a cache, a log or a mail: nothing."""

from __future__ import annotations

import json
import logging
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core import mail
from django.db.models import F
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from applicants.models import SignInCode
from pipeline.config.logging import configure_logging
from pipeline.mail.links import LinkedOffer, make_offer_token
from pipeline.maintenance import expired_rows
from pipeline.pages.limits import TooOften
from tests.support import factories
from tests.support.applicants import applicant_browser, owner_signed_in, who
from tests.support.outbox import code_to
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)

ANN = "ann@example.org"
JOB = "01890000-0000-7000-8000-000000000000"


PAGES = ["/", "/me/", "/me/data/", "/me/data/erase/", "{mine}", "{mine}withdraw/"]


@pytest.mark.parametrize("page", PAGES)
def test_no_browser_keeps_a_page_of_somebody_who_is_signed_in(page: str) -> None:
    application = factories.application(factories.job())
    client = owner_signed_in(application)

    answer = client.get(page.format(mine=f"/me/applications/{application.id}/"))

    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    assert "private" in answer["Cache-Control"]


def test_a_fragment_can_be_asked_for_by_its_tag() -> None:
    client = owner_signed_in(factories.application(factories.job()))
    first = client.get("/me/?fragment=1")

    again = client.get("/me/?fragment=1", headers={"If-None-Match": first["ETag"]})

    assert again.status_code == 304
    assert "no-store" not in again["Cache-Control"]


def test_who_is_not_signed_in_may_keep_the_open_jobs(visitor: Client) -> None:
    assert "no-store" not in visitor.get("/").get("Cache-Control", "")


def test_with_safe_cookies_a_browser_is_told_to_stay_with_tls(
    visitor: Client, settings: Any
) -> None:
    assert not visitor.get("/").has_header("Strict-Transport-Security")
    settings.SECURE_HSTS_SECONDS = 31_536_000  # as SECURE_COOKIES has it

    assert visitor.get("/")["Strict-Transport-Security"] == "max-age=31536000"


def test_an_address_that_is_not_proved_yet_is_kept_in_the_browser_alone(visitor: Client) -> None:
    visitor.post("/sign-in/", {"email": ANN})

    kept = visitor.cookies["address_to_prove"]
    assert ANN in text_of(visitor.get("/code/"))
    assert Session.objects.count() == 0
    assert kept["httponly"]
    assert kept["samesite"] == "Lax"
    visitor.post("/code/", {"code": code_to(ANN)})
    assert visitor.cookies["address_to_prove"].value == ""


def test_an_address_cannot_be_put_into_a_browser_by_hand(visitor: Client) -> None:
    visitor.post("/sign-in/", {"email": ANN})
    signed = visitor.cookies["address_to_prove"].value

    for forged in ("", "x", signed[:-1], "WyJib2JAZXhhbXBsZS5vcmciLCIiXQ:a:b", "é"):
        visitor.cookies["address_to_prove"] = forged
        assert visitor.get("/code/").status_code == 302


def test_signing_out_and_erasing_leave_no_address_in_the_browser(visitor: Client) -> None:
    for address in ("/sign-out/", "/me/data/erase/"):
        client = applicant_browser(factories.applicant())
        client.post("/sign-in/", {"email": ANN})
        client.post(address, {"sure": "on"})

        assert client.cookies["address_to_prove"].value == ""
        assert who(client) is None


NO_WAYS = ["foo", "openings", "job x", f"job {JOB}", "/" + "a" * 2000]


@pytest.mark.parametrize("target", NO_WAYS)
def test_a_way_back_that_is_none_leads_to_the_dashboard(visitor: Client, target: str) -> None:
    asked = visitor.post("/sign-in/", {"email": ANN, "next": target}, follow=True)
    answer = visitor.post("/code/", {"code": code_to(ANN)})
    later = visitor.get("/sign-in/", {"next": target})

    assert "We took your application" not in text_of(asked)
    assert (answer.status_code, answer["Location"]) == (302, "/me/")
    assert (later.status_code, later["Location"]) == (302, "/me/")


def test_one_client_cannot_use_up_the_codes_of_somebody_elses_address() -> None:
    job, attacker, ann = factories.job(), Client(), Client(REMOTE_ADDR="192.0.2.7")
    form = {"name": "X", "email": ANN}

    answers = [attacker.post(f"/jobs/{job}/apply/", form).status_code for _ in range(15)]
    answers += [attacker.post("/sign-in/", {"email": ANN}).status_code for _ in range(15)]
    sent = len(mail.outbox)
    ann.post("/sign-in/", {"email": ANN})

    assert answers.count(302) == sent == 10
    assert len(mail.outbox) == sent + 1
    assert SignInCode.objects.count() == sent + 1  # one for each browser that asked
    assert ann.post("/code/", {"code": code_to(ANN)}).status_code == 302


def test_the_api_counts_codes_to_an_address_together_with_the_pages() -> None:
    job, client = factories.job(), Client()
    body = {"name": "X", "email": ANN.upper()}
    apply = f"/api/v1/jobs/{job}/applications"

    for _ in range(5):
        client.post(f"/jobs/{job}/apply/", {"name": "X", "email": ANN})
    answers = [
        client.post(
            apply, json.dumps(body), "application/json", headers={"Idempotency-Key": f"k{n}"}
        ).status_code
        for n in range(7)
    ]

    assert answers == [202] * 5 + [429] * 2
    assert len(mail.outbox) == 10


def test_a_refusal_says_nothing_about_the_address() -> None:
    assert ANN not in str(TooOften(60))


def test_the_log_holds_no_link_of_a_mail(capfd: pytest.CaptureFixture[str]) -> None:
    application = factories.application(factories.job(acknowledge_first_seat=True))
    token = make_offer_token(
        LinkedOffer(application.id, factories.events(application.job_id)[-1].seq)
    )
    kept = logging.getLogger().handlers[:], logging.getLogger().level
    configure_logging(level="INFO", as_json=True)
    try:
        client = Client()
        client.post(f"/confirm/{token}/")
        client.options(f"/confirm/{token}/")
        Client(enforce_csrf_checks=True).post(f"/confirm/{token}/")
        client.get("/account/password/reset/key/abc-secretsecret/more")
        client.post("/account/confirm-email/secretsecret:x:y/more")
    finally:
        logging.getLogger().handlers[:], logging.getLogger().level = kept

    lines = capfd.readouterr().err
    assert lines.count("/confirm/\\u2026") >= 3
    assert token not in lines
    assert "secretsecret" not in lines


def test_expired_sessions_are_removed() -> None:
    applicant_browser(factories.applicant()), applicant_browser(factories.applicant())
    first = Session.objects.first()
    Session.objects.filter(pk=first.pk).update(expire_date=F("expire_date") - timedelta(days=30))

    expired_rows.remove_batch()

    assert [row.pk for row in Session.objects.all()] != []
    assert not Session.objects.filter(pk=first.pk).exists()


def _posts(patterns: Any, before: str = "") -> list[str]:
    found = []
    for each in patterns:
        here = before + str(each.pattern)
        if isinstance(each, URLResolver):
            if not here.startswith(("api/", "admin/", "scim/")):  # no sessions, or not ours
                found += _posts(each.url_patterns, here)
        elif isinstance(each, URLPattern):
            found.append(here)
    return found


def test_every_page_refuses_a_form_of_another_site() -> None:
    """Check that no POST without our CSRF token reaches a view."""
    client, ids = Client(enforce_csrf_checks=True), JOB
    addresses = [
        "/" + "/".join(_filled(part, ids) for part in route.split("/"))
        for route in _posts(get_resolver().url_patterns)
        if not route.startswith(("health", "metrics", "^"))
    ]

    assert len(addresses) > 60
    answers = {address: client.post(address, {"x": 1}).status_code for address in addresses}
    assert {
        address: status for address, status in answers.items() if status not in (403, 404)
    } == {}


def _filled(part: str, ids: str) -> str:
    if not part.startswith("<"):
        return part
    return "1" if part.startswith("<int:") else ids if part.startswith("<uuid:") else "x"


def test_the_mail_about_an_application_says_what_to_do_if_it_was_not_you(visitor: Client) -> None:
    job = factories.job()
    visitor.post(f"/jobs/{job}/apply/", {"name": "Someone else", "email": ANN})
    text = str(mail.outbox[-1].body)

    assert "If it was not you" in text
    text = " ".join(text.split())
    assert "holds no seat, ends within 24 hours and does not count against you" in text
    visitor.post("/sign-in/", {"email": ANN})
    assert "ignore this email" in str(mail.outbox[-1].body)
