"""The gallery: every part of a page, in every state, for developers."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from django.urls import reverse
from playwright.sync_api import Browser

from tests.browser import pictures
from tests.browser.helpers import axe, narrow, no_sideways_scroll
from tests.browser.site import OpenPage
from tests.browser.still_site import NOW

pytestmark = pytest.mark.slow


def test_the_gallery_can_be_used_and_looks_like_its_pictures(
    browser_page: OpenPage, browser: Browser, live_server: Any, settings: Any
) -> None:
    settings.DEV_MAIL = True
    page, studio = browser_page(javascript=False), browser.new_page()
    with mock.patch("django.utils.timezone.now", return_value=NOW):
        page.goto(live_server.url + reverse("gallery"))

    axe(page)
    with narrow(page):
        no_sideways_scroll(page)
    found = [*pictures.differences(page, "gallery", studio)]

    studio.close()
    assert found == [], "see screenshots/; if this is meant, make the pictures anew"


def test_only_developers_see_the_gallery(client: Any, settings: Any, db: None) -> None:
    settings.DEV_MAIL = False

    assert client.get(reverse("gallery")).status_code == 404
