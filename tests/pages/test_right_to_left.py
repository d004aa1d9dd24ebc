"""Pages, emails and pictures in languages that are read from right to left."""

from __future__ import annotations

import re

import pytest
from django.template import Context, Engine, Template
from django.utils.translation import override

from pipeline.notifications.devices import LONGEST_JOB_TITLE, short_title
from pipeline.wording.english import isolated, strip_isolates, subject_line
from tests.house.files import name_of
from tests.support.environment import ROOT

HEBREW = "\u05e9\u05e8\u05d4"
SIDES = r"(?:(?:margin|padding|border|scroll-margin|scroll-padding)-)?(?:left|right)(?:-[a-z]+)?"
# Properties that name a side of the screen, values that do, and shorthands whose two sides differ.
SIDED = re.compile(
    rf"(?<![\w-])(?:{SIDES}|border-(?:top|bottom)-(?:left|right)-radius)\s*:"
    r"|(?<![\w-])(?:text-align|float|clear|background-position|justify-[a-z]+)\s*:\s*(?:left|right)\b"
    r"|\bto (?:left|right)\b"
)
MOVED = re.compile(
    r"translateX\(|translate:\s*-?[1-9.]|scaleX\(|rotate:\s*-?(?!90deg|180deg|0)[0-9]"
    r"|box-shadow:\s*(?:inset )?-?[1-9]"
)
FOUR = re.compile(r"(?<![\w-])(?:margin|padding|inset|border-width|border-radius)\s*:\s*([^;}]+)")


def one_sided(sheet: str) -> list[str]:
    """Return the declarations of a style sheet that keep their side from right to left.

    What moves sideways may, if the same line has a rule for the other direction, or it is for
    charts and arrows that stay.
    """
    found = []
    for line in re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL).splitlines():
        found += [each[0] for each in SIDED.finditer(line)]
        for values in FOUR.findall(line):
            sides = re.sub(r"\([^()]*(?:\([^()]*\))*[^()]*\)", "()", values).split()
            if len(sides) == 4 and sides[1] != sides[3]:
                found.append(values)
        if MOVED.search(line) and '[dir="rtl"]' not in line:
            found += [each[0] for each in MOVED.finditer(line)]
    return found


# Time runs to the right in charts, whose direction is fixed, and the others stand upright in both
# directions: an arrow upwards, and what the next line turns round.
STAY = {
    ("charts.css", "translateX("),
    ("company.css", "1px 0 0 1px"),
    ("company.css", "rotate: 4"),
    ("applicant.css", "translate: -5"),
    ("applicant.css", "rotate: 4"),
    ("applicant.css", "rotate: 2"),
    # The arrow of a fold, drawn as two edges of a box: one rule turns it, for each direction.
    ("parts.css", "0 1.5px 1.5px 0"),
    ("parts.css", "rotate: -4"),
    ("parts.css", "rotate: 4"),
}


def test_no_style_sheet_names_a_side_of_the_screen() -> None:
    sheets = sorted((ROOT / "static" / "css").glob("*.css"))

    found = {(sheet.name, each) for sheet in sheets for each in one_sided(sheet.read_text())}

    assert sheets
    assert found == STAY


@pytest.mark.parametrize(
    ("sheet", "found"),
    [
        (".a { margin-left: 1px; }", 1),
        (".a { left: 0; right: auto; }", 2),
        (".a { text-align: right; }", 1),
        (".a { padding: 1px 2px 3px 4px; }", 1),
        (".a { border-top-left-radius: 1px; }", 1),
        (".a { box-shadow: inset 3px 0 red; }", 1),
        (".a { background: linear-gradient(to left, red, blue); }", 1),
        (".a { padding: 1px 2px 3px calc(2px * 1); margin-inline: 0 1px; }", 1),
        (".a { padding: 1px 2px 3px; box-shadow: 0 0 0 1px red; text-align: start; }", 0),
        ('.a { box-shadow: inset 3px 0 red; } [dir="rtl"] .a { box-shadow: inset -3px 0 red; }', 0),
    ],
)
def test_a_declaration_for_one_side_is_found(sheet: str, found: int) -> None:
    assert len(one_sided(sheet)) == found


