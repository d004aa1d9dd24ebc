"""Pages and emails as people read them: the words that can be seen, their sentences and grade."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html.parser import HTMLParser

import textstat

INLINE = {"a", "b", "bdi", "code", "count-down", "em", "i", "small", "span", "strong", "time", "u"}
UNSEEN = {"head", "script", "select", "style", "svg", "template", "textarea"}
VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
WORD = re.compile(r"[^\W_]")
END = re.compile(r"(?<=[.!?])[”)]?\s+(?=[“\"A-Z0-9])")
SENTENCE = re.compile(r"[.!?:][”)]?$")


class _Reader(HTMLParser):
    """Collects the visible blocks of text. What a closed <details> holds is not visible."""

    def __init__(self, part: str) -> None:
        super().__init__()
        self.part = part
        self.open: list[tuple[str, bool]] = []  # tags, and whether what is in them is read
        self.blocks: list[str] = [""]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in INLINE:
            self.blocks.append("")
        if tag in VOID:
            return
        given = dict(attrs)
        shown = self.open[-1][1] if self.open else not self.part
        if tag == self.part:
            shown = True
        classes = (given.get("class") or "").split()
        if tag in UNSEEN or "hidden" in given or "vh" in classes or "demo-bar" in classes:
            shown = False
        if given.get("aria-hidden") == "true":
            shown = False
        if tag == "summary" and self.open and self.open[-1] == ("details", False):
            shown = self.open[-2][1] if len(self.open) > 1 else True
        if tag == "details" and "open" not in given:
            shown = False
        self.open.append((tag, shown))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        while self.open and self.open.pop()[0] != tag:
            pass
        if tag not in INLINE:
            self.blocks.append("")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1][1]:
            self.blocks[-1] += data


def visible_blocks(html: str, *, part: str = "main", own: Iterable[str] = ()) -> list[str]:
    """Return the visible text of a part of a page, block by block, without the texts `own`."""
    reader = _Reader(part)
    reader.feed(html)
    found = []
    for block in reader.blocks:
        text = " ".join(block.split())
        for each in sorted(own, key=len, reverse=True):
            text = text.replace(each, "")
        if text.strip():
            found.append(" ".join(text.split()))
    return found


def count_words(blocks: Iterable[str]) -> int:
    """Count the words, numbers and email addresses of texts."""
    return sum(bool(WORD.search(each)) for block in blocks for each in block.split())


def sentences_of(blocks: Iterable[str]) -> list[str]:
    """Return the sentences of texts: not labels, nor names, nor headings without a full stop."""
    parts = [part for block in blocks for part in END.split(block)]
    return [part for part in parts if SENTENCE.search(part) and count_words([part]) > 2]


def long_sentences(sentences: Iterable[str], *, most: int = 20) -> list[str]:
    """Return the sentences of more words than that."""
    return [each for each in sentences if count_words([each]) > most]


def grade_of(sentences: Iterable[str]) -> float:
    """Return the Flesch-Kincaid grade of sentences together: the years of school that they take."""
    return float(textstat.flesch_kincaid_grade(" ".join(sentences)))
