"""Fields in a company's text: what is refused, with its place, and how they are filled in."""

from __future__ import annotations

import pytest

from pipeline.texts.fields import MOST_FIELDS, UnusableText, check, fill, greeted_name
from pipeline.wording.english import strip_isolates

KNOWN = ("name", "job", "company")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Hello {nme},", "Character 7: {nme} is not a field here. Use {name}."),
        ("Hello { Name },", "Character 7: { Name } is not a field here. Use {name}."),
        (
            "Dear {wage}",
            "Character 6: {wage} is not a field here. Use {name}, {job} and {company}.",
        ),
        (
            "Hello {name",
            "Character 7: { belongs to no field. Fields are written like {name}, {job} and"
            " {company}.",
        ),
        (
            "Hello {name},\n\nyou } rock",
            "Line 3, character 5: } belongs to no field. Fields are written like {name}, {job} and"
            " {company}.",
        ),
        (
            "{{name}}",
            "Character 1: { belongs to no field. Fields are written like {name}, {job} and"
            " {company}.",
        ),
        (
            "Hello {name.__class__}",
            "Character 7: {name.__class__} is not a field here. Use {name}, {job} and {company}.",
        ),
        (
            "{}",
            "Character 1: {} is not a field here. Use {name}, {job} and {company}.",
        ),
    ],
)
def test_an_unknown_or_unclosed_field_is_refused_with_its_place(text: str, why: str) -> None:
    with pytest.raises(UnusableText) as refused:
        check(text, KNOWN)

    assert str(refused.value) == why


def test_too_many_fields_are_refused() -> None:
    check("{job}" * MOST_FIELDS, KNOWN)

    with pytest.raises(UnusableText):
        check("{job}" * (MOST_FIELDS + 1), KNOWN)


def test_what_is_filled_in_is_not_read_again() -> None:
    values = {"name": "{company}", "job": "{job}", "company": "Acme"}

    assert fill("{name} / {job} / {company}", values) == "{company} / {job} / Acme"


def test_only_a_name_is_greeted() -> None:
    assert greeted_name("Ana Li") == "Ana Li"
    assert greeted_name("Win at example.com") == ""
    assert greeted_name("A" * 61) == ""
    assert greeted_name("Ana\u200cexample.com") == ""
    assert greeted_name("J. R. Smith") == "J. R. Smith"


@pytest.mark.parametrize(
    "name",
    [
        "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627",
        "\u05e9\u05c2\u05b8\u05e8\u05b8\u05d4",
        "\u0915\u0940\u0930\u094d\u0924\u093f",
        "\u0e2a\u0e21\u0e28\u0e31\u0e01\u0e14\u0e34\u0e4c",
        "\u30a2\u30ca\u30fb\u30ea\u30fc",
        "Marc-Andr\u00e9 O\u2019Neil",
        "Gal\u00b7la",
    ],
)
def test_names_of_any_script_are_greeted(name: str) -> None:
    assert strip_isolates(greeted_name(name)) == name
