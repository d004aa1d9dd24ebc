"""Credentials: what is accepted, what is refused, and that a refusal says nothing more."""

from __future__ import annotations

import pytest
from django.db.models.functions import Now
from django.test import Client

from applicants.models import ApplicantToken
from jobs.models import ApiKey, Company
from tests.support import factories
from tests.support.callers import Caller, code_of, person


def test_a_companys_key_stands_for_the_company(acme: Caller, company: Company) -> None:
    answer = acme.get("/companies/me")

    assert answer.status_code == 200
    assert answer.json()["id"] == str(company.id)
    assert answer.json()["name"] == "Acme"


def test_an_applicants_token_stands_for_the_person(transactional_db: None) -> None:
    applicant, caller = person(email="ann@example.org", name="Ann")

    answer = caller.get("/me")

    assert answer.status_code == 200
    assert answer.json()["id"] == str(applicant.id)
    assert answer.json()["email"] == "ann@example.org"


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer nilk_",
        "Bearer nilk_unknown",
        "Bearer nila_unknown",
        "Bearer something",
        "Bearer nilk_a nilk_b",
        "Bearer nilk_\u00e9",
        "Bearer " + "nilk_" + "a" * 100_000,
        "Basic bmlsazpuaWxr",
        "Token nilk_unknown",
    ],
)
@pytest.mark.parametrize("path", ["/jobs", "/me", "/companies/me"])
def test_a_credential_that_is_none_is_refused_everywhere(
    transactional_db: None, header: str, path: str
) -> None:
    answer = Client().get(f"/api/v1{path}", headers={"Authorization": header})

    assert code_of(answer) == (401, "NOT_AUTHENTICATED")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_revoked_key_is_refused_at_once(acme: Caller) -> None:
    ApiKey.objects.update(revoked_at=Now())

    answer = acme.get("/companies/me")

    assert code_of(answer) == (401, "NOT_AUTHENTICATED")
    assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.parametrize("column", ["revoked_at", "expires_at"])
def test_a_token_that_is_over_is_refused(transactional_db: None, column: str) -> None:
    _applicant, caller = person()
    ApplicantToken.objects.update(**{column: Now()})

    answer = caller.get("/me")

    assert code_of(answer) == (401, "NOT_AUTHENTICATED")


def test_a_key_is_not_taken_for_a_token_nor_a_token_for_a_key(acme: Caller) -> None:
    assert acme.token is not None
    swapped = Caller(acme.token.replace("nilk_", "nila_"))

    assert code_of(swapped.get("/me")) == (401, "NOT_AUTHENTICATED")


def test_all_refused_credentials_get_the_same_answer(nobody: Caller, acme: Caller) -> None:
    ApiKey.objects.update(revoked_at=Now())
    callers = [nobody, acme, Caller("nilk_unknown"), Caller("nila_unknown"), Caller("x")]

    bodies = [caller.get("/companies/me").json() for caller in callers]

    for body in bodies:
        body.pop("request_id")
    assert all(body == bodies[0] for body in bodies)


def test_the_scheme_is_written_in_any_case_of_its_first_letter(acme: Caller) -> None:
    answer = Client().get("/api/v1/companies/me", headers={"Authorization": f"bearer {acme.token}"})

    assert answer.status_code == 200


def test_the_public_needs_no_credential(nobody: Caller) -> None:
    job_id = factories.job()

    assert nobody.get("/jobs").status_code == 200
    assert nobody.get(f"/jobs/{job_id}").status_code == 200
