"""Every string of the templates is marked, and the catalogues fit the strings of the sources."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from django.template.base import DebugLexer, TokenType

from pipeline.config import languages
from pipeline.management import translations
from tests.support.environment import ROOT
from tests.support.pseudo_language import left_over, untranslated

TEMPLATES = ROOT / "templates"
# For developers, and pages about the API, which are in English for everyone.
IN_ENGLISH = ("dev/", "api/docs.html", "api/problem")
OTHERS = [code for code in languages.NAMES if code != languages.SOURCE]
# Words of a template's own language, in which a string can hide.
_WORDS_IN_TAG = re.compile(
    r"""(?:\w=|\|(?:default|default_if_none|yesno|add|pluralize):)(["'])(.*?)\1"""
)
_OPENS, _CLOSES = (
    ("blocktranslate", "blocktrans", "comment"),
    ("endblocktranslate", "endblocktrans", "endcomment"),
)
# Tags of which no argument is read by people.
_OF_CODE = {
    "url",
    "static",
    "load",
    "extends",
    "block",
    "endblock",
    "heroicon_outline",
    "if",
    "elif",
    "chip",
    "cache",
}
# Blocks that fill an attribute that no reader sees.
_OPENS_CODE = ("block referrer", "block kind")


def unmarked(text: str) -> list[str]:
    """Return the texts of a template that people read and that are not marked."""
    html, found, is_inside, is_code = [], [], False, False
    for token in DebugLexer(text).tokenize():
        if token.token_type == TokenType.BLOCK:
            name = token.contents.split()[0]
            is_code = (is_code or token.contents in _OPENS_CODE) and name != "endblock"
            is_inside = (is_inside or name in _OPENS) and name not in _CLOSES
            if not is_inside and name not in (*_OF_CODE, "translate", "trans", *_CLOSES):
                found += _words_of_tag(token.contents)
        elif token.token_type == TokenType.VAR and not is_inside:
            found += _words_of_tag(token.contents)
        elif token.token_type == TokenType.TEXT and not is_inside and not is_code:
            html.append(token.contents)
    return untranslated("".join(html)) + found


def _words_of_tag(contents: str) -> list[str]:
    """Return the sentences and capitalised words among the arguments of a tag or a filter."""
    given = [match[2] for match in _WORDS_IN_TAG.finditer(re.sub(r"_\(.*?\)", "", contents))]
    return [
        each
        for each in given
        if re.search(r"[A-Za-z] [A-Za-z]|^[A-Z][a-z]", each) and left_over(each)
    ]


_MESSAGES = re.compile(r"{%\s*blocktranslate\b[^%]*%}(.*?){%\s*endblocktranslate", re.S)


def places_with_filters(text: str) -> list[str]:
    """Return the places within messages of a template that have a filter, and so stay empty."""
    return [
        each for said in _MESSAGES.findall(text) for each in re.findall(r"{{[^}]*\|[^}]*}}", said)
    ]


def test_no_place_within_a_message_has_a_filter() -> None:
    found = {str(path): places_with_filters(path.read_text()) for path in TEMPLATES.rglob("*.html")}
    control = "{% blocktranslate with a=b|bdi %}{{ a }} {{ tag|bdi }}{% endblocktranslate %}"

    assert {path: places for path, places in found.items() if places} == {}
    assert places_with_filters(control) == ["{{ tag|bdi }}"]


def test_every_text_of_a_template_is_marked() -> None:
    found = {}
    for path in sorted(TEMPLATES.rglob("*.html")):
        name = path.relative_to(TEMPLATES).as_posix()
        if not name.startswith(IN_ENGLISH) and (texts := unmarked(path.read_text())):
            found[name] = texts

    if found:
        pytest.fail("\n".join(f"{name}: {text}" for name in found for text in found[name]))


@pytest.mark.parametrize(
    ("template", "texts"),
    [
        ("<p>Open jobs</p>", ["Open jobs"]),
        ('<a href="/x" aria-label="Go on">{{ name }}</a>', ["Go on"]),
        ('<p>{% if a %}Yes, we do{% else %}{% translate "No" %}{% endif %}</p>', ["Yes, we do"]),
        ('{% include "x.html" with title="No jobs" %}', ["No jobs"]),
        ('<p>{{ name|default:"a former member" }}</p>', ["a former member"]),
        ('<p>{% translate "Open jobs" %}</p>', []),
        (
            "<p>{% blocktranslate %}{{ n }} jobs{% plural %}{{ n }} job{% endblocktranslate %}</p>",
            [],
        ),
        ("<p title=\"{% translate 'Go' %}\"><code>not words</code> {{ x }} · 12</p>", []),
        ('<p lang="en">The text of the licence</p>', []),
    ],
)
def test_a_text_that_is_not_marked_is_found(template: str, texts: list[str]) -> None:
    assert unmarked(template) == texts


@pytest.mark.parametrize("language", languages.OFFERED)
def test_a_language_that_is_offered_is_complete_and_without_faults(language: str) -> None:
    if language != languages.SOURCE:
        assert translations.progress_of(language).missing == ()
        assert translations.faults_of(language) == []


@pytest.mark.parametrize("language", OTHERS)
def test_a_catalogue_holds_no_translation_with_a_fault(language: str) -> None:
    found = [
        f"{message.id!r}: {fault}"
        for message in translations.read(language)
        if message.id and any(translations.forms_of(message))
        for fault in translations.faults_in(message, language)
    ]

    assert found == []


SEAT = "%(company)s offers <b>%(seat)s</b>."
PEOPLE = ("%(count)s person", "%(count)s people")


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (Message(SEAT, "%(company)s bietet <b>%(seat)s</b>."), ""),
        (Message(SEAT, ""), "it is not translated"),
        (Message(SEAT, "x <b>%(seat)s</b>."), "it leaves out %(company)s"),
        (
            Message(SEAT, "%(company)s %(platz)s <b>%(seat)s</b>."),
            "it has places that the original",
        ),
        (Message(SEAT, "%(company)s bietet %(seat)s."), "its elements differ"),
        (Message(SEAT, " %(company)s bietet <b>%(seat)s</b>."), "the blanks at its beginning"),
        (Message(SEAT, "%(company)s <b>%(seat)s</b>.", flags=["fuzzy"]), "it is fuzzy"),
        (Message("{name} waits", "{Name} wartet"), "it has places"),
        (Message(PEOPLE, ("%(count)s Person", "%(count)s Personen")), ""),
        (Message(PEOPLE, ("eine Person", "%(count)s Personen")), ""),
        (Message(PEOPLE, ("%(count)s Person", "Personen")), "it leaves out %(count)s"),
        (Message(PEOPLE, ("%(count)s Person",)), "it has 1 plural forms instead of 2"),
    ],
)
def test_a_fault_of_a_translation_is_found(message: Message, fault: str) -> None:
    found = list(translations.faults_in(message, "de"))

    assert found[0].startswith(fault) if fault else found == []


