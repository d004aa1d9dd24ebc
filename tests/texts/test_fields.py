"""Fields in a company's text: what is refused, with its place, and how they are filled in."""

from __future__ import annotations

import pytest

from pipeline.texts.fields import MOST_FIELDS, UnusableText, check, fill, greeted_name

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
