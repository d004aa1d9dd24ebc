"""Addresses that answers go to: signed, short, and of any case."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest
from django.core.exceptions import ImproperlyConfigured

from pipeline.config.correspondence import parse_reply_address
from pipeline.correspondence.reply_addresses import make_reply_address, read_reply_address


@pytest.mark.parametrize("given", ["a-mailbox-of-21-chars@reply.example", "@reply.example"])
def test_an_address_is_short_enough_and_survives_lower_and_upper_case(
    settings: Any, given: str
) -> None:
    settings.REPLY_ADDRESS, application_id = parse_reply_address(given), uuid4()

    address = make_reply_address(application_id)

    assert len(address.partition("@")[0]) <= 64
    for spelling in (address, address.upper(), f" <{address}> "):
        assert read_reply_address(spelling) == application_id


def test_a_changed_or_foreign_address_is_nobodys(settings: Any) -> None:
    settings.REPLY_ADDRESS = parse_reply_address("jobs@reply.example")
    address = make_reply_address(uuid4())
    local, _, domain = address.partition("@")
    others = [
        f"{local[:-1]}{'a' if local[-1] != 'a' else 'b'}@{domain}",
        f"{local[:10]}{'a' if local[10] != 'a' else 'b'}{local[11:]}@{domain}",
        f"{local}@other.example",
        "jobs@reply.example",
        f"jobs+{'a' * 42}@reply.example",
        f"jobs+{'1' * 42}@reply.example",
        "",
        f"{local}x@{domain}",
    ]

    assert [each for each in others if read_reply_address(each)] == []


def test_a_key_that_was_replaced_still_counts_and_another_does_not(settings: Any) -> None:
    settings.REPLY_ADDRESS = parse_reply_address("jobs@reply.example")
    application_id, old = uuid4(), settings.SECRET_KEY
    address = make_reply_address(application_id)

    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "n" * 50, [old]
    assert read_reply_address(address) == application_id

    settings.SECRET_KEY_FALLBACKS = []
    assert read_reply_address(address) is None


def test_a_site_without_the_setting_takes_nothing(settings: Any) -> None:
    settings.REPLY_ADDRESS = parse_reply_address(" ")

    assert make_reply_address(uuid4()) == ""
    assert read_reply_address("jobs+a@reply.example") is None


@pytest.mark.parametrize(
    "wrong",
    [
        "jobs",
        "@",
        "a-mailbox-of-22-chars-@x.example",
        "a b@x.example",
        "jobs@example",
        "x@y@z.example",
    ],
)
def test_other_settings_are_refused(wrong: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="REPLY_ADDRESS must be"):
        parse_reply_address(wrong)
