"""Lists, durations, times, numbers and money in the active language and the reader's zone.

Every value that stands in a sentence comes from here, as text, and the sentence is one message with
a named place for it:

    _("%(company)s offers a seat until %(until)s.") % {"company": name, "until": moment(at)}
    ngettext("%(count)s person waits.", "%(count)s people wait.", n) % {"count": number(n)}
    _("Waiting: %(names)s") % {"names": list_of(names)}

Templates have the same as filters and tags: `{{ n|number }}`, `{{ at|date_as:"long" }}`,
`{% when moment %}`, `{{ seconds|long_duration }}`, `{{ names|listed }}`.

The form of a value cannot follow the case that a sentence needs. So write sentences in which it
stands in its basic form: "Time to confirm: %(duration)s", or "for %(duration)s".

Text for another person than the one who asks is made inside `translation.override(language)`, with
their zone as an argument or inside `timezone.override`. English has forms of its own
(docs/style.md); those of the other languages are CLDR's, by Babel. Digits are Western everywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from functools import lru_cache
from typing import Any, Literal

from babel import Locale, UnknownLocaleError
from babel.dates import format_skeleton, format_timedelta
from babel.lists import format_list
from babel.numbers import format_currency, format_decimal, format_percent
from babel.units import format_unit
from django.utils import timezone
from django.utils.translation import get_language, to_locale
from django.utils.translation import gettext as _

ENGLISH = "en"
LOCALES = {ENGLISH: "en_GB"}  # languages with another name in CLDR, or of which it knows several
_UNITS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
_LONG_UNITS = (("year", 365 * 86_400), ("month", 30 * 86_400), ("week", 7 * 86_400))
_SYMBOLS = {"day": "d", "hour": "h", "minute": "min", "second": "s"}
_KEPT = 4_096  # texts of each kind that a process keeps, because pages repeat them

# The forms of a day: their name, how English writes them, and CLDR's name of the others' form.
DAY_FORMS = {
    "full": ("{0:%A} {0.day} {0:%B %Y}", "full"),  # Sunday 3 May 2026
    "long": ("{0.day} {0:%B %Y}", "long"),  # 3 May 2026
    "medium": ("{0.day} {0:%b %Y}", "medium"),  # 3 May 2026, its month shortened
    "weekday": ("{0:%A}, {0.day} {0:%B}", "MMMMEEEEd"),  # Sunday, 3 May
    "month": ("{0.day} {0:%B}", "MMMMd"),  # 3 May
    "short": ("{0.day} {0:%b}", "MMMd"),  # 3 May, its month shortened
    "short weekday": ("{0:%a} {0.day} {0:%b}", "MMMEd"),  # Sun 3 May
    "short weekday, year": ("{0:%a} {0.day} {0:%b} {0.year}", "yMMMEd"),  # Sun 3 May 2026
    "weekday and day": ("{0:%a} {0.day}", "Ed"),  # Sun 3
}


def code() -> str:
    """Return the code of the active language, such as pt-br; en where none is active."""
    return get_language() or ENGLISH


def is_english() -> bool:
    """Tell whether the active language is English."""
    return code() == ENGLISH


@lru_cache(64)
def locale_of(language: str) -> Locale:
    """Return Babel's locale of a language. English is British; one unknown to it is English too."""
    try:
        return Locale.parse(LOCALES.get(language) or to_locale(language))
    except UnknownLocaleError:
        return Locale.parse(LOCALES[ENGLISH])


def number(value: float | Decimal, digits: int | None = None) -> str:
    """Return a number with separators: 1,234. `digits`: how many after the point, in any case."""
    language = code()
    if language == ENGLISH:
        return f"{value:,}" if digits is None else f"{value:,.{digits}f}"
    return _number(language, value, digits)


@lru_cache(_KEPT)
def _number(language: str, value: float | Decimal, digits: int | None) -> str:
    pattern = None if digits is None else "#,##0" + ("." + "0" * digits if digits else "")
    exact = digits is None
    return format_decimal(value, pattern, locale_of(language), decimal_quantization=not exact)


def percent(share: float, digits: int = 0) -> str:
    """Return a share of 1 in percent: 12%."""
    language = code()
    if language == ENGLISH:
        return f"{share * 100:.{digits}f}%"
    return _percent(language, share, digits)


@lru_cache(_KEPT)
def _percent(language: str, share: float, digits: int) -> str:
    locale = locale_of(language)
    decimals = "0." + "0" * digits if digits else "0"
    pattern = locale.percent_formats[None].pattern.replace("#,##0", decimals)
    return format_percent(share, pattern, locale=locale)


