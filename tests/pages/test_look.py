"""The parts of pages that template tags draw: initials, bars, lines of numbers, menus."""

from __future__ import annotations

import re

import pytest
from django import forms
from django.template import Context, Template

from pipeline.pages.company.review import MarkForm
from pipeline.pages.gallery import NAMES
from pipeline.templatetags.look import (
    MOST_SEAT_DOTS,
    TINTS,
    find_initials,
    tag_avatar,
    tag_meter,
    tag_seat_dots,
    tag_sparkline,
)


@pytest.mark.parametrize(
    ("name", "initials"),
    [
        ("Femi Demir", "FD"),
        ("wilhelmina von und zu hohenlohe", "WH"),
        ("Élodie de la Tour", "ÉT"),
        ("E\u0301lodie de la Tour", "ÉT"),
        ("Δήμητρα Παππά", "ΔΠ"),
        ("Ana", "A"),
        ("ines@example.org", "I"),
        ("Femi Demir (she/her)", "FD"),
        ("王小明", "王"),
        ("محمد علي", "م"),
        ("अनिता देवी", "अ"),
        ("कीर्ति", "की"),
        ("क्षमा शर्मा", "क्ष"),
        ("\u0639\u0644\u06cc\u200c\u0631\u0636\u0627", "\u0639"),
        ("小龍", "小"),
        ("\u1100\u1175\u11b7", "김"),
        ("\U0001f469\u200d\U0001f373 Chef", "C"),
        ("Ana de la Cruz", "AC"),
        ("de la Cruz", "DC"),
        ("Gerard ’t Hooft", "GH"),
        ("’t Hooft", "TH"),
        ("\u02bbAna Li", "AL"),
        ("ßen", "S"),
        ("+49 170 000000", ""),
        ("🚀", ""),
        ("", ""),
    ],
)
def test_names_of_any_script_have_initials(name: str, initials: str) -> None:
    assert find_initials(name) == initials


def test_a_person_always_has_the_same_tint_and_each_tint_is_used() -> None:
    tints = {tint for name in NAMES for tint in TINTS if f"avatar {tint}" in tag_avatar(name)}

    assert tag_avatar("Ana Li") == tag_avatar("ana li".title())
    assert tints == set(TINTS)


def test_an_avatar_says_nothing_beside_the_name() -> None:
    shown = tag_avatar("\u202e<b>ad Li", "large")

    assert 'aria-hidden="true"' in shown
    assert "<b>" not in shown
    assert " large" in shown


@pytest.mark.parametrize(("share", "width"), [(-1, "0"), (0.254, "25.4"), (7, "100")])
def test_a_bar_is_never_fuller_than_full(share: float, width: str) -> None:
    assert f'class="used" width="{width}%"' in tag_meter(share, "warn")


def test_a_sparkline_says_all_its_numbers() -> None:
    drawn = tag_sparkline([0, 5, 1_000], label="Waiting, last 3 days")

    assert 'role="img" aria-label="Waiting, last 3 days: 0, 5, 1,000"' in drawn
    path = re.search(r'class="path" d="([^"]+)"', drawn)
    assert path
    assert path[1] == "M4 36L52 35.8L100 4"


@pytest.mark.parametrize("values", [[], [3]])
def test_one_number_makes_no_line(values: list[int]) -> None:
    assert tag_sparkline(values, label="Waiting") == ""


def test_the_seats_of_a_large_job_stay_in_a_row_and_show_what_is_free() -> None:
    drawn = tag_seat_dots(taken=500, offered=1, free=2)

    assert drawn.count("<i ") == MOST_SEAT_DOTS
    assert drawn.count('"free"') == 2


def test_a_menu_needs_no_script_and_its_dots_have_a_name() -> None:
    menu = '{% menu "More" "dots" %}<a class="menu-item" href="/">{{ job }}</a>{% endmenu %}'

    shown = Template(menu).render(Context({"job": "<Night watch>"}))

    assert shown.startswith('<details class="menu"><summary class="btn icon" aria-label="More">')
    assert '<a class="menu-item" href="/">&lt;Night watch&gt;</a></div></details>' in shown


def test_no_field_is_called_invalid_before_anybody_has_answered() -> None:
    mark, name = str(MarkForm()["mark"]), str(MarkForm(own={"name": forms.CharField()})["name"])

    assert "required" not in mark
    assert 'aria-required="true"' in name
    assert " required" not in name
