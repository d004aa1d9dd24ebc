"""Concurrent guesses on real connections: no more than the allowed number count."""

from __future__ import annotations

from functools import partial

import pytest
from django.core import mail

from applicants import codes
from applicants.models import Applicant, ApplicantToken, SignInCode
from applicants.sign_in import redeem_code
from tests.support.outbox import HERE, code_to, wrong
from tests.support.together import together

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("mail_at_once")]

ANN = "ann@example.org"
GUESSES = 50

LOOK_THEN_WRITE = """
WITH seen AS (
    SELECT *, pg_sleep(0.2) FROM applicants_signincode
    WHERE request = %(request)s AND tries_left > 0 AND expires_at > clock_timestamp()
)
UPDATE applicants_signincode AS held SET tries_left = CASE
    WHEN held.digest = %(digest)s THEN 0 ELSE seen.tries_left - 1 END
FROM seen WHERE held.request = seen.request
RETURNING held.digest = %(digest)s
"""
"""What a program does that first looks whether tries are left, and then takes one."""


@pytest.fixture(params=[True, False], ids=["one statement", "control: look, then write"])
def at_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """With the product's statement, and with one that looks before it writes."""
    if not request.param:
        monkeypatch.setattr(codes, "GUESS", LOOK_THEN_WRITE)
    return bool(request.param)


def test_fifty_guesses_at_once_get_five_tries(at_once: bool) -> None:
    codes.send(ANN, by=HERE)
    guesses = [partial(codes.guess, ANN, wrong(code_to(ANN)), requester=HERE.handle)] * GUESSES

    taken = together(guesses).count(False)

    if at_once:
        assert taken == codes.MOST_TRIES
        assert SignInCode.objects.get().tries_left == 0
    else:
        assert taken > codes.MOST_TRIES


def test_of_many_who_know_the_code_at_once_one_gets_in(at_once: bool) -> None:
    codes.send(ANN, by=HERE)

    answers = together([partial(codes.guess, ANN, code_to(ANN), requester=HERE.handle)] * 20)

    entered = answers.count(True)
    assert entered == 1 if at_once else entered > 1


def test_of_twenty_sign_ins_at_once_one_makes_one_person_with_one_token() -> None:
    codes.send(ANN, by=HERE)

    answers = together(
        [partial(redeem_code, email=ANN, code=code_to(ANN), requester=HERE.handle)] * 20
    )

    assert sum(isinstance(answer, tuple) for answer in answers) == 1
    assert answers.count(None) == 19
    assert (Applicant.objects.count(), ApplicantToken.objects.count()) == (1, 1)


def test_of_twenty_requests_at_once_only_the_allowed_five_send_a_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(codes, "MOST_CODES", 5)

    answers = together([partial(codes.send, ANN, by=HERE)] * 20)

    assert answers == [None] * 20
    assert len(mail.outbox) == 5
