"""A second step is required in the back office, and of a company's members where its owner says."""

from __future__ import annotations

import pytest
from allauth.mfa.models import Authenticator
from django.test import Client

from jobs.companies import require_second_step
from jobs.errors import SecondStepMissing
from jobs.models import Company, Role, User
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.callers import SessionCaller, code_of
from tests.support.pages import follow, page_of, text_of

STEP = "/company/team/second-step/"


def add_app(user: User) -> None:
    Authenticator.objects.create(user=user, type="totp", data={"secret": "x"})


@pytest.mark.parametrize("path", ["/admin/", "/admin/login/", "/admin/jobs/user/", "/admin/x/"])
def test_the_back_office_stays_closed_without_a_second_step(ada: User, path: str) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    browser = browser_of(ada)

    refused = browser.get(path)
    add_app(ada)
    opened = browser.get("/admin/")

    assert (refused.status_code, refused.url) == (302, "/account/")
    assert opened.status_code == 200


def test_the_account_page_tells_an_operator_what_is_missing(ada: User) -> None:
    User.objects.update(is_staff=True, is_superuser=True)

    assert "back office requires two-step verification" in page_of(browser_of(ada), "/account/")


def test_recovery_codes_alone_are_no_second_step(ada: User) -> None:
    User.objects.update(is_staff=True)
    Authenticator.objects.create(user=ada, type="recovery_codes", data={})

    assert browser_of(ada).get("/admin/").status_code == 302


def test_an_owner_without_a_second_step_cannot_require_one(company: Company, ada: User) -> None:
    page = follow(browser_of(ada), STEP, {"required": "yes"})

    assert "Add a passkey or an authenticator app to your own account first" in page
    assert not Company.objects.get(id=company.id).requires_second_step
    with pytest.raises(SecondStepMissing):
        require_second_step(company_id=company.id, required=True, by=ada.id)


def test_a_member_without_one_is_out_at_once_and_in_again_with_one(
    company: Company, ada: User
) -> None:
    add_app(ada)
    colleague = member_of(company, Role.RECRUITER)
    browser, api = browser_of(colleague), SessionCaller().as_staff(colleague)
    job = factories.job(company_id=company.id, open_now=False)
    before = browser.get("/company/").status_code

    follow(browser_of(ada), STEP, {"required": "yes"})

    assert before == 200
    assert browser.get("/company/").url == "/account/"
    assert browser.get(f"/company/jobs/{job}/").url == "/account/"
    assert browser.get(f"/jobs/{job}/").status_code == 404
    assert code_of(api.get("/companies/me")) == (403, "PERMISSION_DENIED")
    assert "Acme requires two-step verification" in text_of(browser.get("/account/"))
    add_app(colleague)
    assert browser.get("/company/").status_code == 200
    assert api.get("/companies/me").status_code == 200


def test_other_companies_of_the_member_stay_open(company: Company, ada: User) -> None:
    add_app(ada)
    colleague = member_of(company, Role.RECRUITER)
    other = factories.company(name="Open")
    other.memberships.create(user=colleague, role=Role.VIEWER)
    job, theirs = (factories.job(company_id=each.id) for each in (company, other))
    require_second_step(company_id=company.id, required=True, by=ada.id)
    browser, api = browser_of(colleague), SessionCaller().as_staff(colleague)

    assert browser.get(f"/company/jobs/{theirs}/").status_code == 200
    assert browser.get(f"/company/jobs/{job}/").status_code == 404
    assert api.get("/companies/me").json()["name"] == "Open"
    assert api.get("/companies/me", {"company": str(company.id)}).status_code == 404


@pytest.mark.parametrize("role", [Role.VIEWER, Role.RECRUITER])
def test_only_owners_require_it(company: Company, role: Role) -> None:
    user = member_of(company, role)
    add_app(user)

    assert browser_of(user).post(STEP, {"required": "yes"}).status_code == 403
    assert not Company.objects.get(id=company.id).requires_second_step


def test_an_owner_makes_it_optional_again(company: Company, ada: User) -> None:
    add_app(ada)
    browser, colleague = browser_of(ada), browser_of(member_of(company, Role.VIEWER))

    required = follow(browser, STEP, {"required": "yes"})
    optional = follow(browser, STEP, {"required": "no"})

    assert "Make it optional" in required
    assert "Require it" in optional
    assert colleague.get("/company/").status_code == 200


def test_anonymous_visitors_are_sent_to_sign_in(visitor: Client) -> None:
    assert visitor.post(STEP, {"required": "no"}).url.startswith("/account/login/")
