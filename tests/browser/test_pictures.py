"""Pages look as their kept pictures do: in two schemes and three widths, within a tolerance.

CONTRIBUTING.md has the command that makes all pictures anew. Each run compares another tenth of
the pages, a run with `--long` all of them. A picture that differs is put into `screenshots/`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.urls import reverse
from playwright.sync_api import Browser, Page

from tests.browser import pictures
from tests.browser.conftest import PATIENCE_MS
from tests.browser.helpers import (
    narrow,
    no_sideways_scroll,
    sign_in_applicant,
    sign_in_staff,
    usable_by_everybody,
)
from tests.browser.site import WIDTHS
from tests.browser.still_site import NOW, still_database, still_environment
from tests.browser.test_every_page import ANYBODY, APPLICANT, COMPANY, STAFF, WORK, Where
from tests.browser.world import World, make_world
from tests.support import factories
from tests.support.clean_database import empty_the_database
from tests.support.environment import ROOT, process_environment
from tests.support.push import SITE_KEY, encoded
from tests.support.server import serving

pytestmark = pytest.mark.slow

GALLERY: dict[str, Where] = {"gallery": lambda _world: {}}
PAGES: dict[str, Where] = {**ANYBODY, **APPLICANT, **COMPANY, **STAFF, **WORK, **GALLERY}
OF_APPLICANTS, OF_ANYBODY = set(APPLICANT), set(ANYBODY)
PARTS = 10


class StillSite:
    """The site, its world, and a page for each kind of reader."""

    def __init__(self, url: str, world: World, browser: Browser) -> None:
        self.url, self.world, self._browser = url, world, browser
        self.studio = browser.new_page()
        self._pages: dict[str, Page] = {}

    def open(self, name: str) -> Page:
        """Open a page as the reader to whom it belongs."""
        who = "anybody" if name in OF_ANYBODY else "owner"
        page = self._page_of("applicant" if name in OF_APPLICANTS else who)
        answer = page.goto(reverse(name, kwargs=PAGES[name](self.world)))
        assert answer, name
        assert answer.ok, name
        return page

    def _page_of(self, who: str) -> Page:
        if who not in self._pages:
            self._pages[who] = self._new_page(who)
        return self._pages[who]

    def _new_page(self, who: str) -> Page:
        context = self._browser.new_context(
            base_url=self.url,
            viewport={"width": WIDTHS["desktop"], "height": 800},
            reduced_motion="reduce",
            timezone_id="UTC",  # the server's own, which it uses until the browser names another
            locale="en-GB",
        )
        context.set_default_timeout(PATIENCE_MS)
        context.clock.install(time=NOW - timedelta(minutes=1))
        context.clock.pause_at(NOW)
        if who == "applicant":
            sign_in_applicant(context, self.url, self.world.applicant)
        elif who == "owner":
            sign_in_staff(context, self.url, self.world.owner)
        return context.new_page()

    def close(self) -> None:
        """Close all pages."""
        for page in (*self._pages.values(), self.studio):
            page.context.close()


def _environment() -> dict[str, str]:
    key = encoded(SITE_KEY)
    terms = str(ROOT / "LICENSE")
    return process_environment(SECURE_COOKIES="off", VAPID_PRIVATE_KEY=key, TERMS_FILE=terms)


@pytest.fixture(scope="module")
def still(
    django_db_setup: None,
    django_db_blocker: Any,
    browser: Browser,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[StillSite]:
    """A site at which it is always NOW."""
    folder = tmp_path_factory.mktemp("still")
    with django_db_blocker.unblock():
        environment = still_environment(_environment(), folder)
        with still_database():
            with factories.numbered_from_zero():  # whatever ran before in this process
                world = make_world()
            with serving(environment, folder / "web.log", workers=1) as url:
                site = StillSite(url, world, browser)
                yield site
                site.close()
        empty_the_database()
        connection.close()  # beside a browser, nothing else would find it


def test_each_page_has_its_pictures_and_no_other_is_kept() -> None:
    wanted = {path.name for name in PAGES for path in pictures.kept_files(name)}
    kept = {path.name for path in pictures.KEPT.glob("*")}
    if pictures.IS_REMAKING:
        for name in kept - wanted:
            (pictures.KEPT / name).unlink()
        return
    assert kept == wanted


@pytest.mark.timeout(1_800)
def test_pages_look_like_their_pictures(still: StillSite, request: pytest.FixtureRequest) -> None:
    names = sorted(PAGES)
    if not (pictures.IS_REMAKING or request.config.getoption("--long")):
        names = ["gallery", *names[date.today().toordinal() % PARTS :: PARTS]]  # noqa: DTZ011

    found = [
        each
        for name in dict.fromkeys(names)
        for each in pictures.differences(still.open(name), name, still.studio)
    ]

    assert found == [], "see screenshots/; if this is meant, make the pictures anew"


@pytest.mark.parametrize(
    "change",
    [
        "document.documentElement.style.setProperty('--accent', '#0b7748')",
        "document.documentElement.style.setProperty('--font', 'serif')",
        "document.querySelector('main .btn.primary').style.translate = '12px'",
        "document.querySelector('main .btn.primary').remove()",
    ],
)
def test_a_picture_shows_a_colour_a_font_and_a_block_that_changed(
    still: StillSite, change: str
) -> None:
    page = still.open("account_login")
    before = pictures.take(page, still.studio)

    page.evaluate(change)
    after = pictures.take(page, still.studio)

    assert pictures.compare(before, after, still.studio).is_seen


def test_a_page_has_the_same_picture_when_it_is_opened_again(still: StillSite) -> None:
    taken: list[Any] = []
    for _ in range(2):
        page = still.open("company_jobs")
        page.evaluate(pictures._SAME_WORDS)
        taken.append(pictures.take(page, still.studio))

    assert pictures.compare(*taken, still.studio).dots == 0


def test_what_is_kept_stays_small() -> None:
    assert sum(path.stat().st_size for path in Path(pictures.KEPT).glob("*")) < 6_000_000


def test_the_gallery_can_be_used_by_everybody(still: StillSite) -> None:
    page = still.open("gallery")
    page.clock.resume()  # axe waits for timers

    usable_by_everybody(page, "gallery")
    page.evaluate("document.documentElement.dir = 'rtl'")
    with narrow(page):
        no_sideways_scroll(page)
