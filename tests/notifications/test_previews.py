"""Every kind of email, word for word: `WRITE_PREVIEWS=1` rewrites the files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.utils import translation
from icalendar import Calendar

from pipeline.config.languages import OFFERED, SOURCE
from pipeline.domain.states import MOST_EXTENSIONS
from pipeline.notifications import previews
from pipeline.notifications.messages import MAILS

FILES = Path(__file__).parent / "previews"
BY_LANGUAGE = Path(__file__).parent / "previews_by_language"
WRITES = bool(os.environ.get("WRITE_PREVIEWS"))


@pytest.fixture(autouse=True)
def site(settings: Any) -> None:
    settings.SITE_URL = "https://line.example"


@pytest.mark.parametrize("kind", previews.KINDS)
def test_an_email_reads_as_its_file_does(kind: str) -> None:
    sample = previews.find(kind)

    assert sample is not None
    texts = {
        "txt": f"Subject: {sample.subject}\n\n{sample.text}",
        "html": sample.html,
        "ics": sample.calendar.replace("\r\n", "\n"),
    }
    for suffix, text in texts.items():
        file = FILES / f"{kind}.{suffix}"
        if WRITES and text:
            FILES.mkdir(exist_ok=True)
            file.write_text(text)
        assert (file.read_text() if file.exists() else "") == text


@pytest.mark.parametrize("language", [each for each in OFFERED if each != SOURCE])
def test_every_email_in_a_language_reads_as_its_file_does(language: str) -> None:
    with translation.override(language):
        text = "\n".join(f"{'=' * 20} {kind}\n\n{words_of(kind)}" for kind in previews.KINDS)

    file = BY_LANGUAGE / f"{language}.txt"
    if WRITES:
        BY_LANGUAGE.mkdir(exist_ok=True)
        file.write_text(text)
    assert file.read_text() == text


def words_of(kind: str) -> str:
    """Return the words of an email in the present language, with those of its calendar entry."""
    sample = previews.find(kind)
    assert sample is not None
    text = f"Subject: {sample.subject}\n\n{sample.text.strip()}\n"
    if not sample.calendar:
        return text
    entry = Calendar.from_ical(sample.calendar).walk("VEVENT")[0]
    return f"{text}\nCalendar: {entry['SUMMARY']}\n{entry.get('DESCRIPTION', '')}\n"


def test_there_is_a_preview_of_every_event_with_an_email() -> None:
    assert len(previews.KINDS) >= len(MAILS)


def test_there_is_no_file_without_an_email() -> None:
    assert {path.stem for path in FILES.iterdir()} == set(previews.KINDS)


@pytest.mark.parametrize("kind", previews.KINDS)
def test_the_html_is_small_loads_nothing_and_leaves_colours_to_the_reader(kind: str) -> None:
    sample = previews.find(kind)

    assert sample is not None
    html = sample.html
    assert len(html) < 10_000  # a hundred kilobytes are cut off by some
    assert "<img" not in html
    assert "<script" not in html
    assert not html or 'name="color-scheme" content="light dark"' in html


def calendar_of(kind: str) -> Any:
    sample = previews.find(kind)
    assert sample is not None
    return Calendar.from_ical(sample.calendar)


def test_the_calendar_follows_the_offer_from_its_first_day_to_its_end() -> None:
    found = [calendar_of(kind) for kind in ("promoted", "extended", "confirmed")]

    entries = [calendar.walk("VEVENT")[0] for calendar in found]
    assert [str(calendar["METHOD"]) for calendar in found] == ["REQUEST", "REQUEST", "CANCEL"]
    last = MOST_EXTENSIONS + 2  # behind every extension
    assert [int(entry["SEQUENCE"]) for entry in entries] == [0, 1, last]
    assert len({str(entry["UID"]) for entry in entries}) == 1
    assert all(str(entry["ORGANIZER"]).startswith("mailto:") for entry in entries)
    assert {str(entry["ATTENDEE"]) for entry in entries} == {"mailto:ana@example.org"}
    assert not any("URL" in entry for entry in entries), "a calendar may be shared"
    assert [len(entry.walk("VALARM")) for entry in entries] == [1, 1, 0]


def test_nobody_knows_another_kind() -> None:
    assert previews.find("nothing") is None
