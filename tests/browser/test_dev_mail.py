"""The development mailbox, which only a site on one machine has: served in the test's process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.mail import send_mail
from django.urls import reverse
from playwright.sync_api import expect

from applicants.models import Applicant
from pipeline.mail.links import unsubscribe_url
from pipeline.notifications import previews
from tests.browser.helpers import axe, no_sideways_scroll, shot
from tests.browser.site import OpenPage
from tests.support import factories

pytestmark = pytest.mark.slow


def test_the_development_mailbox(
    browser_page: OpenPage, live_server: Any, settings: Any, tmp_path: Path
) -> None:
    settings.DEV_MAIL, settings.DEV_MAIL_FOLDER = True, tmp_path
    settings.EMAIL_BACKEND = "pipeline.mail.dev_mailbox.DevMailboxBackend"
    send_mail("Your turn", f"Confirm here: {live_server.url}/sign-in/", None, ["ana@example.org"])
    mailbox = live_server.url + reverse("dev_mails")

    for kind, dark in (("desktop", False), ("narrow", True)):
        page = browser_page(kind, dark=dark)
        page.goto(mailbox)
        axe(page)
        no_sideways_scroll(page)
        shot(page, f"dev_mails-{kind}")
        page.get_by_role("link", name="Your turn").click()
        axe(page)
        no_sideways_scroll(page)
        shot(page, f"dev_mail-{kind}")

    page.get_by_role("link", name="/sign-in/").click()
    expect(page).to_have_url(f"{live_server.url}/sign-in/")


@pytest.mark.parametrize("preview", ["promoted", "missed", "digest"])
def test_an_email_can_be_read_in_the_dark_and_on_a_narrow_screen(
    browser_page: OpenPage, live_server: Any, settings: Any, preview: str
) -> None:
    settings.DEV_MAIL = True

    for kind, dark in (("desktop", False), ("narrow", True)):
        page = browser_page(kind, dark=dark)
        page.goto(live_server.url + reverse("mail_preview", args=[preview]))
        axe(page)
        no_sideways_scroll(page)
        page.get_by_role("link", name="See it as HTML").click()
        axe(page)
        no_sideways_scroll(page)
        shot(page, f"email-{preview}-{kind}")


def test_a_mail_that_was_sent_can_be_seen_as_html(
    browser_page: OpenPage, live_server: Any, settings: Any, tmp_path: Path
) -> None:
    settings.DEV_MAIL, settings.DEV_MAIL_FOLDER = True, tmp_path
    settings.EMAIL_BACKEND = "pipeline.mail.dev_mailbox.DevMailboxBackend"
    sample = previews.find("promoted")
    assert sample
    send_mail("Your turn", sample.text, None, ["ana@example.org"], html_message=sample.html)
    page = browser_page()
    page.goto(live_server.url + reverse("dev_mails"))
    page.get_by_role("link", name="Your turn").click()

    page.get_by_role("link", name="See it as HTML").click()

    expect(page.get_by_role("link", name="Confirm my seat")).to_be_visible()


def test_reminders_end_by_a_button(browser_page: OpenPage, live_server: Any, settings: Any) -> None:
    settings.SITE_URL = live_server.url
    person = factories.applicant()
    for kind, dark in (("desktop", False), ("narrow", True)):
        page = browser_page(kind, dark=dark)
        page.goto(unsubscribe_url("reminders", person.id))
        axe(page)
        no_sideways_scroll(page)

    page.get_by_role("button", name="Stop reminders of deadlines").click()

    expect(page.get_by_role("heading", name="Done")).to_be_visible()
    assert not Applicant.objects.get(id=person.id).reminders
