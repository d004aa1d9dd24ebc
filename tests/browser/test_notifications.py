"""Notifications on a device, in a browser: switched on, shown, opened and off.

A headless browser has no push service. So the tests stand in for its subscription, and hand its
service worker the messages that a push service would: everything else is the browser's own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser as Chromium
from playwright.sync_api import Page, Playwright, expect

from applicants.models import Applicant, Device
from tests.browser.buttons import shows
from tests.browser.conftest import CHROMIUM, FLAGS
from tests.browser.helpers import (
    axe,
    narrow,
    no_sideways_scroll,
    shot,
    sign_in_applicant,
    sign_in_staff,
)
from tests.browser.site import OpenPage, Site
from tests.browser.world import World
from tests.support import factories
from tests.support.push import Browser

pytestmark = pytest.mark.slow

# The browser's side of a subscription: it knows one, and forgets it.
SUBSCRIPTION = """
({ endpoint, public_key, secret }) => {
  const bytes = (text) => Uint8Array.from(
    atob(text.replaceAll("-", "+").replaceAll("_", "/")), (each) => each.charCodeAt(0)).buffer;
  const kept = () => sessionStorage.getItem("subscribed");
  const made = (key) => ({
    endpoint,
    options: { applicationServerKey: bytes(key), userVisibleOnly: true },
    getKey: (name) => bytes({ p256dh: public_key, auth: secret }[name]),
    unsubscribe: async () => { sessionStorage.removeItem("subscribed"); return true; },
  });
  PushManager.prototype.getSubscription = async () => (kept() ? made(kept()) : null);
  PushManager.prototype.subscribe = async ({ userVisibleOnly, applicationServerKey }) => {
    if (!userVisibleOnly) throw new Error("notifications must be visible");
    const key = btoa(String.fromCharCode(...applicationServerKey))
      .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
    sessionStorage.setItem("subscribed", key);
    return made(key);
  };
}
"""
SHOWN = """
async () => (await (await navigator.serviceWorker.ready).getNotifications()).map(
  ({ title, body, tag, data, icon }) => ({ title, body, tag, data, icon }))
