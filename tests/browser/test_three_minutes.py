"""The README's "Three minutes", followed step by step on a separate demo, against a stopwatch."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.helpers import axe, axe_in_the_dark, no_sideways_scroll, shot
from tests.house.running import started_in, tree
from tests.support.environment import ROOT

pytestmark = pytest.mark.slow
__all__ = ["tree"]

THREE_MINUTES = 180
THINKING_MS = 600  # between two clicks of someone who reads
TYPING_MS = 90
PATIENCE_MS = 60_000
LAST_WORDS = "Ctrl-C stops everything"


class Reader:
    """Someone who follows the steps in one window, and takes time to read and to type."""

    def __init__(self, browser: Browser, site: str) -> None:
        self.context: BrowserContext = browser.new_context(base_url=site, reduced_motion="reduce")
        self.context.set_default_timeout(PATIENCE_MS)
        self.page: Page = self.context.new_page()

    def go(self, address: str) -> None:
        self.page.goto(address)
        self.page.wait_for_timeout(THINKING_MS)

    def follow(self, name: str) -> None:
        self.page.get_by_role("link", name=name).first.click()
        self.page.wait_for_timeout(THINKING_MS)

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name).first.click()
        self.page.wait_for_timeout(THINKING_MS)

    def open_menu(self, name: str) -> None:
        self.page.locator(f"summary[aria-label='{name}']").click()
        self.page.wait_for_timeout(THINKING_MS)

    def sees(self, words: str, where: str = "#main", within_ms: int = PATIENCE_MS) -> None:
        expect(self.page.locator(where)).to_contain_text(words, timeout=within_ms)


@pytest.fixture(scope="module")
def demo(tree: Path) -> Iterator[tuple[str, str, str]]:
    """A running demo: its address, and the sign-in links of the owner and of an applicant."""
    with started_in(tree) as start:
        running = start(with_demo=True)
        assert running.process.stdout
        said = []
        for line in running.process.stdout:
            said.append(line)
            if LAST_WORDS in line:
                break
        links = re.findall(r"http://\S+/demo/sign-in/\S+", "".join(said))
        assert len(links) == 3, "".join(said)
        yield f"http://127.0.0.1:{running.port}", links[0], links[-1]
        running.end(15)


def test_the_steps_of_the_readme_take_three_minutes(
    browser: Browser, demo: tuple[str, str, str]
) -> None:
    site, owner_link, applicant_link = demo
    company, people = Reader(browser, site), Reader(browser, site)
    begun = time.monotonic()

    look_around(company, owner_link)
    apply_as_three_people(company, people)
    pass_the_time(company)
    let_the_second_person_confirm(company, people)
    look_back(company)
    took = time.monotonic() - begun

    assert took < THREE_MINUTES, took
    people.go(applicant_link)
    people.sees("Your applications")


def look_around(company: Reader, owner_link: str) -> None:
    company.go(owner_link)
    company.sees("Shipwright")
    company.follow("Boatbuilder")
    company.page.locator("#seats .who-link").first.click()
    company.sees("Decide on")
    company.sees("Answers")
    expect(company.page.locator("#main canvas").first).to_be_visible()
    company.go("/company/")
    company.follow("Night watch")
    company.sees("Free seat")


def apply_as_three_people(company: Reader, people: Reader) -> None:
    people.go("/")
    people.page.get_by_role("searchbox").press_sequentially("night", delay=TYPING_MS)
    people.press("Search")
    people.follow("Night watch")
    for name in ("Ana Li", "Bo Berg", "Cy Okafor"):
        people.press(f"Apply as {name}")
        people.sees(f"{name} has applied and ")
    company.sees("Ana Li", "#seats")
    company.sees("Cy Okafor", "#waitlist")


def pass_the_time(company: Reader) -> None:
    """Meanwhile: figures, a report, an import, a dead letter."""
    company.go("/company/")
    company.follow("Shipwright")
    company.follow("Figures")
    company.page.locator(".tabs").get_by_role("link", name="Reports").click()
    company.page.locator("#main table a, #main li a").first.click()
    company.sees("Week")
    company.go("/company/")
    company.follow("Rigger")
    company.open_menu("More for this job")
    company.follow("Import people")
    company.page.locator("input[type=file]").set_input_files(ROOT / "docs/samples/people.csv")
    company.press("Import")
    company.sees("57", within_ms=PATIENCE_MS)
    company.follow("Settings")
    company.follow("Background work")
    company.sees("told to fail")


def let_the_second_person_confirm(company: Reader, people: Reader) -> None:
    company.go("/company/")
    company.follow("Night watch")
    company.sees("Bo Berg", "#seats", within_ms=150_000)
    people.follow("Bo Berg")
    people.page.locator("a[href*='/confirm/']").first.click()
    people.press("Confirm my seat")
    company.sees("1 in review", "#seats")


def look_back(company: Reader) -> None:
    company.follow("History")
    company.sees("Ana Li")
    company.follow("Verify the log")
    company.press("Verify")
    company.sees("present, in order and correctly chained")
    company.follow("Replay")
    company.sees("Event")


@pytest.mark.in_turns(3)  # the same pages, with other rows, are in test_every_page.py
def test_the_demos_pages_can_be_used_by_everybody(
    browser: Browser, demo: tuple[str, str, str]
) -> None:
    site, owner_link, applicant_link = demo
    reader = Reader(browser, site)
    no_script = browser.new_context(base_url=site, java_script_enabled=False).new_page()
    no_script.goto(owner_link)
    no_script.get_by_role("button", name="Sign in").click()
    expect(no_script.locator("#main")).to_contain_text("Shipwright")

    for scheme, check in (("light", axe), ("dark", axe_in_the_dark)):
        reader.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        for width in (1280, 320):
            reader.page.set_viewport_size({"width": width, "height": 800})
            for start, title in (("/", "Night watch"), (applicant_link, "Shipwright")):
                reader.go(start)
                check(reader.page)
                no_sideways_scroll(reader.page)
                shot(reader.page, f"demo-{scheme}-{width}-{title}-list")
                reader.follow(title)
                check(reader.page)
                no_sideways_scroll(reader.page)
                shot(reader.page, f"demo-{scheme}-{width}-{title}")
            reader.go(owner_link)
            reader.follow("Boatbuilder")
            check(reader.page)
            no_sideways_scroll(reader.page)
            reader.context.clear_cookies()
