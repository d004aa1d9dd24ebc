"""A real browser, Debian's Chromium, and a running server on the test database.

Every page that a test opens is watched: at the end nothing may have gone to the console as an error
or a warning, no content policy may have been violated, and no answer may have been a 5xx. A test
adds the problems that it provokes to `expected_problems`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

from tests.browser.helpers import sign_in_staff
from tests.browser.mails import forget_mails
from tests.browser.pointer import Hands
from tests.browser.site import WIDTHS, OpenPage, Site
from tests.browser.world import World, make_world
from tests.support.decay_worker import DecayProcess
from tests.support.environment import ROOT, process_environment
from tests.support.push import SITE_KEY, encoded
from tests.support.server import serving

# The same engine; the shell has no windows to draw, and takes a third less of the processor.
SHELL, CHROMIUM = Path("/usr/bin/chromium-headless-shell"), Path("/usr/bin/chromium")
PATIENCE_MS = 30_000
# Without a graphics processor, one that is only imitated would draw every page once more.
FLAGS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-software-rasterizer",
]


@pytest.fixture(scope="package")
def driver() -> Iterator[Playwright]:
    """Playwright itself, which can be started only once."""
    expect.set_options(timeout=PATIENCE_MS)
    # Playwright's loop counts as running in this thread, though it only runs within its calls.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    with sync_playwright() as playwright:
        yield playwright
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="package")
def browser(driver: Playwright) -> Iterator[Browser]:
    """One Chromium for all tests of this room that a worker runs."""
    program = next((each for each in (SHELL, CHROMIUM) if each.exists()), None)
    if program is None:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("Chromium is missing: apt-get install chromium-headless-shell, or chromium")
    chromium = driver.chromium.launch(executable_path=str(program), args=FLAGS)
    yield chromium
    chromium.close()


@pytest.fixture(scope="package")
def running_site(
    django_db_setup: None, django_db_blocker: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Site]:
    """The server, for all tests of this room that a worker runs."""
    folder = tmp_path_factory.mktemp("site")
    module = os.environ.get("BROWSER_SETTINGS", "pipeline.settings")
    yield from site_of(folder, django_db_blocker, module)


def site_of(folder: Path, django_db_blocker: Any, module: str) -> Iterator[Site]:
    """A server with the settings in a module, and what sends its emails."""
    with django_db_blocker.unblock():
        throttles = {f"THROTTLE_{name.upper()}": "off" for name in settings.THROTTLE_RATES}
        environment = process_environment(
            **throttles,
            SECURE_COOKIES="off",
            VAPID_PRIVATE_KEY=encoded(SITE_KEY),
            EMAIL_URL=f"filemail:///{folder / 'mails'}",
            TERMS_FILE=str(ROOT / "LICENSE"),
            DJANGO_SETTINGS_MODULE=module,
        )
    with serving(environment, folder / "web.log") as url:
        pump = subprocess.Popen(
            [sys.executable, "-m", "tests.browser.mail_pump"],
            cwd=ROOT,
            env=environment | {"SITE_URL": url},
        )
        yield Site(url, folder / "web.log", folder / "mails", environment)
        pump.kill()
        pump.wait()


@pytest.fixture
def site(running_site: Site, transactional_db: None) -> Site:
    """The running server, on an empty database, before its first email."""
    forget_mails(running_site.mails)
    return running_site


@pytest.fixture
def decay_worker(site: Site, tmp_path: Path) -> Iterator[DecayProcess]:
    """A decay worker beside the server."""
    worker = DecayProcess(site.environment, tmp_path / "decay.log")
    yield worker
    worker.end()


@pytest.fixture
def expected_problems() -> list[str]:
    """Patterns of what may go wrong on the test's pages; empty unless the test adds some."""
    return []


@pytest.fixture
def browser_page(browser: Browser, site: Site, expected_problems: list[str]) -> Iterator[OpenPage]:
    """Opens watched pages, each in a separate browser (with its own cookies).

    `kind` is desktop, phone or narrow; `dark`: the reader likes it dark; `javascript`: it is on.
    """
    problems: list[str] = []
    contexts: list[BrowserContext] = []

    def open_page(
        kind: str = "desktop", *, dark: bool = False, javascript: bool = True, **how: Any
    ) -> Page:
        contexts.append(
            browser.new_context(
                base_url=site.url,
                viewport={"width": WIDTHS[kind], "height": 800},
                color_scheme="dark" if dark else "light",
                java_script_enabled=javascript,
                **{"timezone_id": "Europe/Berlin", "reduced_motion": "reduce"} | how,
            )
        )
        contexts[-1].set_default_timeout(PATIENCE_MS)
        page = contexts[-1].new_page()
        _watch(page, problems)
        return page

    yield open_page
    for context in contexts:
        context.close()
    unexpected = [p for p in problems if not any(re.search(e, p) for e in expected_problems)]
    assert unexpected == [], "\n".join(["the browser complained:", *unexpected])


@pytest.fixture
def page(browser_page: OpenPage) -> Page:
    """A watched page as wide as a desk."""
    return browser_page()


def _watch(page: Page, problems: list[str]) -> None:
    def hear(message: Any) -> None:
        if message.type in ("error", "warning"):
            where = message.location.get("url", "") if message.location else ""
            problems.append(f"{message.type}: {message.text} ({where})")

    def answered(response: Any) -> None:
        if response.status >= 500:
            problems.append(f"answered {response.status}: {response.url}")

    page.on("console", hear)
    page.on("pageerror", lambda error: problems.append(f"script: {error}"))
    page.on("response", answered)


@pytest.fixture
def world(site: Site) -> World:
    """Data that the pages show."""
    return make_world()


@pytest.fixture
def owner(page: Page, site: Site, world: World) -> Hands:
    """The hands of the company's owner, on a separate page."""
    sign_in_staff(page.context, site.url, world.owner)
    return Hands(page, "mouse")
