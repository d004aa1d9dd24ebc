"""The paths in emails are those of the pages."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.urls import resolve

from pipeline.mail import links
from pipeline.notifications.alerts import ALERT_WORDS

SOME = uuid4()
LINKS = {
    "confirm_offer": lambda: links.confirm_url(links.LinkedOffer(SOME, 7)),
    "unsubscribe": lambda: links.unsubscribe_url("reminders", SOME),
    "my_application": lambda: links.application_url(SOME),
    "my_data": links.data_url,
    "openings": links.openings_url,
    "board": lambda: links.board_url(SOME),
}


@pytest.mark.parametrize("name", LINKS)
def test_a_link_leads_to_its_page(name: str, settings: Any) -> None:
    settings.SITE_URL = "https://line.example"

    link = LINKS[name]()

    assert link.startswith("https://line.example/")
    assert resolve(urlsplit(link).path).url_name == name


def test_alerts_lead_to_pages() -> None:
    paths = {words.path.partition("?")[0] for words in ALERT_WORDS.values()}

    names = {resolve(path).url_name for path in paths}
    assert names == {"system", "company_jobs", "contests", "dead_letters", "webhooks", "chat"}
