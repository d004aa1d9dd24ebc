"""Refusals by the rules of the line: their texts, made when they are read."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime

import pytest
from django.utils import translation
from django.utils.translation import ngettext_lazy, trans_real

from pipeline.domain import errors

GERMAN = {
    "There is no such job.": "Diese Stelle gibt es nicht.",
    ("Choose a time in the next {days} day.", 0): "Wähle eine Zeit am nächsten Tag.",
    ("Choose a time in the next {days} day.", 1): "Wähle eine Zeit in {days} Tagen.",
}
SOONER = ngettext_lazy(
    "Choose a time in the next {days} day.", "Choose a time in the next {days} days.", "days"
)


@pytest.fixture(autouse=True)
def german(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a few texts into the German catalogue."""
    catalogue = trans_real.translation("de")._catalog._catalogs[0]
    for text, german in GERMAN.items():
        monkeypatch.setitem(catalogue, text, german)


def test_a_refusal_is_read_in_the_language_of_its_reader() -> None:
    refusal = errors.JobNotFound()

    assert str(refusal) == "There is no such job."
    with translation.override("de"):
        assert str(refusal) == "Diese Stelle gibt es nicht."


def test_a_reason_has_the_plural_form_of_its_number_and_its_language() -> None:
    refusal = errors.NotDeferrable(why=SOONER, days=14)

    assert str(refusal) == "Choose a time in the next 14 days."
    with translation.override("de"):
        assert str(refusal) == "Wähle eine Zeit in 14 Tagen."
        assert str(errors.NotDeferrable(why=SOONER, days=1)) == "Wähle eine Zeit am nächsten Tag."


def test_a_copy_in_another_process_reads_the_same() -> None:
    refusal = pickle.loads(pickle.dumps(errors.NotDeferrable(why=SOONER, days=14)))  # noqa: S301

    with translation.override("de"):
        assert str(refusal) == "Wähle eine Zeit in 14 Tagen."


def test_numbers_and_dates_are_those_of_the_reader() -> None:
    hired = errors.PositionsFilled(positions=1_200)
    away = errors.LogArchived(on=datetime(2026, 3, 5, tzinfo=UTC))

    assert "(1,200)" in str(hired)
    assert "on 5 March 2026." in str(away)
    with translation.override("de"):
        assert "(1.200)" in str(hired)
        assert "am 5. März 2026" in str(away)


def test_a_text_that_is_no_message_keeps_its_braces() -> None:
    assert str(errors.RequirementNotMet(refusal="Only {people}")) == "Only {people}"
    assert str(errors.NotReinstatable(why="Not {now}")) == "Not {now}"


@pytest.mark.parametrize(("kind", "word"), [("job", "job"), ("application", "application")])
def test_a_taken_id_names_what_has_it(kind: str, word: str) -> None:
    taken = errors.ExternalIdTaken(kind=kind, external_id="a'b", existing_id=1)

    assert str(taken) == f"""Another {word} of the company has the external_id "a'b"."""
