"""Picture of a job that other sites show with its link: title, company and facts."""

from __future__ import annotations

from functools import cache
from io import BytesIO
from pathlib import Path
from threading import Lock

from django.conf import settings
from PIL import Image, ImageDraw, ImageFont

from pipeline.careers.colours import build_palette

WIDTH, HEIGHT = 1200, 630
_MARGIN, _LOGO = 80, 120
_TITLE_SIZE, _TEXT_SIZE = 72, 36
_TITLE_LINES, _LONGEST = 3, 120  # characters of a title that are measured
_INK, _SOFT, _GROUND = "#16161d", "#585966", "#ffffff"
_SITE_COLOUR = "4046d6"
_MISSING = "\U0010ffff"  # no font has it
# FreeType's faces are not for several threads at once.
_DRAWING = Lock()


def draw(
    *, title: str, company: str, facts: str, colour: str = "", logo: bytes | None = None
) -> bytes:
    """Return the picture as PNG, in the project's own font.

    Texts in scripts that the font lacks are left out: then there are only logo and colour.
    """
    accent = f"#{build_palette(colour or _SITE_COLOUR).light.accent}"
    with Image.new("RGB", (WIDTH, HEIGHT), _GROUND) as picture, _DRAWING:
        pen = ImageDraw.Draw(picture)
        pen.rectangle((0, 0, WIDTH, 16), fill=accent)
        top = _MARGIN
        if logo:
            top = _paste(picture, logo) + 40
        title_font, text_font = _font(_TITLE_SIZE, 600), _font(_TEXT_SIZE, 400)
        for line in _wrapped(_shown(title, title_font), title_font):
            pen.text((_MARGIN, top), line, font=title_font, fill=_INK)
            top += round(_TITLE_SIZE * 1.2)
        foot = HEIGHT - _MARGIN - _TEXT_SIZE
        for text, ink in ((_shown(facts, text_font), _SOFT), (_shown(company, text_font), accent)):
            if text:
                pen.text((_MARGIN, foot), _cut(text, text_font), font=text_font, fill=ink)
                foot -= round(_TEXT_SIZE * 1.4)
        written = BytesIO()
        picture.quantize(64).save(written, "PNG", optimize=True)
    return written.getvalue()


def _paste(picture: Image.Image, logo: bytes) -> int:
    """Put the logo on the picture, and return where it ends."""
    with Image.open(BytesIO(logo), formats=("PNG",)) as opened:
        shown = opened.convert("RGBA")
    shown.thumbnail((_LOGO * 4, _LOGO))
    picture.paste(shown, (_MARGIN, _MARGIN), shown)
    return _MARGIN + shown.height


@cache
def _font(size: int, weight: int) -> ImageFont.FreeTypeFont:
    [folder] = settings.STATICFILES_DIRS
    font = ImageFont.truetype(Path(folder, "font", "inter.woff2"), size)
    axes = font.get_variation_axes()
    font.set_variation_by_axes([weight for _axis in axes])  # it has one: the weight
    return font


@cache
def _unknown(font: ImageFont.FreeTypeFont) -> bytes:
    return bytes(font.getmask(_MISSING))


def _shown(text: str, font: ImageFont.FreeTypeFont) -> str:
    """Return a text in one line, or nothing if the font lacks one of its characters."""
    line = " ".join(text.split())[:_LONGEST]
    unknown = any(bytes(font.getmask(each)) == _unknown(font) for each in set(line) - {" "})
    return "" if unknown else line


def _wrapped(text: str, font: ImageFont.FreeTypeFont) -> list[str]:
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.getlength(longer) <= WIDTH - 2 * _MARGIN:
            lines[-1] = longer
        else:
            lines.append(_cut(word, font))
    if len(lines) > _TITLE_LINES:
        lines = [*lines[: _TITLE_LINES - 1], _cut(" ".join(lines[_TITLE_LINES - 1 :]), font)]
    return lines


def _cut(text: str, font: ImageFont.FreeTypeFont) -> str:
    """Return as much of a text as fits into one line."""
    if font.getlength(text) <= WIDTH - 2 * _MARGIN:
        return text
    while text and font.getlength(f"{text}…") > WIDTH - 2 * _MARGIN:
        text = text[:-1]
    return f"{text.rstrip()}…"
