"""The site signs its requests to push services as RFC 8292 says."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from django.core.exceptions import ImproperlyConfigured

from pipeline.config import keys
from pipeline.notifications.devices import (
    is_push_enabled,
    vapid_authorization,
    vapid_key_id,
    vapid_public_key,
)
from tests.support.push import SITE_KEY, claims_of, encoded, raw

NOW = datetime(2026, 11, 23, 8, 0, tzinfo=UTC)
ENDPOINT = "https://push.example.net:8443/p/JzLQ3raZJfFBR0aqvOMsLrt54w4rJUsV?x=1"
# The example of RFC 8292, section 2.4.
EXAMPLE = (
    "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJ"
    "leHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_"
    "HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA, k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2"
    "u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
)


@pytest.fixture(autouse=True)
def _on(push_on: None) -> None:
    """Switch notifications on."""


def test_the_checks_of_these_tests_take_the_example_of_the_rfc_and_no_forgery() -> None:
    assert claims_of(EXAMPLE) == {
        "aud": "https://push.example.net",
        "exp": 1453523768,
        "sub": "mailto:push@example.com",
    }
    with pytest.raises(InvalidSignature):
        claims_of(EXAMPLE.replace("i3CYb7", "i3CYb8"))


def test_a_request_is_signed_for_its_push_service_alone_and_for_twelve_hours() -> None:
    header = vapid_authorization(ENDPOINT, NOW)

    assert claims_of(header) == {
        "aud": "https://push.example.net:8443",
        "exp": int(NOW.timestamp()) + 12 * 3_600,
        "sub": "mailto:ops@line.example",
    }
    assert header.endswith(f", k={vapid_public_key()}")


def test_another_key_has_another_name(settings: Any) -> None:
    public, name = vapid_public_key(), vapid_key_id()

    settings.VAPID_PRIVATE_KEY = b"\10" * 32

    assert len(raw(public)) == 65
    assert vapid_public_key() != public
    assert vapid_key_id() != name


def test_without_a_key_there_are_no_notifications(settings: Any) -> None:
    settings.VAPID_PRIVATE_KEY = b""

    assert not is_push_enabled()


@pytest.mark.parametrize("padding", ["", "="])
def test_a_key_is_read_with_and_without_padding(padding: str) -> None:
    assert keys.parse_vapid(encoded(SITE_KEY) + padding) == SITE_KEY
    assert keys.parse_vapid(" ") == b""


@pytest.mark.parametrize("wrong", ["AAAA", "no key", "\N{SNOWMAN}", "_" * 43, "A" * 43])
def test_a_wrong_key_stops_the_start_and_is_not_quoted(wrong: str) -> None:
    with pytest.raises(ImproperlyConfigured) as refused:
        keys.parse_vapid(wrong)

    assert "VAPID_PRIVATE_KEY" in str(refused.value)
    assert wrong not in str(refused.value)


def test_the_subject_is_an_address_of_the_operator() -> None:
    sender = "Next in Line <jobs@line.example>"

    assert keys.parse_vapid_subject("", sender=sender) == "mailto:jobs@line.example"
    assert keys.parse_vapid_subject("https://line.example", sender=sender) == "https://line.example"


@pytest.mark.parametrize(
    ("subject", "sender"),
    [
        ("ops@line.example", "a@line.example"),
        ("mailto:", "a@line.example"),
        ("mailto:@line.example", "a@line.example"),
        ("mailto:ops@", "a@line.example"),
        ("https://", "a@line.example"),
        ("", "Next in Line"),
        ("", ""),
    ],
)
def test_a_subject_that_is_no_address_stops_the_start(subject: str, sender: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="VAPID_SUBJECT"):
        keys.parse_vapid_subject(subject, sender=sender)