def money(amount: Decimal | int, currency: str) -> str:
    """Return an amount with its currency, whose code stays: EUR 3,500, 3.500 EUR."""
    language, is_whole = code(), amount == int(amount)
    if language == ENGLISH:
        return f"{currency} {int(amount):,}" if is_whole else f"{currency} {amount:,.2f}"
    locale = locale_of(language)
    pattern = locale.currency_formats["standard"].pattern.partition(";")[0]
    pattern = pattern.replace(".00", "" if is_whole else ".00")
    pattern = pattern.replace("¤", "¤¤\xa0" if pattern[:2] in ("¤#", "¤0") else "¤¤")
    return str(format_currency(amount, currency, pattern, locale, currency_digits=False))


def in_a_row(*sentences: str) -> str:
    """Return sentences one after another, without the empty ones.

    A blank stands between them, but not in Chinese, whose full stop is as wide as one.
    """
    blank = "" if code().startswith("zh") else " "
    return blank.join(filter(None, (each.strip() for each in sentences)))


def list_of(items: Sequence[str]) -> str:
    """Return a list as text: Ana, Bo and Cy."""
    return "".join(items) if len(items) < 2 else _list_of(code(), items)


def _list_of(language: str, items: Sequence[str]) -> str:
    if language == ENGLISH:
        return f"{', '.join(items[:-1])} and {items[-1]}"
    return format_list(items, locale=locale_of(language))


def duration(seconds: int) -> str:
    """Return a duration in its two largest units: 1 day and 6 hours."""
    return _duration(code(), seconds)


@lru_cache(_KEPT)
def _duration(language: str, seconds: int) -> str:
    parts = [each for each in _split(seconds) if each[1]][:2]
    if not parts:
        return _("no time")
    texts = [_unit(language, unit, count, "long") for unit, count in parts]
    return _list_of(language, texts) if len(texts) > 1 else texts[0]


def short_duration(span: timedelta | float | None) -> str:
    """Return a duration (seconds, if a number) in its two largest units: 1 d 4 h, 3 min 20 s."""
    if span is None:
        return "-"
    seconds = span.total_seconds() if isinstance(span, timedelta) else float(span)
    return _short_duration(code(), max(0, round(seconds)))


@lru_cache(_KEPT)
def _short_duration(language: str, seconds: int) -> str:
    parts: list[tuple[str, int]] = []
    for unit, count in _split(seconds):
        if count or parts:
            parts.append((unit, count))
    shown = [each for each in parts[:2] if each[1]] or [("second", 0)]
    return " ".join(_unit(language, unit, count, "short") for unit, count in shown)


def largest_unit_duration(span: timedelta | float) -> str:
    """Return a duration (seconds, if a number) in its largest unit, rounded down: 1 d, 3 min."""
    seconds = span.total_seconds() if isinstance(span, timedelta) else float(span)
    parts = _split(max(0, round(seconds)))
    unit, count = next((each for each in parts if each[1]), ("second", 0))
    return _unit(code(), unit, count, "short")