"""
# What happens when a notification is pressed; only a person may open windows, so that is noted.
PRESS = """
async () => {
  const opened = [];
  let work;
  ExtendableEvent.prototype.waitUntil = (promise) => { work = promise; };
  Clients.prototype.openWindow = async (href) => { opened.push(href); };
  WindowClient.prototype.focus = async function focus() { opened.push(`focus ${this.url}`); };
  const [notification] = await self.registration.getNotifications();
  self.dispatchEvent(new NotificationEvent("notificationclick", { notification }));
  await work;
  return opened;
}
"""


@pytest.fixture(scope="module")
def browser(driver: Playwright) -> Iterator[Chromium]:
    """The whole Chromium: its headless shell forbids all notifications."""
    if not CHROMIUM.exists():
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("Chromium is missing: apt-get install chromium")
    chromium = driver.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
    yield chromium
    chromium.close()


@pytest.fixture(autouse=True)
def _on(push_on: None) -> None:
    """Have this process know the key of the running site."""


@pytest.fixture
def person() -> Applicant:
    return factories.applicant(name="Ana Li")


@pytest.fixture
def phone(browser_page: OpenPage, site: Site, person: Applicant) -> Page:
    """A phone that may show notifications, and whose owner is signed in."""
    page = browser_page("phone", permissions=["notifications"])
    given = Browser().subscription("https://push.example.net/p/one")
    page.add_init_script(f"({SUBSCRIPTION})({json.dumps(given)})")
    sign_in_applicant(page.context, site.url, person)
    return page


def switch_on(page: Page) -> None:
    """Press the button of the page."""
    page.get_by_role("button", name="Tell me on this device when my turn comes").click()
    expect(page.get_by_text("Notifications are on for this device. To switch")).to_be_visible()


def push(page: Page, site: Site, message: dict[str, Any] | str) -> None:
    """Deliver a message to the service worker, as a push service would."""
    found: list[dict[str, Any]] = []
    session = page.context.new_cdp_session(page)
    session.on(
        "ServiceWorker.workerRegistrationUpdated", lambda e: found.extend(e["registrations"])
    )
    session.send("ServiceWorker.enable")
    page.wait_for_function("() => navigator.serviceWorker.ready.then(() => true)")
    data = message if isinstance(message, str) else json.dumps(message)
    session.send(
        "ServiceWorker.deliverPushMessage",
        {"origin": site.url, "registrationId": found[-1]["registrationId"], "data": data},
    )


def notifications(page: Page, count: int) -> Any:
    """Wait until this many notifications are shown, and return them."""
    return wait_for(page, lambda shown: len(shown) == count)


def wait_for(page: Page, wanted: Callable[[Any], bool]) -> Any:
    """Wait until the notifications are as wanted, and return them."""
    for _ in range(100):
        if wanted(shown := page.evaluate(SHOWN)):
            return shown
        page.wait_for_timeout(100)
    raise AssertionError(shown)


def test_notifications_are_switched_on_shown_opened_and_off(
    phone: Page, site: Site, person: Applicant
) -> None:
    application = factories.application(factories.job(), person)
    phone.goto("/me/")
    phone.locator("#main").get_by_role("link", name="Notifications").click()
    switch_on(phone)
    shows(phone, "Notifications are on for this device.")
    assert Device.objects.get().applicant_id == person.id
    axe(phone)
    shot(phone, "notifications-on")

    path = f"/me/applications/{application.id}/"
    told = {"title": "Your turn: Rigger", "body": "Confirm.", "tag": "a", "path": path}
    push(phone, site, told)
    [shown] = notifications(phone, 1)
    assert (shown["title"], shown["body"]) == ("Your turn: Rigger", "Confirm.")
    assert shown["icon"].endswith(".png")
    assert phone.request.get(shown["icon"]).ok
    push(phone, site, told | {"title": "Reminder: Rigger"})
    wait_for(phone, lambda shown: [each["title"] for each in shown] == ["Reminder: Rigger"])
    [worker] = phone.context.service_workers
    assert worker.evaluate(PRESS) == [f"{site.url}{path}"]
    notifications(phone, 0)

    phone.get_by_role("button", name="Remove").click()
    shows(phone, "That device will no longer show notifications.")
    expect(phone.get_by_role("button", name="Tell me on this device")).to_be_visible()
    assert not Device.objects.exists()
    assert phone.evaluate("sessionStorage.getItem('subscribed')") is None


def test_a_member_switches_notifications_on_and_off(
    browser_page: OpenPage, site: Site, world: World
) -> None:
    page = browser_page("phone", permissions=["notifications"])
    given = Browser().subscription("https://push.example.net/p/one")
    page.add_init_script(f"({SUBSCRIPTION})({json.dumps(given)})")
    sign_in_staff(page.context, site.url, world.owner)

    page.goto("/account/devices/")
    page.get_by_role("button", name="Tell me on this device about reviews").click()
    shows(page, "Notifications are on for this device.")
    expect(page.get_by_role("button", name="Remove")).to_be_visible()  # the server has it, too
    assert Device.objects.get().user_id == world.owner.id

    page.get_by_role("button", name="Remove").click()
    shows(page, "That device will no longer show notifications.")
    assert not Device.objects.exists()


def test_a_page_that_is_open_is_shown_instead_of_a_second_one(phone: Page, site: Site) -> None:
    phone.goto("/me/devices/")
    switch_on(phone)

    push(phone, site, {"title": "One", "body": "", "tag": "a", "path": "/me/devices/"})
    notifications(phone, 1)

    [worker] = phone.context.service_workers
    assert worker.evaluate(PRESS) == [f"focus {site.url}/me/devices/"]


@pytest.mark.parametrize("message", ["no JSON", '{"path": "https://elsewhere.example/"}'])
def test_a_message_that_is_none_of_ours_is_shown_and_leads_nowhere_else(
    phone: Page, site: Site, message: str
) -> None:
    phone.goto("/me/devices/")
    switch_on(phone)

    push(phone, site, message)

    [shown] = notifications(phone, 1)
    assert shown["title"] == "Next in Line"
    [worker] = phone.context.service_workers
    assert worker.evaluate(PRESS) in ([], [f"{site.url}/me/"])


def test_who_forbids_notifications_reads_where_to_allow_them(
    browser_page: OpenPage, site: Site, person: Applicant
) -> None:
    page = browser_page()
    page.add_init_script(
        "Object.defineProperty(Notification, 'permission', { get: () => 'denied' })"
    )
    sign_in_applicant(page.context, site.url, person)

    page.goto("/me/devices/")

    expect(page.get_by_text("Notifications from this site are blocked")).to_be_visible()
    expect(page.get_by_role("button", name="Tell me on this device")).to_be_hidden()


def test_without_javascript_the_page_says_so_and_devices_are_removed(
    browser_page: OpenPage, site: Site, person: Applicant
) -> None:
    page = browser_page("narrow", javascript=False)
    Browser().added_for(person, "https://push.example.net/p/one")
    sign_in_applicant(page.context, site.url, person)
    page.goto("/me/devices/")
    shows(page, "This browser cannot show notifications from this site, or JavaScript is off.")
    expect(page.get_by_role("button", name="Tell me on this device")).to_be_hidden()

    page.get_by_role("button", name="Remove").click()

    shows(page, "No device shows notifications yet.")
    assert not Device.objects.exists()


def test_the_page_fits_a_narrow_screen_with_a_list(phone: Page, person: Applicant) -> None:
    for number in range(2):
        Browser().added_for(person, f"https://push.example.net/p/{number}")
    phone.goto("/me/devices/")

    with narrow(phone):
        no_sideways_scroll(phone)
        shot(phone, "notifications-narrow")
    axe(phone)
