"""URLs of buttons, opened: they lead to the page that has the button."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from jobs.models import Company
from tests.support import factories
from tests.support.accounts import browser_of, member_of
from tests.support.pages import text_of

pytestmark = pytest.mark.django_db(transaction=True)
ID = UUID(int=1)
SIGN_IN = "/account/login/"


def own_urls(resolver: URLResolver, before: str = "") -> list[str]:
    """Return the paths of our own pages, with an id that nothing has."""
    found = []
    for each in resolver.url_patterns:
        route = before + str(each.pattern)
        if isinstance(each, URLResolver):
            found += own_urls(each, route)
        elif isinstance(each, URLPattern) and each.callback.__module__.startswith("pipeline.pages"):
            found.append("/" + route)
    return found


def filled(route: str) -> str:
    for kind, value in (("uuid:", str(ID)), ("int:", "1"), ("slug:", "x"), ("str:", "x")):
        parts = route.split("<")
        route = parts[0] + "".join(
            value + part.partition(">")[2] if part.startswith(kind) else f"<{part}"
            for part in parts[1:]
        )
    return route


def test_no_page_answers_a_browser_that_opens_it_with_an_empty_405() -> None:
    routes = own_urls(get_resolver())

    codes = {route: Client().get(filled(route)).status_code for route in routes}

    assert len(routes) > 60
    assert 405 not in codes.values(), codes


def test_strangers_who_open_a_button_of_a_company_are_asked_to_sign_in(company: Company) -> None:
    job = factories.job(company_id=company.id)
    routes = [route for route in own_urls(get_resolver()) if route.startswith("/company/")]
    closed = [r for r in routes if Client().post(filled(r)).status_code != 404]

    answers = {route: Client().get(filled(route)) for route in closed}
    mine = Client().get(f"/company/jobs/{job}/pause/")
    unknown = Client().get(f"/company/jobs/{ID}/pause/")

    assert len(answers) > 40
    elsewhere = [r for r, a in answers.items() if not a.get("Location", "").startswith(SIGN_IN)]
    assert elsewhere == []
    assert mine.url == f"{SIGN_IN}?next=/company/jobs/{job}/"
    assert unknown.url == mine.url.replace(str(job), str(ID))


def test_after_signing_in_again_one_is_on_the_page_with_the_button(company: Company) -> None:
    job = factories.job(company_id=company.id)

    page = browser_of(member_of(company)).get(f"/company/jobs/{job}/pause/", follow=True)

    assert page.redirect_chain == [(f"/company/jobs/{job}/", 302)]
    assert "Nothing has been changed yet. Press the button again." in text_of(page)
    assert factories.row_of(job).status == "OPEN"


def test_the_page_for_a_refused_form_leads_back_to_the_form() -> None:
    job = factories.job()
    strict = Client(enforce_csrf_checks=True)

    refused = strict.post(f"/jobs/{job}/apply/", {"name": "Ana", "email": "ana@example.org"})
    opened = strict.get(f"/jobs/{job}/apply/")

    assert refused.status_code == 403
    assert f'href="/jobs/{job}/apply/"' in refused.content.decode()
    assert (opened.status_code, opened.url) == (302, f"/jobs/{job}/")


def test_other_refused_methods_stay_refused() -> None:
    assert Client().delete("/sign-out/").status_code == 405


def test_site_staff_without_a_company_find_the_administration() -> None:
    user = factories.UserFactory.create(password=None, is_staff=True)

    page = browser_of(user).get("/company/")

    assert page.status_code == 403
    assert 'href="/admin/"' in page.content.decode()
