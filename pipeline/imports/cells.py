"""Cells of an imported file, as people and their programs fill them. Pure."""

from __future__ import annotations

import re
import unicodedata

# Control and format characters (such as zero-width ones), and every kind of space.
_UNSEEN = frozenset({"Cc", "Cf", "Zl", "Zp", "Zs"})
_NAME_AND_ADDRESS = re.compile(r"[^<>]*<([^<>]*)>[\s;,.]*")
_ADDRESSES = re.compile(r"[^\s<>,;|/]+@[^\s<>,;|/]+")


def address_in_cell(cell: str) -> str:
    """Return the address in a cell, without what programs write around it. It may be invalid.

    This takes off a name, angle brackets, quotation marks, `mailto:`, a separator at the end, and
    invisible characters at both ends.
    """
    text = _without_unseen_ends(cell)
    if found := _NAME_AND_ADDRESS.fullmatch(text):
        text = _without_unseen_ends(found[1])
    text = text.strip(";, ")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    if text[:7].casefold() == "mailto:":
        text = text[7:].partition("?")[0]
    return _without_unseen_ends(text)


def has_several_addresses(text: str) -> bool:
    """Tell whether a cell holds more than one address."""
    return len(_ADDRESSES.findall(text)) > 1


def visible_text(text: str) -> str:
    """Return a text with a code like <U+200B> for each character that nobody sees."""
    return "".join(
        f"<U+{ord(letter):04X}>"
        if letter != " " and unicodedata.category(letter) in _UNSEEN
        else letter
        for letter in text
    )


def _without_unseen_ends(text: str) -> str:
    first, last = 0, len(text)
    while first < last and unicodedata.category(text[first]) in _UNSEEN:
        first += 1
    while last > first and unicodedata.category(text[last - 1]) in _UNSEEN:
        last -= 1
    return text[first:last]
