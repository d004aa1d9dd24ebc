"""Settings of messages between companies and applicants."""

from __future__ import annotations

import re

from django.core.exceptions import ImproperlyConfigured

# Stands for the signed part of an address, which has `pipeline.correspondence`'s 42 characters.
PLACE = "{}"
# What is left of the 64 characters of a local part (RFC 5321) for the mailbox and its plus.
_MAILBOX = r"[a-z0-9][a-z0-9._-]{0,20}"
_DOMAIN = r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9-]{2,63}"
_ADDRESS = re.compile(rf"({_MAILBOX})?@({_DOMAIN})")


def parse_reply_address(text: str) -> str:
    """Return the form of the addresses that take answers, with PLACE in it; empty for none.

    `jobs@example.org` gives plus addresses of that mailbox, `@reply.example.org` a domain of their
    own. Raises ImproperlyConfigured.
    """
    given = text.strip().lower()
    if not given:
        return ""
    found = _ADDRESS.fullmatch(given)
    if found is None:
        raise ImproperlyConfigured(
            "REPLY_ADDRESS must be a mailbox of up to 21 characters, like jobs@example.org, or"
            f" a domain of its own, like @reply.example.org, not {text!r}."
        )
    mailbox, domain = found.groups()
    return f"{mailbox}+{PLACE}@{domain}" if mailbox else f"reply-{PLACE}@{domain}"
