"""Values in a sentence, by the reader's language and zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone, translation

from pipeline.config import languages
from pipeline.wording import language

AT = datetime(2026, 5, 3, 14, 5, 9, tzinfo=UTC)
WARSAW = ZoneInfo("Europe/Warsaw")
DAY, HOUR = 86_400, 3_600


@pytest.mark.parametrize(
    ("code", "count", "share", "amount"),
    [
        ("en", "1,234,567", "12.3%", "EUR 3,500"),
        ("de", "1.234.567", "12,3 %", "3.500 EUR"),
        ("fr", "1 234 567", "12,3 %", "3 500 EUR"),
        ("pl", "1 234 567", "12,3%", "3 500 EUR"),
        ("tr", "1.234.567", "%12,3", "EUR 3.500"),
        ("ar", "1,234,567", "12.3%", "\u200f3,500 EUR"),
        ("zh-hans", "1,234,567", "12.3%", "EUR 3,500"),
    ],
)
def test_numbers_have_the_separators_of_the_language(
    code: str, count: str, share: str, amount: str
) -> None:
    with translation.override(code):
        shown = [
            language.number(1_234_567),
            language.percent(0.123, 1),
            language.money(3500, "EUR"),
        ]

    spaced = [text.replace("\xa0", " ").replace("\u202f", " ") for text in shown]
    assert [text.replace("\u200e", "") for text in spaced] == [count, share, amount]


def test_decimals_are_shown_as_they_are_or_with_so_many_digits() -> None:
    with translation.override("de"):
        shown = [
            language.number(12.5),
            language.number(12, 1),
            language.money(Decimal("9.5"), "PLN"),
        ]

    assert shown == ["12,5", "12,0", "9,50\xa0PLN"]


def test_lists_and_durations_are_whole_in_each_language() -> None:
    seconds = 2 * DAY + 6 * HOUR + 5

    shown = {}
    for code in ("en", "de", "pl", "ar", "zh-hans"):
        with translation.override(code):
            names = language.list_of(["Ana", "Bo", "Cy"])
            shown[code] = (names, language.duration(seconds), language.short_duration(seconds))

    assert shown == {
        "en": ("Ana, Bo and Cy", "2 days and 6 hours", "2 d 6 h"),
        "de": ("Ana, Bo und Cy", "2 Tage und 6 Stunden", "2 Tg. 6 Std."),
        "pl": ("Ana, Bo i Cy", "2 dni i 6 godzin", "2 dni 6 godz."),
        "ar": ("Ana وBo وCy", "يومان و6 ساعات", "يومان 6 س"),
        "zh-hans": ("Ana、Bo和Cy", "2天和6小时", "2天 6小时"),
    }


def test_sentences_stand_in_a_row_with_a_blank_where_the_language_has_one() -> None:
    assert language.in_a_row("One.", "", " Two.") == "One. Two."
    with translation.override("zh-hans"):
        assert language.in_a_row("一。", "", "二。") == "一。二。"


def test_the_largest_unit_stands_alone_where_it_is_one_word_or_has_no_blank() -> None:
    seconds = {"one": DAY + 2 * HOUR + 2_400, "two": 2 * DAY, "none": 0.4}

    shown = {}
    for code in ("en", "de", "ar", "zh-hans"):
        with translation.override(code):
            shown[code] = [language.largest_unit_duration(span) for span in seconds.values()]

    assert shown == {
        "en": ["1 d", "2 d", "0 s"],
        "de": ["1 Tg.", "2 Tg.", "0 Sek."],
        "ar": ["يوم", "يومان", "0 ث"],
        "zh-hans": ["1天", "2天", "0秒"],
    }


def test_how_long_ago_is_cut_off_and_declined() -> None:
    spans = (4 * HOUR + 3_540, 2 * DAY - 1, 11 * DAY, -2 * HOUR)

    shown = {}
    for code in ("de", "ar"):
        with translation.override(code):
            shown[code] = [language.relative(AT - timedelta(seconds=each), AT) for each in spans]

    assert shown == {
        "de": ["vor 4 Stunden", "vor 1 Tag", "vor 1 Woche", "in 2 Stunden"],
        "ar": ["قبل 4 ساعات", "قبل يوم واحد", "قبل أسبوع واحد", "خلال ساعتين"],
    }


@pytest.mark.parametrize("code", languages.NAMES)
def test_every_language_has_all_forms_of_days_and_times(code: str) -> None:
    with translation.override(code), timezone.override(WARSAW):
        days = [language.day(AT, form) for form in language.DAY_FORMS]
        others = [language.moment_in_full(AT), language.moment_in_short(AT), language.clock(AT)]
        others += [language.moment(AT, None), language.relative(AT, AT + timedelta(hours=5))]

    assert all("3" in text for text in days)
    assert all(text and "%" not in text for text in others)


def test_days_and_times_stand_in_the_order_and_the_hours_of_the_language() -> None:
    shown = {}
    for code in ("en", "de", "ar", "zh-hans"):
        with translation.override(code):
            shown[code] = (language.day(AT), language.clock(AT), language.zone_name(WARSAW))

    assert shown == {
        "en": ("3 May 2026", "14:05", "Warsaw"),
        "de": ("3. Mai 2026", "14:05", "Warschau"),
        "ar": ("3 مايو 2026", "2:05 م", "وارسو"),
        "zh-hans": ("2026年5月3日", "14:05", "华沙"),
    }


def test_a_week_begins_on_the_day_of_the_language() -> None:
    first = {}
    for code in ("de", "pt-br"):
        with translation.override(code):
            first[code] = (language.first_weekday(), language.weekdays()[0])

    assert first == {"de": (0, (0, "Montag")), "pt-br": (6, (6, "domingo"))}


def test_only_arabic_is_read_from_the_right() -> None:
    from_the_right = []
    for code in languages.NAMES:
        with translation.override(code):
            from_the_right += [code] if language.is_from_the_right() else []

    assert from_the_right == ["ar"]


def test_a_language_unknown_to_babel_has_english_forms() -> None:
    with translation.override("xx"):
        assert (language.number(1_234), language.day(AT)) == ("1,234", "3 May 2026")
