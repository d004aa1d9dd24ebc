"""Chat in a browser: an owner connects a channel, sends a test, and sees what became of it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from pipeline.models import ChatChannel
from tests.browser.buttons import shows
from tests.browser.helpers import axe, no_sideways_scroll, shot
from tests.browser.pointer import Hands
from tests.browser.world import World

pytestmark = pytest.mark.slow
ADDRESS = "https://hooks.slack.com/services/T00/B00/abcdEFGH1234"


def look_at(hands: Hands, name: str) -> None:
    axe(hands.page)
    no_sideways_scroll(hands.page)
    shot(hands.page, name)


def test_an_owner_connects_a_channel(owner: Hands, world: World) -> None:
    page = owner.page
    page.goto("/company/chat/")
    shows(page, "No channels yet")
    page.get_by_role("link", name="Add channel").click()
    look_at(owner, "chat-new")

    page.get_by_label("Webhook address").fill(ADDRESS)
    page.get_by_label("Name", exact=True).fill("#hiring")
    page.get_by_label("A weekly report was made").uncheck()
    owner.press("Add channel")
    shows(page, "hooks.slack.com/…1234")
    look_at(owner, "chat-channel")
    row = ChatChannel.objects.get(company=world.company)
    assert len(row.cards) == 4

    owner.press("Send a test")
    shows(page, "Waiting")
    owner.press("Pause")
    shows(page, "It was switched off by hand.")
    shows(page, "Not sent, because the channel was switched off")
    look_at(owner, "chat-paused")
    owner.press("Switch on")
    page.get_by_role("link", name="Edit").click()
    expect(page.get_by_label("Webhook address")).to_have_value("")
    look_at(owner, "chat-edit")
    page.get_by_label("Name", exact=True).fill("#people")
    owner.press("Save channel")
    page.goto("/company/chat/")
    shows(page, "#people")
    look_at(owner, "chat")

    page.get_by_role("link", name="#people").click()
    page.get_by_role("link", name="Delete…").click()
    owner.press("Delete channel")
    shows(page, "Channel deleted.")
