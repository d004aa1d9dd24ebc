"""Template tags of the parts that pages are put together from: people, seats, bars, menus."""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Sequence

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from heroicons.templatetags import heroicons

from jobs.models import User
from pipeline.wording.english import strip_reordering

TINTS = ("one", "two", "three", "four", "five")
SHOWN_SIDE = 36  # of a picture of staff; the style sheet makes it smaller
MOST_SEAT_DOTS = 12  # words beside them say how many there are
SPARK_WIDTH, SPARK_HEIGHT, SPARK_EDGE = 104, 40, 4

APOSTROPHES = "'\u2018\u2019\u02bb\u02bc\u02be\u02bf"  # a name can begin with one
VIRAMA = 9  # its combining class
# Icons that point forwards or backwards. From right to left, the style sheet turns them round.
POINTING = re.compile(r"(arrow|chevron)-(.+-)?(left|right)(-.+)?|paper-airplane")

register = template.Library()


@register.simple_tag(name="heroicon_outline")
def tag_outlined_icon(name: str, *, size: int = 24) -> str:
    """Return an icon in outlines, as the library does."""
    return heroicons.heroicon_outline(name, size=size, **_pointing(name))


def _pointing(icon: str) -> dict[str, str]:
    return {"class": "turns"} if POINTING.fullmatch(icon) else {}


@register.simple_tag(name="avatar")
def tag_avatar(name: object, kind: str = "") -> SafeString:
    """Return a circle with a person's initials, for beside their name.

    `kind` is large, or me for the reader. The same name always has the same tint, which has no
    meaning.
    """
    plain = strip_reordering(str(name))
    tint = TINTS[zlib.crc32(plain.casefold().encode()) % len(TINTS)]
    return format_html(
        '<span class="avatar {}{}" aria-hidden="true">{}</span>',
        tint,
        f" {kind}" if kind else "",
        find_initials(plain),
    )


@register.simple_tag(name="staff_avatar")
def tag_staff_avatar(user: User | None, kind: str = "") -> SafeString:
    """Return the circle of a member of the team: the picture if they have one, over the initials.

    Only for pages of the company: others cannot load the picture. `kind` as in `avatar`. Nothing
    for an account that is gone.
    """
    if user is None:
        return SafeString("")
    circle = tag_avatar(user.shown_name, kind)
    if not user.picture_digest:
        return circle
    address = reverse("colleague_picture", args=[user.id, user.picture_digest])
    picture = format_html(
        '<img src="{}" alt="" width="{}" height="{}" loading="lazy" decoding="async">',
        *(address, SHOWN_SIDE, SHOWN_SIDE),
    )
    return SafeString(circle.replace("</span>", f"{picture}</span>"))


def find_initials(name: str) -> str:
    """Return the initials of a name's first and last word, or its first letter, or nothing.

    Only scripts with capital letters have initials: in others one letter stands alone.
    """
    words = [word.lstrip(APOSTROPHES) for word in unicodedata.normalize("NFC", name).split()]
    words = [word for word in words if word[:1].isalpha()]
    if not words:
        return ""
    first, last = _first_letter(words[0]), _first_letter(words[-1])
    has_capitals = first[0].isupper() and last[0].isupper()
    return first + last if has_capitals and len(words) > 1 else first


def _first_letter(word: str) -> str:
    """Return a word's first letter as a capital, with the marks that belong to it.

    In scripts of India, a virama binds the next letter to it, too.
    """
    marks = 1
    while marks < len(word) and (
        unicodedata.category(word[marks]).startswith("M")
        or (unicodedata.combining(word[marks - 1]) == VIRAMA and word[marks].isalpha())
    ):
        marks += 1
    return word[0].title()[0] + word[1:marks]


@register.simple_tag(name="seat_dots")
def tag_seat_dots(taken: int = 0, offered: int = 0, free: int = 0) -> SafeString:
    """Return seats as small squares. Words beside them have to say the same."""
    kinds = ["taken"] * taken + ["offered"] * offered + ["free"] * free
    squares = format_html_join(
        "", '<i class="{}"></i>', ((kind,) for kind in kinds[-MOST_SEAT_DOTS:])
    )
    return format_html('<span class="seat-dots" aria-hidden="true">{}</span>', squares)


@register.simple_tag(name="meter")
def tag_meter(share: float, tone: str = "") -> SafeString:
    """Return a bar that is filled by a share from 0 to 1. Words beside it have to say the same."""
    used = min(1.0, max(0.0, float(share)))
    return format_html(
        '<svg class="meter{}" aria-hidden="true" focusable="false">'
        '<rect class="all" width="100%" height="100%"/>'
        '<rect class="used" width="{}%" height="100%" rx="2"/></svg>',
        f" {tone}" if tone else "",
        f"{used * 100:.4g}",
    )


@register.simple_tag(name="sparkline")
def tag_sparkline(values: Sequence[float], label: str) -> SafeString | str:
    """Return a line of numbers over time, from 0 up, named by its label and all its numbers.

    Fewer than two numbers make no line.
    """
    if len(values) < 2:
        return ""
    highest = max(*values, 1)
    high = SPARK_HEIGHT - 2 * SPARK_EDGE
    wide = SPARK_WIDTH - 2 * SPARK_EDGE
    points = [
        (
            round(SPARK_EDGE + index * wide / (len(values) - 1), 1),
            round(SPARK_EDGE + (1 - value / highest) * high, 1),
        )
        for index, value in enumerate(values)
    ]
    path = "M" + "L".join(f"{x:g} {y:g}" for x, y in points)
    last_x, last_y = points[-1]
    return format_html(
        '<svg class="sparkline" viewBox="0 0 {} {}" role="img" aria-label="{}" focusable="false">'
        '<path class="under" d="{}V{}H{}Z"/><path class="path" d="{}"/>'
        '<circle class="last" cx="{}" cy="{}" r="3.5"/></svg>',
        SPARK_WIDTH,
        SPARK_HEIGHT,
        f"{label}: {', '.join(f'{value:,}' for value in values)}",
        path,
        SPARK_HEIGHT - SPARK_EDGE,
        SPARK_EDGE,
        path,
        last_x,
        last_y,
    )


@register.simple_tag(name="skeleton")
def tag_skeleton(rows: int = 5) -> SafeString:
    """Return grey rows in place of what is still loading, inside of an `aria-busy` element."""
    return format_html(
        '<div class="skeleton" aria-hidden="true">{}</div>', SafeString("<i></i>" * rows)
    )


@register.simple_block_tag(name="menu")
def tag_menu(content: SafeString, label: str, kind: str = "") -> SafeString:
    """Return a button that opens what is inside of the block. It needs no script.

    `kind` is quiet, or dots for a button without words, named by its label.
    """
    if kind == "dots":
        dots = SafeString(heroicons.heroicon_outline("ellipsis-horizontal", size=20))
        summary = format_html('<summary class="btn icon" aria-label="{}">{}</summary>', label, dots)
    else:
        arrow = SafeString(heroicons.heroicon_outline("chevron-down", size=16))
        words = f"btn {kind}".strip()
        summary = format_html('<summary class="{}">{}{}</summary>', words, label, arrow)
    return format_html(
        '<details class="menu">{}<div class="menu-items">{}</div></details>', summary, content
    )
