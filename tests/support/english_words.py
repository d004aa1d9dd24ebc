"""English words on a page or in an email of another language: what nobody translated.

A word counts as English if the strings of the sources have it, and no translation of the language
does. In a language of another script, every Latin word counts that no translation has. A text that
is a whole string of the sources counts, too, if its translation reads otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from pipeline.management import translations
from tests.support.pseudo_language import NAMES_OF_THINGS, Texts

OTHER_SCRIPTS = ("ar", "uk", "zh-hans")
_NO_WORDS = re.compile(  # places, elements and character references of a message
    r"%\(\w+\)[a-z]|%[sd%]|\{[^{}]*\}|<[^>]*>|&\w+;|&#\d+;|`[^`]*`"
)
# Addresses, codes and keys, which are the same for everyone: no page can say them otherwise.
_CODES = re.compile(
    r"https?://\S+|\S+@\S+|\b[0-9a-f]{8,}\b|\S*[/_]\S*|\b[A-Z]{2,}\b|\b\w*\d\w*\b|\S+\.\w{2,4}\b"
)
_WORD = re.compile(r"(?<![^\W\d_])[A-Za-z][A-Za-z’']+(?![^\W\d_])")


@dataclass(frozen=True)
class Vocabulary:
    """Words of the English strings and of their translations; whole strings that read otherwise."""

    english: frozenset[str]
    own: frozenset[str]
    translated: frozenset[str]


@cache
def vocabulary_of(language: str) -> Vocabulary:
    """Return the words of a language's catalogue."""
    english: set[str] = set()
    own: set[str] = set()
    translated: set[str] = set()
    same: set[str] = set()
    for message in translations.read(language):
        if not message.id:
            continue
        originals = (message.id,) if isinstance(message.id, str) else tuple(message.id)
        english.update(word for text in originals for word in _words(text))
        own.update(word for text in translations.forms_of(message) for word in _words(text))
        for text in originals:
            (same if text in translations.forms_of(message) else translated).add(text)
    return Vocabulary(frozenset(english), frozenset(own), frozenset(translated - same))


def english_in(
    texts: Iterable[str], language: str, known: Iterable[str] = ()
) -> Iterator[tuple[str, list[str]]]:
    """Yield the texts that have English words, with these words.

    `known`: what people and companies have written, and names.
    """
    words = vocabulary_of(language)
    left_out = sorted({*known, *NAMES_OF_THINGS} - {"min"}, key=len, reverse=True)
    for text in texts:
        rest = " ".join(text.split())
        if rest in words.translated and rest not in left_out:
            yield text, [rest]
            continue
        for each in left_out:
            rest = re.sub(rf"(?<![A-Za-z]){re.escape(each)}(?![A-Za-z])", " ", rest)
        found = [
            each
            for each in _WORD.findall(_CODES.sub(" ", rest))
            if _is_english(each, words, language)
        ]
        if found:
            yield text, found


def english_on(html: str, language: str, known: Iterable[str] = ()) -> list[str]:
    """Return the texts of a page that have English words, each with these words."""
    page = Texts(own=[language])
    page.feed(html)
    return [
        f"{text} ({', '.join(found)})" for text, found in english_in(page.found, language, known)
    ]


def _is_english(word: str, words: Vocabulary, language: str) -> bool:
    known = word.lower()
    if known in words.own:
        return False
    return language in OTHER_SCRIPTS or known in words.english


def _words(text: str) -> Iterator[str]:
    rest = _NO_WORDS.sub(" ", text)
    for name in NAMES_OF_THINGS:
        rest = rest.replace(name, " ")
    yield from (each.lower() for each in _WORD.findall(_CODES.sub(" ", rest)))
