"""Codes: proof of an address, lifetime, number of guesses, and stored data."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.core import mail
from django.db import connection
from django.db.models import F

from applicants import codes, tokens
from applicants.codes import MOST_CODES
from applicants.forms import CodeForm
from applicants.models import Applicant, ApplicantToken, SignInCode
from applicants.sign_in import redeem_code
from pipeline.api.v1.applicants import CodeIn
from tasks import enqueue
from tests.support import factories
from tests.support.applicants import find_token
from tests.support.outbox import HERE, code_to, wrong

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("mail_at_once")]

ANN = "ann@example.org"


def let_pass(duration: timedelta) -> None:
    """All codes are older by that much."""
    SignInCode.objects.update(
        expires_at=F("expires_at") - duration, counted_until=F("counted_until") - duration
    )


def test_the_mail_begins_with_the_code_and_says_how_long_it_is_valid() -> None:
    codes.send(ANN, by=HERE)

    [message] = mail.outbox
    assert message.to == [ANN]
    assert message.subject == codes.SUBJECT
    assert message.body.startswith(f"{code_to(ANN)}\n")
    assert "10 minutes" in message.body
    assert f"{settings.SITE_URL}/code/" in message.body
    assert "If this wasn’t you, ignore this email" in message.body


def test_the_right_code_makes_an_unknown_address_a_person_and_a_wrong_one_does_not() -> None:
    codes.send(ANN, by=HERE)
    code = code_to(ANN)

    assert redeem_code(email=ANN, code=wrong(code), requester=HERE.handle) is None
    assert not Applicant.objects.exists()

    granted = redeem_code(email=f" {ANN.upper()} ", code=code, requester=HERE.handle)
    assert granted
    found = find_token(granted[0])
    assert found
    token = ApplicantToken.objects.get(id=found.id)
    assert token.applicant_id == found.applicant_id
    assert token.applicant.email == ANN
    assert token.expires_at == granted[1]


def test_a_known_person_is_found_again() -> None:
    person = factories.applicant(email=ANN)
    codes.send(ANN, by=HERE)

    granted = redeem_code(email=ANN, code=code_to(ANN), requester=HERE.handle)

    assert granted
    assert ApplicantToken.objects.get().applicant == person


def test_a_code_is_good_once() -> None:
    codes.send(ANN, by=HERE)
    code = code_to(ANN)

    assert [
        codes.guess(ANN, code, requester=HERE.handle),
        codes.guess(ANN, code, requester=HERE.handle),
    ] == [
        True,
        None,
    ]


def test_a_code_is_good_for_ten_minutes() -> None:
    codes.send(ANN, by=HERE)
    let_pass(timedelta(minutes=9, seconds=50))
    assert codes.guess(ANN, wrong(code_to(ANN)), requester=HERE.handle) is False

    let_pass(timedelta(seconds=10))

    assert codes.guess(ANN, code_to(ANN), requester=HERE.handle) is None


def test_a_code_can_be_guessed_at_five_times() -> None:
    codes.send(ANN, by=HERE)
    code = code_to(ANN)

    guesses = [codes.guess(ANN, wrong(code), requester=HERE.handle) for _ in range(6)]

    assert guesses == [False] * 5 + [None]
    assert codes.guess(ANN, code, requester=HERE.handle) is None


def test_a_code_is_of_one_address_and_the_last_one_counts() -> None:
    codes.send(ANN, by=HERE)
    first = code_to(ANN)
    codes.send("bob@example.org", by=HERE)
    codes.send(ANN, by=HERE)
    last = code_to(ANN)

    if first != last:
        assert codes.guess(ANN, first, requester=HERE.handle) is False
    assert codes.guess("eve@example.org", last, requester=HERE.handle) is None
    assert codes.guess(ANN, last, requester=HERE.handle) is True


def test_an_address_gets_so_many_codes_an_hour_and_no_word_about_more() -> None:
    for _ in range(MOST_CODES + 2):
        codes.send(ANN, by=HERE)
    assert len(mail.outbox) == MOST_CODES
    last = code_to(ANN)
    assert codes.guess(ANN, wrong(last), requester=HERE.handle) is False
    assert codes.guess(ANN, last, requester=HERE.handle) is True

    let_pass(timedelta(minutes=59))
    codes.send(ANN, by=HERE)
    assert len(mail.outbox) == MOST_CODES

    let_pass(timedelta(minutes=1))
    codes.send(ANN, by=HERE)
    assert len(mail.outbox) == MOST_CODES + 1
    assert SignInCode.objects.get().sent == 1


def test_nothing_of_the_person_or_the_code_is_kept() -> None:
    codes.send(ANN, by=HERE)

    with connection.cursor() as cursor:
        cursor.execute("SELECT s::text FROM applicants_signincode AS s")
        [(row,)] = cursor.fetchall()
    assert "ann" not in row
    assert ANN.encode().hex() not in row
    assert code_to(ANN).encode().hex() not in row
    assert not Applicant.objects.exists()


def test_the_same_code_for_another_address_has_another_hash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("applicants.codes.generate", lambda: "123456")

    codes.send(ANN, by=HERE)
    codes.send("bob@example.org", by=HERE)

    assert SignInCode.objects.values("digest").distinct().count() == 2


def test_asking_does_the_same_work_for_a_known_address_and_an_unknown_one(
    django_assert_num_queries: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(enqueue, "wake_workers", lambda: None)  # the email is another process's
    factories.applicant(email=ANN)
    statements = []
    for address in (ANN, "nobody@example.org"):
        # BEGIN, turn, code, email, its task, COMMIT, what to clear
        with django_assert_num_queries(7) as captured:
            codes.send(address, by=HERE)
        statements.append([re.sub(r"'[^']*'|-?\d{9,}", "?", q["sql"]) for q in captured])

    assert statements[0][2:] == statements[1][2:]
    assert "applicants_applicant" not in str(statements).replace("applicants_applicanttoken", "")


def test_what_has_expired_is_cleared_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes, "CLEARED_AT_ONCE", 2)
    for number in range(3):
        codes.send(f"person{number}@example.org", by=HERE)
    let_pass(timedelta(minutes=61))

    codes.send(ANN, by=HERE)
    assert SignInCode.objects.count() == 2

    codes.send(ANN, by=HERE)
    assert SignInCode.objects.count() == 1


def test_a_live_code_outlives_the_window_in_which_it_was_counted() -> None:
    codes.send(ANN, by=HERE)
    SignInCode.objects.update(counted_until=F("counted_until") - codes.WINDOW)

    codes.send("bob@example.org", by=HERE)

    assert codes.guess(ANN, code_to(ANN), requester=HERE.handle) is True


def test_expired_tokens_are_cleared_when_somebody_signs_in() -> None:
    old = tokens.issue(factories.applicant())
    ApplicantToken.objects.update(expires_at=F("expires_at") - timedelta(days=31))
    codes.send(ANN, by=HERE)

    redeem_code(email=ANN, code=code_to(ANN), requester=HERE.handle)

    assert find_token(old) is None
    assert ApplicantToken.objects.get().applicant.email == ANN


def test_a_revoked_token_is_no_longer_found() -> None:
    token = tokens.issue(factories.applicant())
    row = find_token(token)
    assert row

    tokens.revoke(row.id)
    tokens.revoke(row.id)

    assert find_token(token) is None


@pytest.mark.parametrize(
    "typed",
    [
        "12345678",
        " 1234 5678\n",
        "1234-5678",
        "1234\u20135678.",
        "\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18",
        "\u0661\u0662\u0663\u0664\u0665\u0666\u0667\u0668",
        "\u200b12345678\u2060\u00a0",
    ],
)
def test_a_code_is_taken_however_its_digits_are_typed(typed: str) -> None:
    form, asked = CodeForm({"code": typed}), CodeIn(data={"email": "a@x.org", "code": typed})

    assert form.is_valid()
    assert asked.is_valid()
    assert form.cleaned_data["code"] == asked.validated_data["code"] == "12345678"


@pytest.mark.parametrize("typed", ["1234567", "1234567a", "123456789", "\u00b2" * 8])
def test_what_is_no_code_stays_none(typed: str) -> None:
    assert not CodeForm({"code": typed}).is_valid()
