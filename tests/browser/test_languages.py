"""Every page in a pseudo-language: nothing is left in English, nothing is cut or sticks out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.urls import reverse

from tests.browser.conftest import site_of
from tests.browser.helpers import axe, narrow, no_sideways_scroll, shot
from tests.browser.site import OpenPage, Site
from tests.browser.test_every_page import ANYBODY, APPLICANT, COMPANY, STAFF, WORK, Where, sign_in
from tests.browser.world import World
from tests.support.environment import ROOT
from tests.support.pseudo_language import untranslated
from tests.support.written_texts import written_texts

pytestmark = pytest.mark.slow

GROUPS = {
    "anybody": ANYBODY,
    "applicant": APPLICANT,
    "company": COMPANY,
    "staff": STAFF,
    "work": WORK,
}
# In English for everyone, as they are about the API and its code.
IN_ENGLISH = {"problem", "problems"}
# Rules by which a pseudo-language is none.
NO_LANGUAGE = ("html-lang-valid", "valid-lang")
TERMS = ROOT / "LICENSE"  # as the site's own terms


@pytest.fixture(scope="module")
def running_site(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """The server, which also speaks the pseudo-languages."""
    folder = tmp_path_factory.mktemp("pseudo")
    yield from site_of(folder, django_db_blocker, "tests.support.pseudo_settings")


@pytest.mark.parametrize("group", GROUPS)
def test_no_page_has_a_word_that_is_not_translated(
    browser_page: OpenPage, site: Site, world: World, group: str
) -> None:
    page = browser_page(locale="qps")
    _speak(page, site, "qps")
    sign_in(page, site, world, GROUPS[group])
    known = written_texts() | {" ".join(each.split()) for each in TERMS.read_text().splitlines()}

    found = {}
    for name, where in _pages(group):
        page.goto(reverse(name, kwargs=where(world)))
        if left := untranslated(page.content(), known):
            found[name] = left

    assert found == {}, "\n".join(f"{name}: {text}" for name in found for text in found[name])


@pytest.mark.parametrize("language", ["qps", "qpb"])
@pytest.mark.parametrize("group", GROUPS)
def test_long_words_and_both_directions_fit_the_narrowest_phone(
    browser_page: OpenPage, site: Site, world: World, group: str, language: str
) -> None:
    page = browser_page()
    _speak(page, site, language)
    sign_in(page, site, world, GROUPS[group])

    for name, where in _pages(group):
        page.goto(reverse(name, kwargs=where(world)))
        assert page.locator("html").get_attribute("lang") == language, name
        assert page.locator("html").get_attribute("dir") == ("rtl" if language == "qpb" else None)
        axe(page, apart_from=NO_LANGUAGE)
        with narrow(page):
            no_sideways_scroll(page)
            _nothing_is_cut(page, name)
            shot(page, f"{name}-{language}")


def test_a_language_is_chosen_at_the_foot_of_a_page(
    browser_page: OpenPage, site: Site, world: World
) -> None:
    page = browser_page(javascript=False)
    page.goto(reverse("privacy"))

    page.locator("footer a.language").click()
    page.get_by_role("button", name="⇐").click()

    assert page.url.endswith(reverse("privacy"))
    assert page.locator("html").get_attribute("dir") == "rtl"


def _speak(page: Any, site: Site, language: str) -> None:
    """Have the visitor choose a language."""
    cookie = {"name": settings.LANGUAGE_COOKIE_NAME, "value": language, "url": site.url}
    page.context.add_cookies([cookie])


def _pages(group: str) -> list[tuple[str, Where]]:
    return [each for each in GROUPS[group].items() if each[0] not in IN_ENGLISH]


def _nothing_is_cut(page: Any, name: str) -> None:
    """Fail with the buttons, labels and headings whose text is wider than they are."""
    cut = page.evaluate(
        """() => [...document.querySelectorAll("h1, h2, h3, .btn, label, th, .chip, legend")]
            .filter((one) => one.checkVisibility() && one.clientWidth > 1
                && one.scrollWidth > one.clientWidth + 1
                && getComputedStyle(one).overflowX !== "visible")
            .map((one) => one.outerHTML.slice(0, 120)).slice(0, 8)"""
    )
    assert cut == [], f"{name}:\n" + "\n".join(cut)
