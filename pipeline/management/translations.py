"""Catalogues of translations: made from the marked strings of the sources, counted and checked.

The sources are read by Babel and by Django's reader of templates, so nothing else need be
installed. A catalogue is written the same way each time: sorted, with the files of each string but
no lines of theirs, and without dates, so that two people's changes meet without conflicts.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from gettext import c2py
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po
from django.utils.translation import templatize, to_locale

from pipeline.config import env, languages

ROOT = env.BASE_DIR
FOLDER = ROOT / "locale"
PACKAGES = ("applicants", "jobs", "pipeline", "tasks")
TEMPLATES = ROOT / "templates"
NOT_TRANSLATED = TEMPLATES / "dev"  # for developers
COMMENTS = ["Translators:"]
WIDTH = 100
KEYWORDS: dict[str, tuple[int | tuple[int, str], ...] | None] = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
    "npgettext_lazy": ((1, "c"), 2, 3),
}
_TWO, _MORE_THAN_ONE = "nplurals=2; plural=(n != 1);", "nplurals=2; plural=(n > 1);"
_SLAVIC = "nplurals=3; plural=({one} ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);"
PLURALS = {
    "de": _TWO,
    "es": _TWO,
    "fr": _MORE_THAN_ONE,
    "pt-br": _MORE_THAN_ONE,
    "tr": _MORE_THAN_ONE,
    "pl": _SLAVIC.format(one="n==1"),
    "uk": _SLAVIC.format(one="n%10==1 && n%100!=11"),
    "ar": (
        "nplurals=6; plural=(n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 :"
        " n%100>=11 ? 4 : 5);"
    ),
    "zh-hans": "nplurals=1; plural=0;",
}
_HEADER = """\
# {name}. CONTRIBUTING.md says how to add a language.
msgid ""
msgstr ""
"Project-Id-Version: Next in Line\\n"
"Language: {locale}\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: {plurals}\\n"

"""


def path_of(language: str) -> Path:
    """Return the file of a language's catalogue."""
    return FOLDER / to_locale(language) / "LC_MESSAGES" / "django.po"


@cache
def extract_source() -> Catalog:
    """Return the marked strings of the sources, without translations."""
    found = Catalog(charset="utf-8")
    for path in _sources():
        name = path.relative_to(ROOT).as_posix()
        for _line, message, comments, context in _strings_in(path):
            found.add(
                message,
                locations=[(name, 0)],
                auto_comments=[" ".join(each.split()) for each in comments],
                context=context,
            )
    for each in found:
        if each.id:
            each.locations = sorted(set(each.locations))
    return found


def _sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted(path for path in (ROOT / package).rglob("*.py"))
    for path in sorted(TEMPLATES.rglob("*.*")):
        if path.suffix in (".html", ".txt") and NOT_TRANSLATED not in path.parents:
            yield path


def _strings_in(path: Path) -> Iterable[tuple[int, str | tuple[str, ...], list[str], str | None]]:
    text = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        # As Python without indentation, in which only the marked strings are left.
        lines = templatize(text, origin=str(path)).splitlines()
        text = "\n".join(line.lstrip() for line in lines)
    source = io.BytesIO(text.encode())
    options = {"encoding": "utf-8"}
    return extract("python", source, KEYWORDS, COMMENTS, options, strip_comment_tags=True)


def read(language: str) -> Catalog:
    """Return a language's catalogue as its file has it; an empty one if there is none yet."""
    path = path_of(language)
    if not path.exists():
        return Catalog(locale=to_locale(language), charset="utf-8")
    with path.open("rb") as file:
        return read_po(file, locale=to_locale(language))


def updated_text(language: str) -> str:
    """Return a language's catalogue, with the strings of the sources as they are now, as text."""
    catalogue = read(language)
    old = {(each.context, each.id): each.string for each in catalogue if each.id}
    new = Catalog(locale=to_locale(language), charset="utf-8")
    new.mime_headers = [("Plural-Forms", PLURALS[language])]
    forms = number_of_plurals(language)
    for each in extract_source():
        if not each.id:
            continue
        empty = ("",) * forms if each.pluralizable else ""
        new.add(
            each.id,
            old.get((each.context, each.id), empty),
            locations=each.locations,
            auto_comments=each.auto_comments,
            context=each.context,
        )
    written = io.BytesIO()
    write_po(written, new, WIDTH, omit_header=True, sort_output=True, include_lineno=False)
    head = {"name": languages.NAMES[language], "locale": to_locale(language)}
    return _HEADER.format(**head, plurals=PLURALS[language]) + written.getvalue().decode()


def update(language: str) -> bool:
    """Bring a language's file up to date with the sources; tell whether it changed."""
    path, text = path_of(language), updated_text(language)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return True


