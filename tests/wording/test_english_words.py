"""English words are found on pages of other languages, and nothing else is."""

from __future__ import annotations

import pytest

from tests.support.english_words import english_on, vocabulary_of

# Words without which no English sentence on a page is said.
COMMON = {"the", "your", "you", "we", "is", "are", "of", "and", "to", "seat", "until", "has"}


@pytest.mark.parametrize("language", ["ar", "de", "fr", "zh-hans"])
def test_common_english_words_are_no_words_of_another_language(language: str) -> None:
    words = vocabulary_of(language)

    assert words.english >= COMMON
    assert not words.own & COMMON


@pytest.mark.parametrize(
    ("language", "html", "found"),
    [
        ("de", "<p>Ihr Prüfplatz ist bestätigt.</p>", []),
        ("de", "<p>Ihr Platz bei Harbour Street.</p>", []),
        (
            "de",
            "<p>Each of you has a seat.</p>",
            ["Each of you has a seat. (Each, of, you, has, seat)"],
        ),
        ("de", "<p>Ende: 3 days</p>", ["Ende: 3 days (days)"]),
        (
            "de",
            '<a aria-label="Where you stand" href="/">→</a>',
            ["Where you stand (Where, you)"],
        ),
        ("de", "<h2>Waiting</h2>", ["Waiting (Waiting)"]),
        ("de", "<code>line_sound</code> <span lang=en>English</span> PDF, API", []),
        ("ar", "<p>لديك مقعد في Berlin</p>", ["لديك مقعد في Berlin (Berlin)"]),
        ("ar", "<p>لديك مقعد في <bdi>Harbour Street</bdi>: a@b.org</p>", []),
        ("zh-hans", "<p>您有 2 seats</p>", ["您有 2 seats (seats)"]),
    ],
)
def test_english_words_are_found(language: str, html: str, found: list[str]) -> None:
    assert english_on(html, language, known=["Harbour Street"]) == found