def test_words_with_two_meanings_say_which_is_meant() -> None:
    """A place is where one stands in line, or works; one writes to people, and presses to do."""
    vague = {"Place", "To", "From"}

    found = [
        (each.id, each.context)
        for each in translations.extract_source()
        if each.id in vague and each.context in (None, "label")
    ]

    assert found == []


def test_plural_forms_are_those_of_the_language() -> None:
    polish = [translations.form_of("pl", number) for number in (1, 2, 5, 12, 22, 25)]
    arabic = [translations.form_of("ar", number) for number in (0, 1, 2, 3, 11, 100)]

    assert polish == [0, 1, 2, 2, 1, 2]
    assert arabic == [0, 1, 2, 3, 4, 5]


def test_refreshing_a_catalogue_twice_changes_nothing_and_keeps_translations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translations, "FOLDER", tmp_path)
    translations.update("de")
    path = translations.path_of("de")
    filled = path.read_text().replace(
        'msgid "Accessibility"\nmsgstr ""', 'msgid "Accessibility"\nmsgstr "Zugang"'
    )
    path.write_text(filled + '\n#~ msgid "Gone"\n#~ msgstr "Weg"\n')

    changed = [translations.update("de"), translations.update("de")]

    assert changed == [True, False]
    assert path.read_text() == filled
    assert "POT-Creation-Date" not in filled
    assert not re.search(r"^#: .*:\d", filled, re.MULTILINE)
