"""English for numbers, plurals, lists, durations and times. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo

from django.utils.translation import get_language_bidi

_DAY, _HOUR, _MINUTE, _SECOND = 86_400, 3_600, 60, 1
_LONG_UNITS = (("day", _DAY), ("hour", _HOUR), ("minute", _MINUTE), ("second", _SECOND))
_SHORT_UNITS = (("d", _DAY), ("h", _HOUR), ("min", _MINUTE), ("s", _SECOND))
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
    """Return a number, up to ten in words: no, one, ten, 11."""
    return _SMALL[number] if number < len(_SMALL) else f"{number:,}"


def people(number: int) -> str:
    """Return a number of people: 1 person, 2 people."""
    return count(number, "person", "people")


def newcomers(number: int) -> str:
    """Return people who have not joined yet: next person to join, next 2 people to join."""
    return plural(number, "next person to join", f"next {number:,} people to join")


def joined(items: Sequence[str]) -> str:
    """Return a list as text: Ana, Bo and Cy."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def capitalized(text: str) -> str:
    """Capitalize the first letter of a text and keep the rest."""
    return text[:1].upper() + text[1:]


def long_duration(seconds: int) -> str:
    """Return a duration in its two largest units: 1 day and 6 hours."""
    parts, left = [], seconds
    for unit, size in _LONG_UNITS:
        number, left = divmod(left, size)
        if number:
            parts.append(count(number, unit))
    return joined(parts[:2]) or "no time"


def short_duration(span: timedelta | float | None) -> str:
    """Return a duration (seconds, if a number) in its two largest units: 1 d 4 h, 3 min 20 s."""
    if span is None:
        return "-"
    seconds = span.total_seconds() if isinstance(span, timedelta) else float(span)
    left = max(0, round(seconds))
    parts: list[str] = []
    for unit, size in _SHORT_UNITS:
        number, left = divmod(left, size)
        if number or parts:
            parts.append(f"{number} {unit}" if number else "")
    return " ".join(part for part in parts[:2] if part) or "0 s"


def single_unit_duration(seconds: int) -> str:
    """Return a duration in the largest unit that divides it: 90 min, 2 h, 0."""
    for unit, size in _SHORT_UNITS:
        if seconds and seconds % size == 0:
            return f"{seconds // size} {unit}"
    return "0"


def format_time(moment: datetime | str | None, zone: tzinfo = UTC, *, seconds: bool = False) -> str:
    """Return a time with its zone, rounded down to the minute so that no deadline looks later.

    `seconds`: to the second, where several times lie within minutes.
    """
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    if moment is None:
        return "an unknown time"
    at = moment.astimezone(zone)
    day, clock = f"{at.day} {at:%B %Y}", f"{at:%H:%M:%S}" if seconds else f"{at:%H:%M}"
    if str(zone) == "UTC":
        return f"{clock} UTC on {day}"
    return f"{clock} on {day} ({format_zone(zone)})"


def time_here_and_utc(moment: datetime | str, zone: tzinfo = UTC) -> str:
    """Return a time in words in a zone and in UTC; once, if that is the zone."""
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    here, there = moment.astimezone(zone), moment.astimezone(UTC)
    words = format_time(moment, zone)
    if here.utcoffset() == there.utcoffset():
        return words
    if here.date() == there.date():
        return f"{words}, {there:%H:%M} UTC"
    return f"{words}, {format_time(moment)}"


def format_zone(zone: tzinfo | None) -> str:
    """Return the place in a zone's name: New York for America/New_York."""
    return str(zone).rpartition("/")[2].replace("_", " ")
