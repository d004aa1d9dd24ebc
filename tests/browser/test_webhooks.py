"""The buttons of the webhook pages, pressed in a browser."""

from __future__ import annotations

import pytest

from pipeline.models import WebhookDelivery, WebhookEndpoint
from pipeline.webhooks.deliver import send_due_webhooks
from tests.browser.buttons import shows
from tests.browser.pointer import Hands
from tests.browser.world import World
from tests.support.receiver import Receiver

pytestmark = pytest.mark.slow


def test_an_endpoint_is_added_tested_rotated_switched_and_deleted(
    owner: Hands, world: World, receiver: Receiver
) -> None:
    page = owner.page
    page.goto("/company/webhooks/")
    owner.follow("Add endpoint")
    owner.fill("URL", receiver.url)
    owner.press("Add endpoint")
    secret = page.locator("#secret").input_value()
    owner.follow("Done")
    owner.press("Send a test")
    shows(page, "Not sent yet")
    send_due_webhooks()
    page.reload()
    shows(page, "delivered (204)")
    owner.press("Send again")
    shows(page, "Sent again")
    page.goto(page.url.split("deliveries")[0])
    owner.follow("Edit")
    owner.fill("Description", "Chat")
    owner.press("Save endpoint")
    shows(page, "Chat")
    owner.follow("New secret…")
    owner.press("Make new secret")
    rotated = page.locator("#secret").input_value()
    owner.follow("Done")
    owner.press("Switch off")
    shows(page, "Nothing has been sent to this endpoint")
    owner.press("Switch on")
    owner.press("Send again")
    shows(page, "Send failed webhooks again")
    made = WebhookEndpoint.objects.get(url=receiver.url)
    page.goto(f"/company/webhooks/{made.id}/delete/")
    owner.press("Delete endpoint")
    shows(page, "Endpoint deleted.")

    assert secret.startswith("whsec_")
    assert rotated != secret
    assert WebhookDelivery.objects.filter(endpoint_id=made.id).count() == 1
    assert receiver.types == ["webhook.test"]
