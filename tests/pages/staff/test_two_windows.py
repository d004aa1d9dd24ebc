"""Several windows and identities in one browser: a form acts for the identity its page showed."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest
from django.core import mail
from django.test import Client

from applicants.browser import KEY
from jobs.models import ApiKey, Company, Job, Membership, Role, User
from tests.support import factories
from tests.support.accounts import PASSWORD, browser_of, is_signed_in
from tests.support.outbox import code_to

HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')


@pytest.fixture
def other(ada: User) -> Company:
    """Another company in which Ada is an owner too."""
    company = factories.company(name="Zenith")
    Membership.objects.create(company=company, user=ada, role=Role.OWNER)
    return company


@pytest.fixture
def windows(ada: User, company: Company) -> Client:
    """Ada's browser, which acts for Acme."""
    client = browser_of(ada)
    client.post("/company/switch/", {"company": str(company.id)})
    return client


def hidden(client: Client, address: str) -> dict[str, str]:
    """Return the hidden fields of a page's form."""
    fields = dict(HIDDEN.findall(client.get(address).content.decode()))
    return {name: value for name, value in fields.items() if name != "csrfmiddlewaretoken"}


def look_at_the_other_company(client: Client, other: Company) -> None:
    """In a second window."""
    job = factories.job(company_id=other.id)
    assert client.get(f"/company/jobs/{job}/").status_code == 200
    assert "Zenith" in client.get("/company/team/").content.decode()


def test_who_is_added_joins_the_team_whose_page_it_was(
    windows: Client, company: Company, other: Company
) -> None:
    form = hidden(windows, "/company/team/") | {"email": "new@example.org", "role": "OWNER"}
    look_at_the_other_company(windows, other)

    windows.post("/company/team/", form)

    assert Membership.objects.get(user__email="new@example.org").company == company


def test_a_key_belongs_to_the_company_whose_page_it_was(
    windows: Client, ada: User, company: Company, other: Company
) -> None:
    windows.post("/account/reauthenticate/", {"password": PASSWORD})
    form = hidden(windows, "/company/keys/") | {"name": "Import", "scopes": ["read"]}
    look_at_the_other_company(windows, other)

    assert windows.post("/company/keys/", form).status_code == 201
    assert ApiKey.objects.get().company == company


def test_a_job_belongs_to_the_company_whose_page_it_was(
    windows: Client, company: Company, other: Company
) -> None:
    page = windows.get("/company/jobs/new/")
    form = {name: field.value() for name, field in _fields(page).items() if field.value()}
    form |= hidden(windows, "/company/jobs/new/") | {"title": "Welder"}
    look_at_the_other_company(windows, other)

    windows.post("/company/jobs/new/", form | {"start": "DRAFT"})

    assert Job.objects.get(posting__title="Welder").company == company


def _fields(page: object) -> dict[str, object]:
    form = page.context["form"]  # type: ignore[attr-defined]
    return {field.html_name: field for field in form}


@pytest.mark.parametrize("address", ["/company/team/", "/company/keys/", "/company/jobs/new/"])
def test_a_form_of_somebody_elses_company_is_refused(
    windows: Client, company: Company, address: str
) -> None:
    stranger = factories.company(name="Theirs")

    for company_id in (str(stranger.id), str(uuid4()), "x", ""):
        form = {"company_id": company_id, "email": "new@example.org", "role": "OWNER"}
        assert windows.post(address, form).status_code == 403

    assert not User.objects.filter(email="new@example.org").exists()


def test_a_role_in_one_company_is_none_in_another(
    windows: Client, ada: User, company: Company, other: Company
) -> None:
    Membership.objects.filter(user=ada, company=company).update(role=Role.VIEWER)
    windows.post("/company/switch/", {"company": str(other.id)})
    form = {"company_id": str(company.id), "email": "new@example.org", "role": "OWNER"}

    assert windows.post("/company/team/", form).status_code == 403
    assert not User.objects.filter(email="new@example.org").exists()


def test_signing_in_as_an_applicant_ends_the_accounts_session(windows: Client) -> None:
    before = windows.session.session_key
    windows.post("/sign-in/", {"email": "ann@example.org"})
    assert is_signed_in(windows)

    windows.post("/code/", {"code": code_to("ann@example.org")})

    assert KEY in windows.session
    assert "_auth_user_id" not in windows.session
    assert windows.session.session_key != before
    assert not is_signed_in(windows)
    assert windows.get("/company/").status_code == 302
    assert len(mail.outbox) == 1


def test_who_is_taken_out_of_a_team_loses_it_in_every_open_window(
    windows: Client, ada: User, company: Company
) -> None:
    job = factories.job(company_id=company.id)
    assert windows.get(f"/company/jobs/{job}/").status_code == 200
    Membership.objects.filter(user=ada).delete()

    assert windows.get(f"/company/jobs/{job}/").status_code == 403
    assert windows.get("/company/team/").status_code == 403
    assert windows.get("/company/keys/").status_code == 403
