"""Texts that people wrote, as HTML: everything escaped, web addresses as links. Pure."""

from __future__ import annotations

import re

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

# An address as it is written, so the link never leads elsewhere than it says. Only the characters
# of URLs (RFC 3986), so that no letter of another script passes for one of a known name.
_ADDRESS = re.compile(r"\bhttps?://[A-Za-z0-9][A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=%]{2,500}")
_ENDING = ".,;:!?'\")]"


def linked_text(text: str) -> SafeString:
    """Return a text as HTML, with its line breaks, and its web addresses as links."""
    parts: list[SafeString] = []
    end = 0
    for found in _ADDRESS.finditer(text):
        address = _without_ending(found[0])
        link = '<a class="any" href="{0}" rel="noopener noreferrer nofollow">{0}</a>'
        parts += [_with_breaks(text[end : found.start()]), format_html(link, address)]
        end = found.start() + len(address)
    parts.append(_with_breaks(text[end:]))
    return format_html_join("", "{}", ((part,) for part in parts))


def _with_breaks(text: str) -> SafeString:
    return format_html_join(SafeString("<br>"), "{}", ((line,) for line in text.split("\n")))


def _without_ending(address: str) -> str:
    """Return an address without the punctuation of the sentence around it."""
    while address[-1] in _ENDING and not (address[-1] == ")" and "(" in address):
        address = address[:-1]
    return address
