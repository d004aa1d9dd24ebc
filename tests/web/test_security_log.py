"""The security log: one line per sign-in, refusal, key, role, export, decision and erasure."""

from __future__ import annotations

from uuid import UUID

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.test import Client

from applicants.models import Applicant
from jobs.companies import create_company
from jobs.models import ApiKey, Company, Membership, Role, User
from jobs.team import add_member, change_role, remove_member
from pipeline.privacy.erase import erase_person
from tests.support import factories
from tests.support.accounts import PASSWORD, browser_of, member_of, sign_in
from tests.support.callers import Caller, SessionCaller, signed_in
from tests.support.logs import Log
from tests.support.outbox import code_to

pytestmark = pytest.mark.django_db(transaction=True)
SECOND_STEP = "/account/2fa/authenticate/"


@pytest.fixture(autouse=True)
def _fresh_start(transactional_db: None, empty_cache: None, mail_at_once: None) -> None:
    """Start every test with whole rates, and send its emails at once."""


@pytest.fixture
def ada(company: Company) -> User:
    """Return the account of an owner with a password."""
    return member_of(company, email="ada@example.org", password=PASSWORD)


def events(log: Log) -> list[str]:
    return [line["event"] for line in log.security()]


def test_staff_who_sign_in_and_out_are_named_by_id(log: Log, ada: User) -> None:
    client = Client()

    sign_in(ada.email, client=client)
    client.post("/account/logout/")

    assert events(log) == ["staff.signed_in", "staff.signed_out"]
    assert {line["member"] for line in log.security()} == {str(ada.id)}


@pytest.mark.parametrize(("address", "is_known"), [("ada@example.org", True), ("x@y.org", False)])
def test_a_wrong_password_is_a_warning_without_the_address(
    log: Log, ada: User, address: str, is_known: bool
) -> None:
    sign_in(address, "wrong")

    [line] = log.lines("security")
    assert (line["event"], line["level"]) == ("staff.password_refused", "warning")
    assert line["member"] == (str(ada.id) if is_known else "unknown")
    assert line["request_id"]
    assert line["address"] == "127.0.0.1"
    assert address not in str(line)


def test_a_wrong_second_step_and_a_wrong_code_are_warnings(log: Log, ada: User) -> None:
    TOTP.activate(ada, generate_totp_secret())
    client, other = Client(), Client()
    sign_in(ada.email, client=client)
    client.post(SECOND_STEP, {"code": "000000"})
    other.post("/account/login/code/", {"email": ada.email})
    other.post("/account/login/code/confirm/", {"code": "WRONGX"})

    assert "second_step.refused" in events(log)
    assert "staff.email_sent" in events(log)
    assert "staff.code_refused" in events(log)


def test_an_applicants_codes_and_tokens_are_logged(log: Log) -> None:
    caller = Caller()

    caller.post("/auth/code", {"email": "ann@example.org"})
    caller.post("/auth/token", {"email": "ann@example.org", "code": "00000000"})
    made = caller.post(
        "/auth/token", {"email": "ann@example.org", "code": code_to("ann@example.org")}
    )
    Caller(made.json()["token"]).delete("/auth/token")

    assert events(log) == ["code.sent", "code.refused", "token.created", "token.revoked"]
    assert "ann@example" not in log.text
    person = Applicant.objects.get()
    assert log.security()[-1]["caller"] == f"applicant:{person.id}"


def test_an_applicant_who_signs_in_and_takes_the_data_is_logged(
    log: Log, applicant: Applicant, applicant_page: Client
) -> None:
    applicant_page.get("/me/data/download/")
    applicant_page.post("/sign-out/")
    erase_person(applicant_id=applicant.id)

    assert events(log) == [
        "my_data.downloaded",
        "applicant.signed_out",
        "person.erased",
    ]
    assert {UUID(line["applicant"]) for line in log.security()} == {applicant.id}


def test_keys_are_logged_with_who_made_them(
    log: Log, owner_api: SessionCaller, company: Company
) -> None:
    made = owner_api.post("/api-keys", {"name": "Secret purpose", "scopes": ["read"]})
    owner_api.delete(f"/api-keys/{made.json()['id']}")

    lines = log.security()
    assert [line["event"] for line in lines][-2:] == ["key.created", "key.revoked"]
    owner = Membership.objects.get(company=company, role=Role.OWNER)
    assert lines[-1]["caller"] == f"member:{owner.user_id}"
    assert lines[-1]["key"] == str(ApiKey.objects.get().id)
    assert "Secret purpose" not in log.text
    assert made.json()["key"] not in log.text


def test_a_team_that_changes_is_logged(log: Log) -> None:
    company = create_company(name="Quiet name", owner_email="own@example.org")
    row = add_member(company_id=company.id, email="new@example.org", role=Role.VIEWER)
    change_role(company_id=company.id, membership_id=row.id, role=Role.OWNER)
    remove_member(company_id=company.id, membership_id=row.id)

    assert events(log) == ["company.created", "member.added", "role.changed", "member.removed"]
    assert log.security()[2] == {
        "event": "role.changed",
        "company": str(company.id),
        "member": str(row.user_id),
        "role": "OWNER",
        "before": "VIEWER",
    }
    assert "example.org" not in log.text
    assert "Quiet name" not in log.text


def test_a_decision_and_an_export_are_logged(
    log: Log, acme: Caller, company: Company, applicant: Applicant
) -> None:
    job = factories.job(company_id=company.id)
    signed_in(applicant).post(f"/jobs/{job}/applications", {"name": "Ana Li"})
    mine = signed_in(applicant).get("/me/applications").json()["data"][0]["id"]
    acme.post(f"/applications/{mine}/remove", {"outcome": "REJECTED", "reason": "off the record"})
    acme.post("/tasks", {"type": "log.export", "payload": {"job_id": str(job), "format": "csv"}})
    browser_of(member_of(company)).get(f"/company/jobs/{job}/export/log.csv")

    told = [line for line in log.security() if not line["event"].startswith("token.")]
    others = ("staff.signed_in", "key.created")
    told = [line for line in told if line["event"] not in others]
    assert [line["event"] for line in told] == [
        "decision.made",
        "export.started",
        "export.downloaded",
    ]
    assert told[0]["outcome"] == "REJECTED"
    assert "off the record" not in log.text
