"""Senders of emails: the address that one names, and whether our mail server could prove it.

A From line is what its writer likes it to be. Only our own mail server can know more, and says so
in a header (RFC 8601) under its own name. The same header under another name, or below ours, was in
the email when it came and says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from email.message import EmailMessage
from typing import Any

from django.conf import settings

_MOST_RESULTS, _LONGEST_RESULT = 10, 4_000
_COMMENT = re.compile(r"\([^()]*\)")


def read_sender(email: EmailMessage) -> str:
    """Return the one address in From, in lower case; empty if there is none or more than one."""
    headers = email.get_all("From", [])
    if len(headers) != 1:
        return ""
    addresses: Sequence[Any] = getattr(headers[0], "addresses", ())
    return addresses[0].addr_spec.lower() if len(addresses) == 1 else ""


def is_authenticated(email: EmailMessage, sender: str) -> bool:
    """Tell whether our mail server has proved that the domain of the sender sent an email.

    By DMARC, or by a signature (DKIM) of that very domain. True without INCOMING_AUTHSERV_ID: then
    only the signed address of the thread speaks for the sender.
    """
    ours = settings.INCOMING_AUTHSERV_ID
    if not ours:
        return True
    domain = sender.rpartition("@")[2]
    for header in email.get_all("Authentication-Results", [])[:_MOST_RESULTS]:
        text = _COMMENT.sub(" ", str(header)[:_LONGEST_RESULT]).lower()
        server, _, results = text.partition(";")
        if server.strip().partition(" ")[0] == ours:
            # The first one is the newest: what stands below came with the email.
            return any(_proves(result, domain) for result in results.split(";"))
    return False


def _proves(result: str, domain: str) -> bool:
    words = result.split()
    if "dmarc=pass" in words[:1]:
        return f"header.from={domain}" in words
    return "dkim=pass" in words[:1] and bool(
        {f"header.d={domain}", f"header.i=@{domain}"} & set(words)
    )
