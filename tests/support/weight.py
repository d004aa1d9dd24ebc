"""Weight of a page: the words that its readers see, its compressed bytes, and its statements."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, NamedTuple

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

WORD = re.compile(r"\S*\w\S*")
EMPTY = frozenset("area base br col embed hr img input link meta source track wbr".split())
UNREAD = frozenset({"script", "style", "template", "svg", "textarea", "datalist"})


class Weight(NamedTuple):
    """Words that are visible in the main part of a page, kilobytes, and statements."""

    words: int
    bytes: int
    statements: int


@dataclass
class _Open:
    """Open element: its name, and whether its text is seen."""

    tag: str
    is_seen: bool
    is_folded: bool = False  # a closed `details`, of which only the summary is seen


class _SeenText(HTMLParser):
    """Text that is seen in the main part of a page before anything is opened.

    Of a list of choices that is the chosen one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.open: list[_Open] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in EMPTY:
            return
        given, outer = dict(attrs), self.open[-1] if self.open else _Open("", is_seen=False)
        is_seen = tag == "main" or (outer.is_seen and (not outer.is_folded or tag == "summary"))
        classes = (given.get("class") or "").split()
        hidden = tag in UNREAD or "hidden" in given or "vh" in classes
        unchosen = tag == "option" and "selected" not in given
        is_folded = tag == "details" and "open" not in given
        self.open.append(_Open(tag, is_seen and not hidden and not unchosen, is_folded))

    def handle_endtag(self, tag: str) -> None:
        if any(each.tag == tag for each in self.open):
            while self.open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1].is_seen and not self.open[-1].is_folded:
            self.text.append(data)


def seen_words(page: str) -> list[str]:
    """Return the words that are seen in the main part of a page."""
    reader = _SeenText()
    reader.feed(page)
    return WORD.findall(" ".join(reader.text))


def weigh(client: Client, address: str) -> tuple[Weight, Any]:
    """Return the weight of a page that was asked for before, and its answer."""
    with CaptureQueriesContext(connection) as queries:
        answer = client.get(address)
    content = answer.getvalue()
    words = len(seen_words(content.decode()))
    return Weight(words, len(gzip.compress(content)), len(queries)), answer