@dataclass(frozen=True, slots=True)
class Progress:
    """State of a language. `words`: those of the English strings that are still to translate."""

    translated: int
    missing: tuple[str, ...]
    fuzzy: int
    words: int

    @property
    def is_complete(self) -> bool:
        """Tell whether the language can be offered."""
        return not self.missing and not self.fuzzy


def progress_of(language: str) -> Progress:
    """Compare a language's catalogue with the strings of the sources."""
    catalogue = {(each.context, each.id): each for each in read(language) if each.id}
    missing, fuzzy, translated = [], 0, 0
    for each in extract_source():
        if not each.id:
            continue
        known = catalogue.get((each.context, each.id))
        if known is None or not all(forms_of(known)):
            missing.append(each.id if isinstance(each.id, str) else each.id[1])
        elif known.fuzzy:
            fuzzy += 1
        else:
            translated += 1
    words = sum(len(text.split()) for text in missing)
    return Progress(translated, tuple(missing), fuzzy, words)


# Checks of a catalogue.


_PLACE = re.compile(r"%\((\w+)\)[a-z]|%([sd])|\{(\w*)[^{}]*\}")
_TAG = re.compile(r"</?[a-zA-Z][^>]*>")
MOST_TRIED = 200  # numbers, to find the forms for a single one


def number_of_plurals(language: str) -> int:
    """Return how many plural forms a language has."""
    return int(PLURALS[language].partition("nplurals=")[2].partition(";")[0])


def faults_of(language: str) -> list[str]:
    """Return what is wrong with a catalogue: outdated, fuzzy, or other places, tags or blanks."""
    path = path_of(language)
    if not path.exists():
        return [f"{path.name} is missing"]
    faults = []
    if path.read_text(encoding="utf-8") != updated_text(language):
        faults.append("The file is not what `manage.py translations --update` writes.")
    for each in read(language):
        if each.id:
            faults += [f"{_named(each)}: {why}" for why in faults_in(each, language)]
    return faults


def faults_in(message: Message, language: str) -> Iterator[str]:
    """Yield what is wrong with one translation."""
    if message.fuzzy:
        yield "it is fuzzy"
    forms = forms_of(message)
    if not all(forms):
        yield "it is not translated"
        return
    originals = tuple(message.id) if isinstance(message.id, list | tuple) else (message.id,)
    if len(originals) == 2 and len(forms) != number_of_plurals(language):
        yield f"it has {len(forms)} plural forms instead of {number_of_plurals(language)}"
        return
    for number, form in enumerate(forms):
        yield from _faults_of_form(originals, form, may_omit=_is_of_one_number(language, number))


def _faults_of_form(originals: tuple[str, ...], form: str, *, may_omit: bool) -> Iterator[str]:
    original = originals[-1]
    wanted, given = _places(original), _places(form)
    left_out = wanted - given
    if given - wanted:
        yield f"it has places that the original has not: {_listed(given - wanted)}"
    # "One person" needs no number, where the form is for that number alone.
    if left_out and not (len(originals) == 2 and may_omit and left_out.total() == 1):
        yield f"it leaves out {_listed(left_out)}"
    if _tags(original) != _tags(form):
        yield f"its elements differ: {_listed(_tags(original))} / {_listed(_tags(form))}"
    if _blanks(original) != _blanks(form):
        yield "the blanks at its beginning or end differ"


def forms_of(message: Message) -> tuple[str, ...]:
    """Return the plural forms of a translation, or the only one."""
    given = message.string
    return tuple(given) if isinstance(given, list | tuple) else (str(given or ""),)


def _places(text: str) -> Counter[str]:
    return Counter({found[0] for found in _PLACE.finditer(text.replace("%%", ""))})


def _tags(text: str) -> Counter[str]:
    return Counter(_TAG.findall(text))


def _blanks(text: str) -> tuple[bool, bool]:
    return text[:1].isspace(), text[-1:].isspace()


def _listed(found: Counter[str]) -> str:
    return ", ".join(sorted(found)) or "none"


def _named(message: Message) -> str:
    text = message.id if isinstance(message.id, str) else message.id[0]
    return repr(text if len(text) < 60 else f"{text[:57]}…")


@cache
def _is_of_one_number(language: str, form: int) -> bool:
    """Tell whether a plural form is for a single number, such as 2 in Arabic."""
    return sum(form_of(language, number) == form for number in range(MOST_TRIED)) == 1


def form_of(language: str, number: int) -> int:
    """Return which of a language's plural forms a number takes."""
    return _chooser(language)(number)


@cache
def _chooser(language: str) -> Callable[[int], int]:
    choose: Callable[[int], int] = c2py(PLURALS[language].partition("plural=")[2].rstrip(";"))
    return choose