def single_unit_duration(seconds: int) -> str:
    """Return a duration in the largest unit that divides it: 90 min, 2 h, 0."""
    for unit, size in _UNITS:
        if seconds and seconds % size == 0:
            return _unit(code(), unit, seconds // size, "short")
    return "0"


@lru_cache(_KEPT)
def _unit(language: str, unit: str, count: int, length: Literal["short", "long"]) -> str:
    if language != ENGLISH:
        return format_unit(count, f"duration-{unit}", length, locale=locale_of(language))
    if length == "short":
        return f"{count} {_SYMBOLS[unit]}"
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


def _split(seconds: int) -> list[tuple[str, int]]:
    parts = []
    for unit, size in _UNITS:
        count, seconds = divmod(seconds, size)
        parts.append((unit, count))
    return parts


def day(value: date, form: str = "long") -> str:
    """Return a day in one of the forms above, such as long: 3 May 2026."""
    return _day(code(), form, value.year, value.month, value.day)


@lru_cache(_KEPT)
def _day(language: str, form: str, year: int, month: int, day: int) -> str:
    value = date(year, month, day)
    ours, theirs = DAY_FORMS[form]
    if language == ENGLISH:
        return ours.format(value)
    locale = locale_of(language)
    if theirs in locale.date_formats:
        return str(locale.date_formats[theirs].apply(value, locale))
    return format_skeleton(theirs, value, locale=locale)


def clock(at: datetime, *, seconds: bool = False) -> str:
    """Return a time of day as it stands in its zone, with 12 or 24 hours: 14:05."""
    return _clock(code(), at.hour, at.minute, at.second if seconds else None)


@lru_cache(_KEPT)
def _clock(language: str, hour: int, minute: int, second: int | None) -> str:
    if language == ENGLISH:
        return f"{hour:02}:{minute:02}" + ("" if second is None else f":{second:02}")
    locale = locale_of(language)
    pattern = locale.time_formats["short" if second is None else "medium"]
    return str(pattern.apply(time(hour, minute, second or 0), locale))


def zone_name(zone: tzinfo | None) -> str:
    """Return the place in a zone's name: New York for America/New_York."""
    return _zone_name(code(), str(zone))


@lru_cache(_KEPT)
def _zone_name(language: str, zone: str) -> str:
    known = {} if language == ENGLISH else locale_of(language).time_zones.get(zone, {})
    return str(known.get("city") or zone.rpartition("/")[2].replace("_", " "))


def moment(at: datetime | str | None, zone: tzinfo | None = UTC, *, seconds: bool = False) -> str:
    """Return a time with its zone, rounded down to the minute so that no deadline looks later.

    `seconds`: to the second, where several times lie within minutes. No `zone`: the reader's.
    """
    if isinstance(at, str):
        at = datetime.fromisoformat(at)
    if at is None:
        return _("an unknown time")
    here = at.astimezone(zone or timezone.get_current_timezone())
    return _moment(
        code(),
        here.replace(second=here.second if seconds else 0, microsecond=0),
        str(here.tzinfo),
        seconds,
    )


@lru_cache(_KEPT)
def _moment(language: str, here: datetime, zone: str, has_seconds: bool) -> str:
    words = {
        "clock": _clock(language, here.hour, here.minute, here.second if has_seconds else None),
        "day": _day(language, "long", here.year, here.month, here.day),
    }
    if zone == "UTC":
        return _("%(clock)s UTC on %(day)s") % words
    return _("%(clock)s on %(day)s (%(zone)s)") % {**words, "zone": _zone_name(language, zone)}


def moment_here_and_utc(at: datetime | str, zone: tzinfo = UTC) -> str:
    """Return a time in words in a zone and in UTC; once, if that is the zone."""
    if isinstance(at, str):
        at = datetime.fromisoformat(at)
    here, there = at.astimezone(zone), at.astimezone(UTC)
    words = moment(at, zone)
    if here.utcoffset() == there.utcoffset():
        return words
    if here.date() == there.date():
        return _("%(moment)s, %(clock)s UTC") % {"moment": words, "clock": clock(there)}
    return _("%(moment)s, %(utc)s") % {"moment": words, "utc": moment(at)}


def moment_in_full(at: datetime) -> str:
    """Return a time to the second, with weekday, day and year, in the reader's zone."""
    here = timezone.localtime(at)
    return _day_and_clock(code(), "full", here.replace(microsecond=0), str(here.tzinfo), True)


def moment_in_short(at: datetime, *, seconds: bool = False) -> str:
    """Return a time to the minute in the reader's zone, with the year unless it is this year."""
    here = timezone.localtime(at)
    form = "short weekday" if here.year == timezone.localtime().year else "short weekday, year"
    exact = here.replace(second=here.second if seconds else 0, microsecond=0)
    return _day_and_clock(code(), form, exact, str(here.tzinfo), seconds)


@lru_cache(_KEPT)
def _day_and_clock(language: str, form: str, here: datetime, zone: str, has_seconds: bool) -> str:
    return _("%(day)s, %(clock)s (%(zone)s)") % {
        "day": _day(language, form, here.year, here.month, here.day),
        "clock": _clock(language, here.hour, here.minute, here.second if has_seconds else None),
        "zone": _zone_name(language, zone),
    }


def relative(at: datetime, now: datetime) -> str:
    """Return how long ago a time was, or in how long it will be, in its largest unit.

    It is cut off, not rounded, as `static/js/times.js` does: two texts for one time would differ.
    """
    seconds = int((at - now).total_seconds())
    largest = (each for each in (*_LONG_UNITS, *_UNITS) if abs(seconds) >= each[1])
    unit, size = next(largest, _UNITS[-1])
    return _relative(code(), unit, size * int(seconds / size))


@lru_cache(_KEPT)
def _relative(language: str, unit: Any, seconds: int) -> str:
    span, locale = timedelta(seconds=seconds), locale_of(language)
    return format_timedelta(span, unit, threshold=1, add_direction=True, locale=locale)


def first_weekday() -> int:
    """Return the day with which a week begins: 0 for Monday to 6 for Sunday."""
    return locale_of(code()).first_week_day


def weekdays() -> list[tuple[int, str]]:
    """Return the days of the week with their names, in the order of the reader's week."""
    locale, first = locale_of(code()), first_weekday()
    names = locale.days["stand-alone"]["wide"]
    return [(each % 7, str(names[each % 7])) for each in range(first, first + 7)]


def is_from_the_right() -> bool:
    """Tell whether the active language is written from right to left."""
    return reads_from_the_right(code())


def reads_from_the_right(language: str) -> bool:
    """Tell whether a language is written from right to left."""
    return locale_of(language).text_direction == "rtl"


def country(code_of_country: str, english: str) -> str:
    """Return the name of a country by its ISO 3166 code; in English, the given one."""
    language = code()
    if language == ENGLISH:
        return english
    return str(locale_of(language).territories.get(code_of_country, english))
