"""A company's colour as a page can use it: with enough contrast, in light and in dark. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

LEAST_CONTRAST = 4.5  # of letters, by WCAG 2.2
HEX = re.compile("[0-9a-f]{6}")
# Of static/css/tokens.css: the ground of each scheme that is hardest to read on, the ground of
# boxes, and the letters on the accent.
_LIGHT_GROUND, _LIGHT_BOX, _ON_LIGHT = "e7e7ed", "ffffff", "ffffff"
_DARK_GROUND, _DARK_BOX, _ON_DARK = "262831", "16171d", "0f1130"
_BLACK, _WHITE = "000000", "ffffff"
_STEPS = 256
_HOVER, _SOFT = 0.15, 0.08  # how far other shades are from the accent, and from the box


class Shades(NamedTuple):
    """Colours of one scheme, as rrggbb."""

    accent: str
    hover: str
    soft: str
    on_accent: str


class Palette(NamedTuple):
    """Colours made from a company's colour."""

    light: Shades
    dark: Shades


def build_palette(colour: str) -> Palette:
    """Return the colours for pages, made from a company's colour as rrggbb."""
    light = readable(colour, on=_LIGHT_GROUND, toward=_BLACK)
    dark = readable(colour, on=_DARK_GROUND, toward=_WHITE)
    return Palette(
        Shades(light, mixed(light, _BLACK, _HOVER), mixed(_LIGHT_BOX, light, _SOFT), _ON_LIGHT),
        Shades(dark, mixed(dark, _WHITE, _HOVER), mixed(_DARK_BOX, dark, _SOFT), _ON_DARK),
    )


def readable(colour: str, *, on: str, toward: str) -> str:
    """Return the nearest shade of a colour, toward another, whose letters can be read on a ground.

    Colours that can be read already stay as they are.
    """
    shades = (mixed(colour, toward, step / _STEPS) for step in range(_STEPS + 1))
    return next((shade for shade in shades if contrast(shade, on) >= LEAST_CONTRAST), toward)


def mixed(colour: str, other: str, share: float) -> str:
    """Return a colour with a share of another, from 0 to 1."""
    pairs = zip(_channels(colour), _channels(other), strict=True)
    return "".join(f"{round(own + (its - own) * share):02x}" for own, its in pairs)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from 1 to 21, as WCAG defines it."""
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(channel / 255) for channel in _channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(share: float) -> float:
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def _channels(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour))


def stylesheet(colour: str) -> str:
    """Return the CSS that puts a company's colour in the place of the site's accent."""
    light, dark = build_palette(colour)
    names = ("accent", "accent-hover", "accent-soft", "on-accent")
    pairs = zip(names, light, dark, strict=True)
    lines = [f"--{name}: light-dark(#{day}, #{night});" for name, day, night in pairs]
    return f"@layer tokens {{ :root {{ {' '.join(lines)} }} }}\n"
