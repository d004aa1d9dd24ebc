"""Names in plain text, nouns with their numbers, and older names of what `language` does.

Only text for operators, such as the output of commands, may use `plural`, `count` and
`format_count`: their nouns are English.
"""

from __future__ import annotations

import unicodedata

from django.utils.translation import get_language_bidi, ngettext

from pipeline.wording import language
from pipeline.wording.language import duration as long_duration
from pipeline.wording.language import in_a_row, short_duration, single_unit_duration
from pipeline.wording.language import list_of as joined
from pipeline.wording.language import moment as format_time
from pipeline.wording.language import moment_here_and_utc as time_here_and_utc
from pipeline.wording.language import zone_name as format_zone

__all__ = [
    "capitalized",
    "count",
    "format_count",
    "format_number",
    "format_time",
    "format_zone",
    "in_a_row",
    "isolated",
    "joined",
    "long_duration",
    "needs_isolation",
    "newcomers",
    "people",
    "plural",
    "reads_from_the_right",
    "short_duration",
    "single_unit_duration",
    "strip_isolates",
    "strip_reordering",
    "subject_line",
    "time_here_and_utc",
]

_SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

# Bidirectional classes (UAX #9) of letters and digits from right to left, and of the characters
# that reorder text. The rule for names refuses the latter today; older rows may hold them.
_FROM_THE_RIGHT = frozenset({"R", "AL", "AN"})
_REORDERING = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])
_ISOLATE, _END_OF_ISOLATE = "\u2068", "\u2069"


def isolated(name: str) -> str:
    """Return a name for a sentence in plain text, so that it cannot reorder the words around it."""
    plain = strip_reordering(name)
    return f"{_ISOLATE}{plain}{_END_OF_ISOLATE}" if needs_isolation(plain) else plain


def needs_isolation(name: str) -> bool:
    """Tell whether a name could reorder the words around it.

    Between words from left to right only one with letters from right to left can; between words
    from right to left also "C++" and two names in a row.
    """
    return bool(name) and (get_language_bidi() or reads_from_the_right(name))


def subject_line(text: str) -> str:
    """Return a text for the subject of an email: one line, without what `isolated` adds.

    But a subject from right to left keeps it: most names in it are of the other direction.
    """
    line = " ".join(text.split())
    return line if get_language_bidi() else strip_isolates(line)


def strip_isolates(text: str) -> str:
    """Return a text for a line of its own, such as a sender, without what `isolated` adds."""
    return text.replace(_ISOLATE, "").replace(_END_OF_ISOLATE, "")


def strip_reordering(name: str) -> str:
    """Return a name without characters that reorder the text after them."""
    return name.translate(_REORDERING)


def reads_from_the_right(text: str) -> bool:
    """Tell whether a text has letters or digits that are read from right to left."""
    return any(unicodedata.bidirectional(each) in _FROM_THE_RIGHT for each in text)


def plural(number: int, one: str, many: str = "") -> str:
    """Return the singular or plural of a word. `many` defaults to `one` with an s."""
    return one if number == 1 else many or f"{one}s"


def count(number: int, one: str, many: str = "") -> str:
    """Return a number in digits with its noun: 1 person, 2,000 people."""
    return f"{number:,} {plural(number, one, many)}"


def format_count(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun, up to ten in words: one place, 12 places."""
    return f"{format_number(number)} {plural(number, one, many)}"


def format_number(number: int) -> str:
    """Return a number, in English up to ten in words: no, one, ten, 11."""
    if number < len(_SMALL) and language.is_english():
        return _SMALL[number]
    return language.number(number)


def people(number: int) -> str:
    """Return a number of people: 1 person, 2 people."""
    words = ngettext("%(number)s person", "%(number)s people", number)
    return words % {"number": language.number(number)}


def newcomers(number: int) -> str:
    """Return people who have not joined yet: next person to join, next 2 people to join."""
    words = ngettext("next person to join", "next %(number)s people to join", number)
    return words % {"number": language.number(number)}


def capitalized(text: str) -> str:
    """Capitalize the first letter of a text and keep the rest."""
    return text[:1].upper() + text[1:]
