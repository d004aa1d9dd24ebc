"""Pseudo-languages, made by code from the strings of the source, for tests and looking at pages.

`qps` is read from left to right, `qpb` from right to left. Each message stands in brackets, with
accents, and is 40 % longer: so what is not translated, or is cut, can be seen. What comes from
CLDR, such as dates, is in Greek or Hebrew letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from html.parser import HTMLParser

from django.utils.safestring import SafeData, SafeString
from django.utils.translation import trans_real

from pipeline.wording import language

CODES = {"qps": "el", "qpb": "he"}
NAMES = {"qps": "⟦Psëüdö⟧", "qpb": "⟦Psëüdö ⇐⟧"}
LONGER = 0.4
BEGIN, END = "⟦", "⟧"
_FILLER = "ẍẍẍẍ "
_ACCENTS = str.maketrans("aceinosuyzACEINOSUYZ", "àçéîñöšüýžÀÇÉÎÑÖŠÜÝŽ")
# What a translator leaves as it is: places, elements, character references, addresses, code.
_KEPT = re.compile(
    r"%\(\w+\)[a-z]|%[sd%]|\{[^{}]*\}|<[^>]*>|&\w+;|&#\d+;|https?://\S+|`[^`]*`|\b[\w.-]+@[\w.-]+"
)


def translate(message: str) -> str:
    """Return a message in the pseudo-language, with the blanks around it as they are."""
    text = str(message).rpartition(trans_real.CONTEXT_SEPARATOR)[2]
    inner = text.strip()
    if not any(each.isalpha() for each in _KEPT.sub("", inner)):
        return text
    start = text.index(inner)
    parts, at = [], 0
    for kept in _KEPT.finditer(inner):
        parts += [inner[at : kept.start()].translate(_ACCENTS), kept[0]]
        at = kept.end()
    parts.append(inner[at:].translate(_ACCENTS))
    length = int(len(_KEPT.sub("", inner)) * LONGER) + 1
    filler = (_FILLER * (length // len(_FILLER) + 1))[:length].strip()
    said = f"{text[:start]}{BEGIN}{''.join(parts)} {filler}{END}{text[start + len(inner) :]}"
    return SafeString(said) if isinstance(message, SafeData) else said


class PseudoTranslation:
    """Stands for Django's catalogue of a language."""

    def __init__(self, code: str) -> None:
        self._code = code

    def to_language(self) -> str:
        """Return the code."""
        return self._code

    def gettext(self, message: str) -> str:
        """Translate a message."""
        return translate(message)

    def ngettext(self, singular: str, plural: str, number: int) -> str:
        """Translate a message with a number."""
        return translate(singular if number == 1 else plural)


def install() -> None:
    """Make the pseudo-languages known to this process."""
    for code, locale in CODES.items():
        trans_real._translations[code] = PseudoTranslation(code)  # type: ignore[attr-defined]
        language.LOCALES[code] = locale
    language.locale_of.cache_clear()
    usual = trans_real.translation_catalog_exists

    @lru_cache(maxsize=1_000)
    def translation_catalog_exists(code: str) -> bool:
        return code in CODES or usual(code)

    trans_real.translation_catalog_exists = translation_catalog_exists


# What on a page is not translated.


# A translated word has an accent, also where an element within a message stands around it.
_WORD = re.compile(r"(?<!\w)[A-Za-z][A-Za-z’']+(?!\w)")
# Attributes that people read, or hear.
READ = ("aria-label", "title", "placeholder", "alt", "aria-description", "aria-roledescription")
# Elements whose text is code, or is read by programs.
CODE = {"script", "style", "code", "pre", "kbd", "samp", "textarea"}
_VOID = {
    "area",
    "base",
    "br",
    "col",
    "embed",
    "hr",
    "img",
    "input",
    "link",
    "meta",
    "source",
    "wbr",
}
# Elements of a fixed form that one keeps in every language: names of things, not words.
NAMES_OF_THINGS = (
    "Next in Line",
    "API",
    "CSV",
    "JSON",
    "JSONL",
    "HTML",
    "PDF",
    "ZIP",
    "UTC",
    "QR",
    "URL",
    "UTM",
    "Chrome",
    "Firefox",
    "Linux",
    "HTTP",
    "HTTPS",
    "OpenAPI",
    "WCAG",
    "AA",
    "PostgreSQL",
    "Python",
    "min",  # the unit, as browsers write it
)


class Texts(HTMLParser):
    """Texts of a page as people read it, without code and what says it is in another language.

    `own`: the codes of the page's language.
    """

    def __init__(self, own: Iterable[str] = CODES) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._own = (None, *own)
        self._open: list[tuple[str, bool]] = []  # each element, and whether its text is left out

    @property
    def _is_left_out(self) -> bool:
        return any(out for _tag, out in self._open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        other = tag != "html" and given.get("lang") not in self._own
        out = tag in CODE or other or given.get("translate") == "no"
        if not (out or self._is_left_out):
            self.found += [value for name in READ if (value := given.get(name))]
            is_button = tag == "input" and given.get("type") in ("submit", "button")
            self.found += [given["value"] or ""] if is_button and "value" in given else []
        if tag not in _VOID:
            self._open.append((tag, out))

    def handle_endtag(self, tag: str) -> None:
        while self._open:
            if self._open.pop()[0] == tag:
                break

    def handle_data(self, data: str) -> None:
        if data.strip() and not self._is_left_out:
            self.found.append(" ".join(data.split()))


def untranslated(html: str, known: Iterable[str] = ()) -> list[str]:
    """Return the texts of a page that hold words outside the brackets, apart from known ones.

    `known`: what people and companies have written, and names.
    """
    page = Texts()
    page.feed(html)
    return [text for text in page.found if left_over(text, known)]


def left_over(text: str, known: Iterable[str] = ()) -> list[str]:
    """Return the words of a text outside the brackets, apart from known texts and names."""
    depth, outside = 0, []
    for each in text:
        depth += each == BEGIN
        if not depth:
            outside.append(each)
        if each == END:
            depth = max(0, depth - 1)
            outside.append(" ")
    rest = "".join(outside)
    rest = re.sub(
        r"https?://\S+|\S+@\S+|\b[0-9a-f]{8,}\b|\S*[/_]\S*|[A-Z]{2,}(?:_[A-Z]+)*", " ", rest
    )
    for each in sorted({*known, *NAMES_OF_THINGS}, key=len, reverse=True):
        rest = rest.replace(each, " ")
    return _WORD.findall(rest)
