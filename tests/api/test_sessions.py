"""Browser sessions: their person and company, and protection from other sites."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client, RequestFactory

from applicants.browser import sign_in as sign_in_browser
from applicants.browser import sign_out as sign_out_browser
from applicants.browser import signed_in_person_id
from jobs.models import Company, Membership, Role, User
from tests.support import factories
from tests.support.callers import (
    UNKNOWN_ID,
    Caller,
    SessionCaller,
    code_of,
    member_caller,
    pointers,
)

NEW_JOB = {"title": "Cook", "capacity": 1}


@pytest.fixture
def user(company: Company) -> User:
    """An owner of two companies."""
    user = factories.UserFactory.create(password=None)
    for each in (company, factories.company(name="Second")):
        Membership.objects.create(company=each, user=user, role=Role.OWNER)
    return user


def test_another_site_cannot_make_a_browser_change_anything(company: Company) -> None:
    forged = member_caller(company, Role.OWNER, forged=True)

    answer = forged.post("/jobs", NEW_JOB)

    assert code_of(answer) == (403, "PERMISSION_DENIED")
    assert "CSRF" in answer.json()["detail"]
    assert not company.jobs.exists()
    assert forged.get("/companies/me").status_code == 200


def test_another_site_cannot_make_an_applicants_browser_leave_a_line(
    transactional_db: None,
) -> None:
    application = factories.application(factories.job())
    forged = SessionCaller(forged=True).as_applicant(application.applicant)

    answer = forged.post(f"/applications/{application.id}/withdraw")

    assert code_of(answer) == (403, "PERMISSION_DENIED")
    assert factories.status_of(application) == "ACTIVE"


def test_a_form_of_another_site_is_refused_too(company: Company) -> None:
    browser = member_caller(company, Role.OWNER, forged=True)

    answer = browser.post("/jobs", b"title=x", content_type="application/x-www-form-urlencoded")

    assert code_of(answer) == (403, "PERMISSION_DENIED")


def test_a_key_needs_no_csrf_token_and_goes_before_a_session(
    acme: Caller, company: Company
) -> None:
    client = Client(enforce_csrf_checks=True, headers={"Authorization": f"Bearer {acme.token}"})
    client.force_login(factories.UserFactory.create(password=None))

    answer = client.post("/api/v1/jobs", NEW_JOB, content_type="application/json")

    assert answer.status_code == 201
    assert company.jobs.count() == 1


def test_who_belongs_to_several_companies_says_for_which_one_they_act(
    user: User, company: Company
) -> None:
    browser = SessionCaller().as_staff(user)

    unsaid = browser.get("/companies/me")
    by_query = browser.get("/companies/me", {"company": str(company.id)})
    by_header = SessionCaller(company=company).as_staff(user).get("/companies/me")

    assert code_of(unsaid) == (400, "VALIDATION_ERROR")
    assert pointers(unsaid) == ["/company"]
    assert by_query.json()["id"] == by_header.json()["id"] == str(company.id)


def test_a_company_that_is_not_ones_own_is_not_there(user: User) -> None:
    browser = SessionCaller().as_staff(user)

    for name in (str(factories.company().id), UNKNOWN_ID, "1"):
        assert code_of(browser.get("/companies/me", {"company": name})) == (404, "NOT_FOUND")


def test_the_role_counts_in_the_company_where_it_was_given(user: User, company: Company) -> None:
    Membership.objects.filter(company=company).update(role=Role.VIEWER)
    browser = SessionCaller(company=company).as_staff(user)

    assert browser.post("/jobs", NEW_JOB).status_code == 403
    assert browser.get("/jobs").status_code == 200


@pytest.mark.parametrize("change", [{"is_active": False}, {"password": "!"}])
def test_an_account_that_was_closed_or_got_a_new_password_is_signed_out(
    company: Company, change: dict[str, Any]
) -> None:
    browser = member_caller(company, Role.OWNER)
    User.objects.update(**change)

    assert code_of(browser.get("/companies/me")) == (401, "NOT_AUTHENTICATED")


def test_who_is_no_longer_a_member_acts_for_nobody(company: Company) -> None:
    browser = member_caller(company, Role.OWNER)
    Membership.objects.all().delete()

    assert code_of(browser.get("/companies/me")) == (401, "NOT_AUTHENTICATED")


def test_a_person_signs_in_with_a_new_session_and_signs_out(transactional_db: None) -> None:
    person, request = factories.applicant(), RequestFactory().get("/")
    request.session = SessionStore()
    request.session["left"] = "behind"
    request.session.save()
    before = request.session.session_key

    sign_in_browser(request, person)
    request.session.save()
    assert signed_in_person_id(request) == person.id
    assert request.session.session_key not in (before, None)
    assert "left" not in request.session

    sign_out_browser(request)
    assert signed_in_person_id(request) is None


def test_a_persons_browser_is_the_person(transactional_db: None) -> None:
    person = factories.applicant()

    assert SessionCaller().as_applicant(person).get("/me").json()["id"] == str(person.id)


def test_a_session_of_somebody_who_is_gone_stands_for_nobody(transactional_db: None) -> None:
    person = factories.applicant()
    browser = SessionCaller().as_applicant(person)
    person.delete()

    assert code_of(browser.get("/me")) == (401, "NOT_AUTHENTICATED")


def test_the_cookie_is_for_our_own_pages_only(company: Company, settings: Any) -> None:
    settings.SESSION_COOKIE_SECURE = True
    client = Client()
    client.force_login(factories.UserFactory.create(password=None))
    cookie = client.cookies["sessionid"]

    assert (cookie["httponly"] or settings.SESSION_COOKIE_HTTPONLY) is True
    assert settings.SESSION_COOKIE_SAMESITE == settings.CSRF_COOKIE_SAMESITE == "Lax"
    assert cookie["secure"]


@pytest.mark.parametrize("path", ["/jobs", "/companies/me"])
def test_a_key_caller_pays_nothing_for_sessions(
    acme: Caller, path: str, django_assert_max_num_queries: Any
) -> None:
    with django_assert_max_num_queries(3) as captured:  # the key, the throttle, the answer
        acme.get(path)

    assert "django_session" not in str([query["sql"] for query in captured])
