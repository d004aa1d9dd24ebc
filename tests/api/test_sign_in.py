"""Signing in as an applicant: by a code that was mailed, without telling who is known here."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import mail

from applicants import codes
from applicants.models import Applicant
from tests.support import factories
from tests.support.callers import Answer, Caller, code_of, person, pointers
from tests.support.outbox import code_to, wrong

ANN = "ann@example.org"


def ask(caller: Caller, email: str = ANN) -> Answer:
    return caller.post("/auth/code", {"email": email})


def enter(caller: Caller, code: str, email: str = ANN) -> Answer:
    return caller.post("/auth/token", {"email": email, "code": code})


def test_a_code_becomes_a_token_and_the_token_ends(nobody: Caller) -> None:
    ask(nobody)
    answer = enter(nobody, code_to(ANN))

    assert answer.status_code == 200
    assert list(answer.json()) == ["token", "expires_at"]
    assert answer.headers["Cache-Control"] == "no-store"
    caller = Caller(answer.json()["token"])
    assert caller.get("/me").json()["email"] == ANN

    ended = caller.delete("/auth/token")
    assert (ended.status_code, ended.content) == (204, b"")
    assert code_of(caller.get("/me")) == (401, "NOT_AUTHENTICATED")
    assert code_of(caller.delete("/auth/token")) == (401, "NOT_AUTHENTICATED")


def test_only_the_token_that_is_shown_ends(transactional_db: None) -> None:
    applicant, first = person(email=ANN)
    nobody = Caller()
    ask(nobody)
    second = Caller(enter(nobody, code_to(ANN)).json()["token"])

    first.delete("/auth/token")

    assert second.get("/me").json()["id"] == str(applicant.id)


def test_asking_for_a_code_is_answered_alike_for_everybody(nobody: Caller) -> None:
    factories.applicant(email=ANN)
    answers = [ask(nobody), ask(nobody, "nobody@example.org"), ask(nobody)]

    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.content for answer in answers}) == 1
    assert Applicant.objects.count() == 1


def test_no_word_is_said_when_an_address_got_all_its_codes(
    nobody: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "MOST_CODES", 5)
    answers = [ask(nobody) for _ in range(codes.MOST_CODES + 1)]

    assert len(mail.outbox) == codes.MOST_CODES
    assert len({(answer.status_code, answer.content) for answer in answers}) == 1


def test_every_failed_attempt_is_answered_alike(nobody: Caller) -> None:
    factories.applicant(email=ANN)
    ask(nobody)
    code = code_to(ANN)
    failed = [enter(nobody, wrong(code)), enter(nobody, code, "nobody@example.org")]
    failed += [enter(nobody, wrong(code)) for _ in range(4)]
    failed += [enter(nobody, code), enter(nobody, "x"), enter(nobody, "12345\uff16")]

    bodies = [answer.json() for answer in failed]
    for body in bodies:
        del body["request_id"]
    assert {code_of(answer) for answer in failed} == {(401, "NOT_AUTHENTICATED")}
    assert all(body == bodies[0] for body in bodies)
    assert "code" in bodies[0]["detail"]


def test_blanks_and_case_do_not_matter(nobody: Caller) -> None:
    ask(nobody, " Ann@Example.ORG ")
    code = code_to(ANN)

    assert enter(nobody, f" {code[:3]} {code[3:]} ", "ANN@example.org").status_code == 200


def test_an_expired_token_does_not_stop_anybody_from_signing_in(nobody: Caller) -> None:
    ask(Caller("nila_expired"))

    assert enter(Caller("nila_expired"), code_to(ANN)).status_code == 200


@pytest.mark.parametrize("path", ["/auth/code", "/auth/token"])
@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"code": "123456"}, "/email"),
        ({"code": "123456", "email": "ann"}, "/email"),
        ({"code": "123456", "email": None}, "/email"),
        ({"code": "123456", "email": [ANN]}, "/email"),
        ({"code": "123456", "email": f"{ANN}\r\nBcc: eve@example.org"}, "/email"),
    ],
)
def test_what_is_no_address_is_refused(
    nobody: Caller, path: str, body: dict[str, Any], pointer: str
) -> None:
    answer = nobody.post(path, body)

    assert code_of(answer) == (400, "VALIDATION_ERROR")
    assert pointer in pointers(answer)
    assert mail.outbox == []


@pytest.mark.parametrize("code", [None, 123456, "", "1" * 21, ["123456"]])
def test_a_code_is_a_string(nobody: Caller, code: Any) -> None:
    assert pointers(nobody.post("/auth/token", {"email": ANN, "code": code})) == ["/code"]


def test_a_token_is_not_kept_with_an_idempotency_key(nobody: Caller) -> None:
    ask(nobody)
    body = {"email": ANN, "code": code_to(ANN)}

    first = nobody.post("/auth/token", body, Idempotency_Key="k")
    again = nobody.post("/auth/token", body, Idempotency_Key="k")

    assert first.status_code == 200
    assert code_of(again) == (401, "NOT_AUTHENTICATED")


@pytest.mark.parametrize(("path", "name"), [("code", "code_request"), ("token", "code_try")])
def test_one_client_cannot_try_for_ever(
    nobody: Caller, settings: Any, path: str, name: str
) -> None:
    settings.THROTTLE_RATES = settings.THROTTLE_RATES | {name: (2, 60)}
    bodies = [{"email": f"p{n}@example.org"} for n in range(3)]
    if path == "token":
        bodies = [body | {"code": "123456"} for body in bodies]

    answers = [nobody.post(f"/auth/{path}", body) for body in bodies]

    assert code_of(answers[2]) == (429, "THROTTLED")
    assert answers[1].status_code != 429
