"""Addresses of chat channels: which hosts are chats, and how much of an address is shown."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _

from pipeline.models import ChatService
from pipeline.models.chat import LONGEST_HINT
from pipeline.outgoing.addresses import checked_webhook_url

SLACK_HOSTS = ("hooks.slack.com",)
# Workflows of Power Automate, before and since 2025, and the connectors before them.
TEAMS_HOSTS = ("*.logic.azure.com", "*.api.powerplatform.com", "*.webhook.office.com")
_OF = {ChatService.SLACK: SLACK_HOSTS, ChatService.TEAMS: TEAMS_HOSTS}
# Incoming webhooks; other addresses of Slack take other bodies.
_SLACK_PATH = "/services/"


class AddressRefused(ValueError):
    """The address is not one of a chat that this site may post to; the text says why."""


def checked_address(text: str, service: ChatService) -> str:
    """Return an address in the form in which it is kept.

    Raises AddressRefused and WebhookUrlRefused with the reason.
    """
    url = checked_webhook_url(text)
    host = urlsplit(url).hostname or ""
    other = next(each for each in ChatService if each != service)
    if not is_allowed(host) or is_among(host, _OF[other]):
        raise AddressRefused(
            _("Enter the address of an incoming webhook of %(service)s.")
            % {"service": service.label}
        )
    if is_among(host, SLACK_HOSTS) and not urlsplit(url).path.startswith(_SLACK_PATH):
        raise AddressRefused(_("Enter an address like https://hooks.slack.com/services/…"))
    return url


def is_allowed(host: str) -> bool:
    """Tell whether this site may post to a host."""
    return is_among(host, settings.CHAT_HOSTS)


def is_among(host: str, patterns: tuple[str, ...] | list[str]) -> bool:
    """Tell whether a host is one of the patterns: a name, or "*." and the end of one."""
    name = host.lower().rstrip(".")
    return any(
        name.endswith(each[1:].lower()) if each.startswith("*.") else name == each.lower()
        for each in patterns
    )


def masked(url: str) -> str:
    """Return the part of an address that is shown: its host, and its last four characters."""
    host = urlsplit(url).hostname or ""
    return f"{host[: LONGEST_HINT - 6]}/…{url[-4:]}"
