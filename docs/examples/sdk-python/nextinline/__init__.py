"""Client of the Next in Line API: `Client`, `AsyncClient`, and verification of webhooks."""

from nextinline.asynchronous.client import AsyncClient
from nextinline.errors import ApiError, ConnectionFailed
from nextinline.synchronous.client import Client
from nextinline.webhooks import BadWebhook, Webhook, verify_webhook

__all__ = [
    "ApiError",
    "AsyncClient",
    "BadWebhook",
    "Client",
    "ConnectionFailed",
    "Webhook",
    "verify_webhook",
]
