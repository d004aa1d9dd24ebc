"""Nothing that is sent holds an English word of ours: said by a language made by code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import translation
from icalendar import Calendar

from jobs.models import Company, Job, JobPosting
from pipeline.notifications import previews
from pipeline.notifications.devices import WORDS
from pipeline.notifications.reviewers import push_text
from pipeline.review.notices import News
from tests.support import pseudo_language

# What companies and people have written, and names.
KNOWN = (
    *("Harbour Works GmbH, Hamburg", "Harbour Works", "Boatbuilder", "Rigger", "Ana Li"),
    *(
        piece.strip()
        for parts in previews._OWN_WORDS.values()
        for text in parts.values()
        for piece in re.split(r"\{\w+\}|\n+", text)
        if piece.strip()
    ),
)


@pytest.fixture(autouse=True)
def pseudo(settings: Any) -> Iterator[None]:
    """Speak the pseudo-language."""
    pseudo_language.install()
    settings.SITE_URL = "https://line.example"
    with translation.override("qps"):
        yield


def left_over(text: str) -> list[str]:
    return pseudo_language.left_over(text, KNOWN)


def test_a_word_that_is_not_translated_is_found() -> None:
    assert left_over("⟦Gööd⟧ Harbour Works: left over") == ["left", "over"]


@pytest.mark.parametrize("kind", previews.KINDS)
def test_an_email_is_translated_as_a_whole(kind: str) -> None:
    sample = previews.find(kind)

    assert sample is not None
    assert pseudo_language.BEGIN in sample.subject or kind.startswith("own-")
    assert pseudo_language.BEGIN in sample.text
    assert left_over(sample.subject) == []
    assert [line for line in sample.text.splitlines() if left_over(line)] == []
    assert pseudo_language.untranslated(sample.html, KNOWN) == []
    if sample.calendar:
        entry = Calendar.from_ical(sample.calendar).walk("VEVENT")[0]
        texts = [str(entry[name]) for name in ("SUMMARY", "DESCRIPTION") if name in entry]
        texts += [str(alarm["DESCRIPTION"]) for alarm in entry.walk("VALARM")]
        assert [text for text in texts if left_over(text)] == []
        assert kind.startswith("own-") or any(pseudo_language.BEGIN in text for text in texts)


@pytest.mark.parametrize("kind", WORDS, ids=str)
def test_a_notification_of_an_applicant_is_translated_as_a_whole(kind: str) -> None:
    for text in WORDS[kind]:
        said = str(text) % {"job": "Boatbuilder", "until": "⟦12:00⟧"}

        assert said.startswith(pseudo_language.BEGIN)
        assert left_over(said) == []


@pytest.mark.parametrize("number", [1, 3])
@pytest.mark.parametrize("news", News)
def test_a_notification_of_a_member_is_translated_as_a_whole(news: News, number: int) -> None:
    job = Job(id=previews._APPLICATION, company=Company(name="Harbour Works"))
    JobPosting(job=job, title="Boatbuilder", review_target_seconds=3 * 86_400)

    text = push_text(job, news, number)

    assert pseudo_language.BEGIN in f"{text.title} {text.body}"
    assert left_over(f"{text.title}\n{text.body}") == []
