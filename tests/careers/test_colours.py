"""A company's colour: text on it and in it can be read in both schemes, whatever the colour."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.careers.colours import LEAST_CONTRAST, build_palette, contrast, readable, stylesheet
from tests.support.environment import ROOT

COLOURS = st.integers(0, 0xFFFFFF).map(lambda number: f"{number:06x}")
TOKENS = Path(ROOT, "static/css/tokens.css").read_text()
GROUNDS = ("ground", "ground-panel", "ground-sunk", "ground-hover", "ground-held", "ground-chip")


def grounds(scheme: int) -> list[str]:
    """Return the grounds of the light (0) or dark (1) scheme, as rrggbb."""
    found = [re.search(rf"--{name}: light-dark\(#(\w+), #(\w+)\)", TOKENS) for name in GROUNDS]
    return [each[scheme + 1] for each in found if each]


@given(COLOURS)
@example("ffffff")
@example("000000")
@example("ffff00")
@example("0000ff")
def test_letters_in_it_and_on_it_can_be_read(colour: str) -> None:
    for scheme, shades in enumerate(build_palette(colour)):
        for accent in (shades.accent, shades.hover):
            assert contrast(accent, shades.on_accent) >= LEAST_CONTRAST
            assert contrast(accent, shades.soft) >= LEAST_CONTRAST
            assert min(contrast(accent, each) for each in grounds(scheme)) >= LEAST_CONTRAST


@given(COLOURS)
def test_a_colour_that_can_be_read_stays_and_others_move_as_little_as_needed(colour: str) -> None:
    shade = readable(colour, on="e7e7ed", toward="000000")

    if contrast(colour, "e7e7ed") >= LEAST_CONTRAST:
        assert shade == colour
    else:
        assert contrast(shade, "e7e7ed") < LEAST_CONTRAST + 0.35


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [("ffffff", "000000", 21.0), ("777777", "ffffff", 4.48), ("0000ff", "ffffff", 8.59)],
)
def test_the_contrast_is_that_of_wcag(one: str, other: str, ratio: float) -> None:
    assert contrast(one, other) == pytest.approx(ratio, abs=0.01)


def test_the_stylesheet_replaces_the_accent_alone() -> None:
    names = re.findall(r"(--[\w-]+):", stylesheet("0b7748"))

    assert names == ["--accent", "--accent-hover", "--accent-soft", "--on-accent"]
    assert all(f"{name}:" in TOKENS for name in names)
