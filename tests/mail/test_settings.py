"""Where mails go, and where their links lead."""

from __future__ import annotations

import os
from typing import Any

import pytest

from pipeline.config import env
from pipeline.management.commands.up import set_site_url


def test_mails_are_kept_where_nothing_else_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "DEV_MAIL", True)

    assert env.mail_settings() == {"EMAIL_BACKEND": "pipeline.mail.dev_mailbox.DevMailboxBackend"}


def test_with_a_database_and_no_server_they_go_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "DEV_MAIL", False)
    monkeypatch.setitem(os.environ, "EMAIL_URL", "")

    assert env.mail_settings()["EMAIL_BACKEND"].endswith("dummy.EmailBackend")


def test_a_mail_server_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(env, "DEV_MAIL", False)
    monkeypatch.setitem(os.environ, "EMAIL_URL", "smtp+tls://ana:secret@mail.example.org:587")

    given = env.mail_settings()

    assert given["EMAIL_BACKEND"].endswith("smtp.EmailBackend")
    assert (given["EMAIL_HOST"], given["EMAIL_USE_TLS"]) == ("mail.example.org", True)


@pytest.mark.parametrize(
    ("given", "then"), [("", "http://127.0.0.1:8123"), ("https://x.example", "https://x.example")]
)
def test_up_has_links_lead_to_its_port_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, settings: Any, given: str, then: str
) -> None:
    monkeypatch.setitem(os.environ, "SITE_URL", given)
    settings.SITE_URL = "to be put back after the test"

    set_site_url(8123)

    assert os.environ["SITE_URL"] == then
