"""Colours, type and motion of the pages: contrast of the tokens, and what stylesheets may say."""

from __future__ import annotations

import re

import pytest

from tests.support.environment import ROOT

STYLES = sorted((ROOT / "static" / "css").glob("*.css"))
TOKENS = (ROOT / "static" / "css" / "tokens.css").read_text()
COLOURS = {
    name: (light, dark or light)
    for name, light, dark in re.findall(
        r"--([\w-]+): (?:light-dark\()?(#[0-9a-f]{6})(?:, (#[0-9a-f]{6})\))?;", TOKENS
    )
}
GROUNDS = ("ground", "ground-panel", "ground-sunk", "ground-hover", "ground-held", "ground-chip")
LETTERS = [
    *((ink, ground) for ink in ("ink", "ink-soft") for ground in (*GROUNDS, "warn-soft")),
    *((ink, soft) for ink in ("ink", "ink-soft") for soft in ("good-soft", "bad-soft")),
    *(
        (ink, ground)
        for ink in ("accent", "good", "bad")
        for ground in ("ground", "ground-panel", "ground-sunk", "ground-hover", f"{ink}-soft")
    ),
    *(("on-accent", ground) for ground in ("accent", "accent-hover")),
    *((f"on-{ground}", ground) for ground in ("warn", "bad")),
    *((f"avatar-{tint}-ink", f"avatar-{tint}") for tint in range(1, 6)),
]
SHAPES = [("edge-field", "ground"), ("edge-field", "ground-panel"), ("accent", "ground-panel")]


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, as WCAG 2 counts it."""
    dim, bright = sorted(map(_luminance, (one, other)))
    return (bright + 0.05) / (dim + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(part * weight for part, weight in zip(linear, (0.2126, 0.7152, 0.0722), strict=True))


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_letters_and_shapes_can_be_told_from_their_ground(scheme: int) -> None:
    weak = [
        f"{ink} on {ground}"
        for least, pairs in ((4.5, LETTERS), (3.0, SHAPES))
        for ink, ground in pairs
        if contrast(COLOURS[ink][scheme], COLOURS[ground][scheme]) < least
    ]

    assert len(COLOURS) > 30
    assert weak == []


def test_stylesheets_keep_to_the_tokens() -> None:
    wrong = re.compile(
        r"(?:margin|padding|border)-(?:left|right)\b|text-align: (?:left|right)"
        r"|(?<![\w-])(?:left|right): |font-weight: (?!400|500|600|inherit)"
        r"|(?<![\w-])color: var\(--warn\)"
    )

    found = [
        f"{path.name}:{number}: {match[0]}"
        for path in STYLES
        for number, line in enumerate(path.read_text().splitlines(), 1)
        for match in wrong.finditer(line)
    ]

    # Right to left mirrors what logical properties place; the font has no other weights; amber
    # letters could not be read.
    assert found == []


def test_each_token_that_is_used_is_defined_and_each_that_is_defined_is_used() -> None:
    text = "\n".join(path.read_text() for path in STYLES)

    defined = set(re.findall(r"(?<![\w-])(--[\w-]+):", text))
    assert defined == set(re.findall(r"var\((--[\w-]+)", text))


def words_of(sheet: str) -> list[str]:
    """Return the words that a stylesheet writes, which nobody can translate."""
    said = re.findall(r"(?<![\w-])content:([^;}]*)", re.sub(r"/\*.*?\*/", "", sheet, flags=re.S))
    return [text for each in said for text in re.findall(r'"([^"]*)"', each) if _WORD.search(text)]


_WORD = re.compile(r"[^\W\d_]{2}")


def test_no_stylesheet_writes_words() -> None:
    found = {path.name: words_of(path.read_text()) for path in STYLES}

    assert {name: words for name, words in found.items() if words} == {}
    assert words_of('a::before { content: "before "; } b { content: "(" counter(x) ")"; }') == [
        "before "
    ]
