"""The development mailbox, which only a site on one machine has: served in the test's process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.mail import send_mail
from django.urls import reverse
from playwright.sync_api import expect

from tests.browser.helpers import axe, no_sideways_scroll, shot
from tests.browser.site import OpenPage

pytestmark = pytest.mark.slow


def test_the_development_mailbox(
    browser_page: OpenPage, live_server: Any, settings: Any, tmp_path: Path
) -> None:
    settings.DEV_MAIL, settings.DEV_MAIL_FOLDER = True, tmp_path
    settings.EMAIL_BACKEND = "pipeline.mail.dev_mailbox.Backend"
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
