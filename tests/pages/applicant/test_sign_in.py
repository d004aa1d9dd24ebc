"""Signing in by a code, the ways in which a code fails, and signing out."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db.models import F
from django.test import Client

from applicants import browser
from applicants.models import Applicant, SignInCode
from tests.support import factories
from tests.support.applicants import applicant_browser, who
from tests.support.outbox import code_to, wrong
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)

ANN = "ann@example.org"


@pytest.fixture
def a_while_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """No code was sent just now."""
    monkeypatch.setattr(browser, "JUST_SENT", timedelta(seconds=-1))


def asked(visitor: Client, **more: str) -> Any:
    return visitor.post("/sign-in/", {"email": f" {ANN.upper()}", **more}, follow=True)


def test_the_right_code_signs_in_with_a_session_of_its_own(visitor: Client) -> None:
    asked(visitor)
    before = visitor.session.session_key

    answer = visitor.post("/code/", {"code": f" {code_to(ANN)[:3]} {code_to(ANN)[3:]}"})

    assert answer["Location"] == "/me/"
    assert who(visitor) == str(Applicant.objects.get(email=ANN).id)
    assert visitor.session.session_key != before
    assert visitor.get("/sign-in/")["Location"] == "/me/"


def test_the_answer_is_the_same_whoever_is_known() -> None:
    factories.applicant(email=ANN)
    pages = []
    for email in (ANN, "nobody@example.org"):
        page = Client().post("/sign-in/", {"email": email}, follow=True)
        pages.append(text_of(page).replace(email, "…"))

    assert pages[0] == pages[1]
    assert [each.to for each in mail.outbox] == [[ANN], ["nobody@example.org"]]


def test_a_wrong_code_can_be_tried_again_a_few_times(visitor: Client) -> None:
    asked(visitor)
    bad = wrong(code_to(ANN))

    answers = [visitor.post("/code/", {"code": bad}) for _ in range(6)]
    late = visitor.post("/code/", {"code": code_to(ANN)})

    assert "This code is wrong" in text_of(answers[0])
    assert "has expired, was already used" in text_of(answers[5])
    assert late.status_code == 422
    assert who(visitor) is None


def test_a_code_that_is_too_old_says_so(visitor: Client) -> None:
    asked(visitor)
    SignInCode.objects.update(expires_at=F("expires_at") - timedelta(minutes=10))

    answer = visitor.post("/code/", {"code": code_to(ANN)})

    assert answer.status_code == 422
    assert "has expired, was already used" in text_of(answer)


@pytest.mark.parametrize("code", ["", "12345", "abcdef", "\N{FULLWIDTH DIGIT ONE}23456"])
def test_what_is_no_code_costs_no_try(visitor: Client, code: str) -> None:
    asked(visitor)

    answer = visitor.post("/code/", {"code": code})

    assert answer.status_code == 422
    assert SignInCode.objects.get().tries_left == 5


def test_a_code_that_was_just_sent_is_not_sent_again(visitor: Client) -> None:
    asked(visitor)

    page = visitor.post("/code/", {"again": "1"}, follow=True)

    assert "We have just sent you a code" in text_of(page)
    assert len(mail.outbox) == 1
    assert visitor.post("/code/", {"code": code_to(ANN)}).status_code == 302


def test_a_new_code_replaces_the_one_before(visitor: Client, a_while_later: None) -> None:
    asked(visitor)
    first = code_to(ANN)

    page = visitor.post("/code/", {"again": "1"}, follow=True)

    assert "We have sent you a new code" in text_of(page)
    assert len(mail.outbox) == 2
    if first != code_to(ANN):
        assert visitor.post("/code/", {"code": first}).status_code == 422
    assert visitor.post("/code/", {"code": code_to(ANN)}).status_code == 302


def test_the_code_box_is_there_only_for_who_asked_for_a_code(visitor: Client) -> None:
    assert visitor.get("/code/")["Location"] == "/sign-in/"
    assert applicant_browser(factories.applicant()).get("/code/")["Location"] == "/me/"


@pytest.mark.parametrize(
    ("wanted", "reached"),
    [
        ("/me/data/", "/me/data/"),
        ("https://evil.example/", "/me/"),
        ("//evil.example/", "/me/"),
        ("javascript:alert(1)", "/me/"),
    ],
)
def test_one_comes_back_to_where_one_wanted_to_be(
    visitor: Client, wanted: str, reached: str
) -> None:
    form = visitor.get("/sign-in/", {"next": wanted}).content.decode()
    asked(visitor, next=wanted)

    answer = visitor.post("/code/", {"code": code_to(ANN)})

    assert answer["Location"] == reached
    assert "evil" not in form.partition("<footer")[0]  # there, this page in another language


def test_a_page_of_ones_own_asks_to_sign_in_first(visitor: Client) -> None:
    assert visitor.get("/me/")["Location"] == "/sign-in/?next=/me/"


def test_the_rates_hold_for_asking_and_for_guessing(
    visitor: Client, settings: Any, a_while_later: None
) -> None:
    settings.THROTTLE_RATES = settings.THROTTLE_RATES | {
        "code_request": (1, 3600),
        "code_try": (1, 3600),
    }
    asked(visitor)

    again = [
        visitor.post("/sign-in/", {"email": "bob@example.org"}),
        visitor.post("/code/", {"again": "1"}),
    ]
    visitor.post("/code/", {"code": wrong(code_to(ANN))})
    guess = visitor.post("/code/", {"code": code_to(ANN)})

    for answer in (*again, guess):
        assert answer.status_code == 429
        assert "Too many attempts" in text_of(answer)
        assert "Retry-After" in answer
    assert len(mail.outbox) == 1
    assert who(visitor) is None


def test_signing_out_ends_the_session() -> None:
    client = applicant_browser(factories.applicant())

    assert client.get("/sign-out/").url == "/"
    page = client.post("/sign-out/", follow=True)

    assert "You are signed out" in text_of(page)
    assert who(client) is None