@pytest.mark.parametrize(
    ("icon", "turns"),
    [
        ("chevron-right", True),
        ("chevron-double-left", True),
        ("arrow-uturn-left", True),
        ("arrow-right", True),
        ("paper-airplane", True),
        ("chevron-down", False),
        ("arrow-path", False),
        ("chat-bubble-left-right", False),
        ("clock", False),
        ("play", False),
    ],
)
def test_only_icons_that_point_somewhere_turn_round(icon: str, turns: bool) -> None:
    shown = Template(f'{{% heroicon_outline "{icon}" size=18 %}}').render(Context())

    assert 'width="18"' in shown
    assert ('class="turns"' in shown) is turns


def test_every_icon_of_a_template_is_of_our_own_tags() -> None:
    files = sorted((ROOT / "templates").rglob("*.html"))

    loaded = [
        name_of(file) for file in files if re.search(r"load [^%]*heroicons", file.read_text())
    ]

    assert files
    assert loaded == []


@pytest.mark.parametrize(
    ("language", "name", "html", "text"),
    [
        ("en", "C++", "C++", "C++"),
        ("en", HEBREW, f"<bdi>{HEBREW}</bdi>", f"\u2068{HEBREW}\u2069"),
        ("ar", "C++", "<bdi>C++</bdi>", "\u2068C++\u2069"),
        ("ar", "Bo \u202egnieR", "<bdi>Bo gnieR</bdi>", "\u2068Bo gnieR\u2069"),
        ("ar", "", "", ""),
    ],
)
def test_a_name_is_set_apart_where_it_could_reorder_words(
    language: str, name: str, html: str, text: str
) -> None:
    engine = Engine(libraries={"line": "pipeline.templatetags.line"}, builtins=[])
    template = engine.from_string("{% load line %}{{ name|bdi }}")

    with override(language):
        assert template.render(Context({"name": name})) == html
        assert isolated(name) == text


def test_a_subject_keeps_names_apart_only_between_words_from_right_to_left() -> None:
    with override("en"):
        assert subject_line(f"A  seat: {isolated(HEBREW)}") == f"A seat: {HEBREW}"
    with override("ar"):
        assert subject_line(f"\u0645\u0642\u0639\u062f: {isolated('C++')}") == (
            "\u0645\u0642\u0639\u062f: \u2068C++\u2069"
        )


def test_a_long_title_on_a_device_is_cut_inside_of_its_isolates() -> None:
    cut = short_title(HEBREW * 100)

    assert cut.startswith("\u2068")
    assert cut.endswith("…\u2069")
    assert len(strip_isolates(cut)) == LONGEST_JOB_TITLE


# Attributes of pictures that are numbers. Many languages write them with a comma, which separates
# the numbers of a list here.
NUMBER = re.compile(
    r"\b(?:x|y|x1|x2|y1|y2|cx|cy|r|rx|ry|d|width|height|viewBox|transform|points|stroke-dasharray)"
    r'="([^"]*{{[^"]*)"'
)
UNLOCALIZED = re.compile(r"{% localize off %}.*?{% endlocalize %}", re.DOTALL)


def localized_numbers(template: str) -> list[str]:
    """Return the numbers of pictures that a template writes as the reader's language does."""
    return [
        value
        for value in NUMBER.findall(UNLOCALIZED.sub("", template))
        if any("|unlocalize" not in each for each in re.findall("{{(.*?)}}", value))
    ]


def test_pictures_are_drawn_with_the_same_numbers_in_every_language() -> None:
    files = sorted((ROOT / "templates").rglob("*.html"))

    found = {
        (name_of(file), each) for file in files for each in localized_numbers(file.read_text())
    }

    assert files
    assert {each for _name, each in found} == {
        "0 0 {{ job.capacity }} 1",  # whole numbers
        "{{ job.capacity }}",
        "{{ taken }}",
    }


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ('<rect x="{{ bar.x }}"/>', ["{{ bar.x }}"]),
        ('<rect x="{{ bar.x|unlocalize }}" y="3"/>', []),
        ('{% localize off %}<rect x="{{ bar.x }}"/>{% endlocalize %}', []),
    ],
)
def test_a_number_of_a_picture_in_the_language_of_the_reader_is_found(
    template: str, found: list[str]
) -> None:
    assert localized_numbers(template) == found
