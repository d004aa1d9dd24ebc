"""The clocks of a device that sleeps, or whose wall clock is wrong or is set."""

from __future__ import annotations

from playwright.sync_api import Page

# While the device sleeps, its monotonic clock stands still. `error`: ms that its wall clock is off.
_CLOCKS = """
    window.error = %d;
    let slept = 0;
    const monotonic = performance.now.bind(performance), wall = Date.now.bind(Date);
    performance.now = () => monotonic() - slept;
    Date.now = () => wall() + window.error;
    window.sleep = (ms) => {
      const start = monotonic();
      while (monotonic() < start + ms); // nothing on the page runs meanwhile
      slept += monotonic() - start;
    };
"""


def give_clocks(page: Page, *, error_seconds: int = 0) -> None:
    """Give the pages opened from now on a device whose clocks the test moves."""
    page.add_init_script(_CLOCKS % (error_seconds * 1_000))


def sleep(page: Page, seconds: float) -> None:
    """Have the device sleep. It wakes without an event, like a laptop whose lid is opened."""
    page.evaluate("ms => window.sleep(ms)", seconds * 1_000)


def set_clock(page: Page, seconds: int) -> None:
    """Set the device's wall clock forward, or back if negative."""
    page.evaluate("ms => { window.error += ms; }", seconds * 1_000)
