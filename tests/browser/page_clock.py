"""A page's clock that stands still until the test moves it, however long the server takes.

Playwright's clock also moves the time limits of requests. If it ran on while an answer is on its
way, the page would give up and ask again, as often as the machine is slow.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from playwright.sync_api import Page

STEP_MS = 1_000
_KEEP_FETCHES = """
    window.fetches = [];
    const fetchNow = window.fetch;
    window.fetch = (...how) => {
      const answer = fetchNow(...how);
      window.fetches.push(answer);
      return answer;
    };
"""
_UNTIL_ANSWERED = "() => Promise.allSettled(window.fetches).then(() => undefined)"


def stop_clock(page: Page) -> None:
    """Stop the clock of the pages that are opened here from now on."""
    now = datetime.now()  # noqa: DTZ005 -- Playwright takes a time without a zone as local
    page.clock.install(time=now)
    page.clock.pause_at(now + timedelta(minutes=1))
    page.add_init_script(_KEEP_FETCHES)


def pass_time(page: Page, seconds: int, step_ms: int = STEP_MS) -> None:
    """Let time pass for the page, in steps; after each, wait for the answers to its requests."""
    for _ in range(0, seconds * 1_000, step_ms):
        page.clock.run_for(step_ms)
        page.evaluate(_UNTIL_ANSWERED)
