"""Client of the Next in Line API: `Client`, `AsyncClient`, and verification of webhooks."""

from nextinline.asynchronous.client import AsyncClient
from nextinline.errors import ApiError, ConnectionFailed
from nextinline.synchronous.client import Client
from nextinline.version import __version__
from nextinline.webhooks import (
    BadWebhook,
    Webhook,
    new_secret,
    sign_webhook,
    verify_webhook,
    webhook_of_event,
)

__all__ = [
    "ApiError",
    "AsyncClient",
    "BadWebhook",
    "Client",
    "ConnectionFailed",
    "Webhook",
    "__version__",
    "new_secret",
    "sign_webhook",
    "verify_webhook",
    "webhook_of_event",
]
