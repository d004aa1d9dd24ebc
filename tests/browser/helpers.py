"""Common steps of browser tests: sign in, check for faults, take a screenshot."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from axe_playwright_python.sync_playwright import Axe
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpResponse
from django.test import RequestFactory
from playwright.sync_api import BrowserContext, Page

from applicants import browser
from applicants.browser import JUST_SENT, PROVING, remember_address
from applicants.models import Applicant
from jobs.models import User
from tests.browser.site import WIDTHS
from tests.support.environment import ROOT

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RULES_OF_COLOURS = ["color-contrast", "link-in-text-block"]
AXE = Axe().axe_script
PICTURES = ROOT / "screenshots"
ALLAUTH = "allauth.account.auth_backends.AuthenticationBackend"


def sign_in_applicant(context: BrowserContext, url: str, person: Applicant) -> None:
    """Have a browser's session stand for a person, as if they had proved their address."""
    request = RequestFactory().get("/")
    request.session = SessionStore()
    browser.sign_in(request, person)
    _give_session(context, url, request.session)


def sign_in_staff(context: BrowserContext, url: str, user: User) -> None:
    """Have a browser's session stand for a staff account."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = ALLAUTH
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    _give_session(context, url, session)


def half_a_minute_later(page: Page, email: str) -> None:
    """Have the browser's last code sent longer ago, so that another may be sent."""
    then = time.time() - JUST_SENT.total_seconds() - 5
    with mock.patch("django.core.signing.time.time", return_value=then):
        response = HttpResponse()
        remember_address(response, email, handle="a handle")
    for cookie in page.context.cookies():
        if cookie["name"] == PROVING:
            page.context.add_cookies([{**cookie, "value": response.cookies[PROVING].coded_value}])


def axe(page: Page, *, apart_from: Sequence[str] = ()) -> None:
    """Fail with a list of what on the page keeps someone from using it, apart from some rules."""
    rules = {each: {"enabled": False} for each in apart_from}
    _fail_with_faults(page, {"runOnly": {"type": "tag", "values": RULES}, "rules": rules})


def axe_in_the_dark(page: Page) -> None:
    """Do the same for a reader who likes it dark: only colours are others then."""
    page.emulate_media(color_scheme="dark")
    _fail_with_faults(page, {"runOnly": {"type": "rule", "values": RULES_OF_COLOURS}})


def usable_by_everybody(page: Page, name: str, *, in_the_dark: bool = True) -> None:
    """Fail if axe finds a fault in light or dark, or if the narrowest window must be scrolled."""
    axe(page)
    shot(page, f"{name}-light")
    if in_the_dark:
        axe_in_the_dark(page)
        shot(page, f"{name}-dark")
        page.emulate_media(color_scheme="light")
    with narrow(page):
        no_sideways_scroll(page)
        shot(page, f"{name}-narrow")


def _fail_with_faults(page: Page, how: dict[str, Any]) -> None:
    if not page.evaluate("() => 'axe' in window"):
        page.evaluate(AXE)
    how = how | {"resultTypes": ["violations"]}  # not every element that is right
    faults = page.evaluate("how => axe.run(how).then((found) => found.violations)", how)
    found = [
        f"{fault['id']} ({fault['impact']}): {fault['help']}\n    {_places(fault)}"
        for fault in faults
    ]
    assert found == [], f"{page.url}:\n" + "\n".join(found)


def no_sideways_scroll(page: Page) -> None:
    """Fail with the elements that stick out when the page is wider than the window."""
    wider = page.evaluate(
        """() => {
            const most = document.documentElement.clientWidth;
            if (document.documentElement.scrollWidth <= most) return [];
            return [...document.querySelectorAll("body *")]
              .filter((one) => {
                const {left, right} = one.getBoundingClientRect();
                return right > most + 1 || left < -1;
              }).map((one) => one.outerHTML.slice(0, 120)).slice(0, 8);
        }"""
    )
    assert wider == [], f"{page.url} is wider than {page.viewport_size}:\n" + "\n".join(wider)


@contextmanager
def narrow(page: Page) -> Iterator[None]:
    """Look at a page through the narrowest window while the block runs."""
    usual = page.viewport_size
    assert usual
    page.set_viewport_size({**usual, "width": WIDTHS["narrow"]})
    yield
    page.set_viewport_size(usual)


def shot(page: Page, name: str) -> None:
    """Keep a picture of the whole page, when SCREENSHOTS is set."""
    if os.environ.get("SCREENSHOTS"):
        PICTURES.mkdir(exist_ok=True)
        page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


def _give_session(context: BrowserContext, url: str, session: Any) -> None:
    session.save()
    context.add_cookies([{"name": "sessionid", "value": str(session.session_key), "url": url}])


def _places(fault: dict[str, Any]) -> str:
    return "\n    ".join(node["html"][:160] for node in fault["nodes"][:5])
