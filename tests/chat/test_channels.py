"""Channels: which addresses they may have, how these are kept, and what becomes of them."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from django.test import override_settings

from jobs.models import Company
from pipeline.chat import channels, queue
from pipeline.chat.addresses import AddressRefused, checked_address, is_among, masked
from pipeline.chat.channels import SEAL, ChannelNotFound, ChannelRefused
from pipeline.config import env
from pipeline.domain.errors import WebhookUrlRefused
from pipeline.models import ChatChannel, ChatMessage, ChatService
from tests.support import factories
from tests.support.chat import ChatServer, channel
from tests.support.sandboxes import sandbox

pytestmark = pytest.mark.django_db(transaction=True)
SLACK = "https://hooks.slack.com/services/T00/B00/abcdEFGH1234"
WORKFLOW = (
    "https://default9876.73.environment.api.powerplatform.com:443/powerautomate/automations/direct"
    "/workflows/0987/triggers/manual/paths/invoke?api-version=1&sig=fKJH"
)


@pytest.mark.parametrize(
    ("service", "address"),
    [
        ("SLACK", SLACK),
        ("TEAMS", WORKFLOW),
        ("TEAMS", "https://prod-05.westeurope.logic.azure.com:443/workflows/a/triggers?sig=b"),
        ("TEAMS", "https://acme.webhook.office.com/webhookb2/a@b/IncomingWebhook/c/d"),
    ],
)
def test_the_addresses_of_both_chats_are_taken(service: str, address: str) -> None:
    with override_settings(WEBHOOK_ALLOW_PRIVATE=False):
        assert checked_address(address, ChatService(service)) == address


@pytest.mark.parametrize(
    ("service", "address"),
    [
        ("SLACK", WORKFLOW),
        ("TEAMS", SLACK),
        ("SLACK", "https://hooks.slack.com/triggers/E1/2/3"),
        ("SLACK", "https://hooks.slack.com.evil.example/services/a"),
        ("SLACK", "https://evilhooks.slack.com/services/a"),
        ("TEAMS", "https://logic.azure.com/workflows/a"),
        ("TEAMS", "https://evil-logic.azure.com/workflows/a"),
        ("SLACK", "https://example.org/services/a"),
        ("SLACK", "https://10.0.0.1/services/a"),
        ("SLACK", "https://169.254.169.254/services/a"),
        ("SLACK", "http://hooks.slack.com/services/a"),
        ("SLACK", "https://hooks.slack.com@evil.example/services/a"),
        ("SLACK", "https://user:x@hooks.slack.com/services/a"),
        ("SLACK", "no address"),
    ],
)
def test_other_addresses_are_refused(service: str, address: str) -> None:
    refused = pytest.raises((AddressRefused, WebhookUrlRefused))
    with override_settings(WEBHOOK_ALLOW_PRIVATE=False), refused:
        checked_address(address, ChatService(service))


def test_the_hosts_are_a_setting(settings: Any) -> None:
    assert env.CHAT_HOSTS[0] == "hooks.slack.com"
    assert is_among("A.Logic.Azure.com.", ["*.logic.azure.com"])
    settings.CHAT_HOSTS = ["chat.example"]
    with pytest.raises(AddressRefused):
        checked_address(SLACK, ChatService.SLACK)
    assert checked_address("https://chat.example/hooks/x", ChatService.SLACK)


def test_an_address_is_kept_encrypted_and_shown_masked(
    company: Company, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        row = channel(company.id, SLACK)

    kept = ChatChannel.objects.get(id=row.id)
    assert b"abcdEFGH" not in bytes(kept.address)
    assert SEAL.open(kept.address, kept.id) == SLACK
    assert kept.hint == masked(SLACK) == "hooks.slack.com/…1234"
    assert "abcdEFGH" not in caplog.text


def test_an_address_is_encrypted_anew_after_the_key_was_changed(
    company: Company, settings: Any
) -> None:
    row = channel(company.id, SLACK)
    old, settings.SECRET_KEY = settings.SECRET_KEY, "another key of this site, quite long"
    settings.SECRET_KEY_FALLBACKS = [old]

    assert channels.reencrypt_addresses() == 1
    assert channels.reencrypt_addresses() == 0
    settings.SECRET_KEY_FALLBACKS = []

    assert SEAL.open(ChatChannel.objects.get(id=row.id).address, row.id) == SLACK


def test_two_channels_do_not_share_an_address(company: Company) -> None:
    channel(company.id, SLACK, name="First")

    with pytest.raises(ChannelRefused, match="“First” has this address already"):
        channel(company.id, SLACK)


def test_a_sandbox_has_no_channels() -> None:
    with pytest.raises(ChannelRefused, match="Nothing leaves test mode"):
        channel(sandbox().id, SLACK)


def test_a_company_has_few_channels_and_only_its_own(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, other = channel(company.id, SLACK), factories.company(name="Other")
    monkeypatch.setattr(channels, "MOST_CHANNELS", 1)

    with pytest.raises(ChannelRefused, match="can have 1"):
        channel(company.id, f"{SLACK}x")
    with pytest.raises(ChannelRefused, match="one of your jobs"):
        channel(other.id, SLACK, job_id=factories.job(company_id=company.id))
    for act in (channels.delete, queue.post_test):
        with pytest.raises(ChannelNotFound):
            act(company_id=other.id, channel_id=row.id)


def test_what_waits_for_a_paused_channel_is_not_sent_later(
    company: Company, chat: ChatServer
) -> None:
    row = channel(company.id, chat.slack)
    queue.post_test(company_id=company.id, channel_id=row.id)

    for is_active in (False, True):
        changes = {"is_active": is_active}
        channels.change(company_id=company.id, channel_id=row.id, changes=changes)

    message = ChatMessage.objects.get()
    assert (message.state, message.last_error) == ("FAILED", "ENDPOINT_OFF")


def test_an_edit_without_an_address_keeps_it_but_not_at_another_chat(company: Company) -> None:
    row = channel(company.id, SLACK)
    change = {"address": "", "name": "#people"}

    kept = channels.change(company_id=company.id, channel_id=row.id, changes=change)
    assert (kept.name, SEAL.open(kept.address, kept.id)) == ("#people", SLACK)
    changes = {"address": "", "service": ChatService.TEAMS}
    with pytest.raises(ChannelRefused, match="at the other chat too"):
        channels.change(company_id=company.id, channel_id=row.id, changes=changes)
