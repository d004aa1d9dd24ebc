"""Questions: what each kind takes, refuses and says about it."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.form.questions import (
    MOST_QUESTIONS,
    AnswerRefused,
    AnswersRefused,
    Kind,
    QuestionRefused,
    build_question,
    check_answers,
    check_form,
    find_unmet,
    read_questions,
    suggest_key,
)
from tests.support.forms import FIVE, FIVE_ANSWERS, must_have_licence, question

TAKEN: list[tuple[Kind, dict[str, Any], Any, Any]] = [
    (Kind.SHORT_TEXT, {}, " Kiel\n", "Kiel"),
    (Kind.LONG_TEXT, {}, "a\r\nb", "a\nb"),
    (Kind.NUMBER, {}, 3.0, 3),
    (Kind.NUMBER, {}, 2.25, 2.25),
    (Kind.DATE, {"minimum": "2026-01-01"}, "2026-01-01", "2026-01-01"),
    (Kind.CHOICE, {}, "Red", "Red"),
    (Kind.CHOICE, {"other": True}, "Pink", "Pink"),
    (Kind.CHOICES, {}, ["Red", "Red", "Blue"], ["Red", "Blue"]),
    (Kind.YES_NO, {}, False, False),
    (Kind.LINK, {}, "https://example.org/me", "https://example.org/me"),
    (Kind.PHONE, {}, "+49 (30) 901820", "+4930901820"),
    (Kind.FILE, {"file_count": 2}, ["a", "b"], ["a", "b"]),
    (Kind.SHORT_TEXT, {}, "", None),
    (Kind.CHOICES, {}, [], None),
    (Kind.CHOICES, {"other": True}, ["\u200b "], None),
]
REFUSED: list[tuple[Kind, dict[str, Any], Any]] = [
    (Kind.SHORT_TEXT, {}, "x" * 201),
    (Kind.SHORT_TEXT, {}, 5),
    (Kind.SHORT_TEXT, {}, "a\0b"),
    (Kind.LONG_TEXT, {}, "x" * 10_001),
    (Kind.NUMBER, {}, "5"),
    (Kind.NUMBER, {}, True),
    (Kind.NUMBER, {}, float("nan")),
    (Kind.NUMBER, {}, 1e10),
    (Kind.NUMBER, {}, 0.00001),
    (Kind.NUMBER, {"maximum": 60}, 61),
    (Kind.DATE, {}, "2026-02-30"),
    (Kind.DATE, {}, "20260101"),
    (Kind.DATE, {"minimum": "2026-01-01"}, "2025-12-31"),
    (Kind.CHOICE, {}, "Pink"),
    (Kind.CHOICES, {}, ["Pink"]),
    (Kind.CHOICES, {"other": True}, ["Pink", "Mauve"]),
    (Kind.CHOICES, {}, "Red"),
    (Kind.YES_NO, {}, "yes"),
    (Kind.LINK, {}, "http://example.org"),
    (Kind.LINK, {}, "javascript:alert(1)"),
    (Kind.LINK, {}, "https://" + "x" * 500),
    (Kind.PHONE, {}, "030 901820"),
    (Kind.PHONE, {}, "+49"),
    (Kind.FILE, {}, ["a", "b"]),
]


@pytest.mark.parametrize(("kind", "more", "given", "stored"), TAKEN)
def test_an_answer_is_stored_in_one_form(
    kind: Kind, more: dict[str, Any], given: Any, stored: Any
) -> None:
    assert question(kind, **more).check(given) == stored


@pytest.mark.parametrize(("kind", "more", "given"), REFUSED)
def test_an_answer_that_does_not_fit_is_refused_with_a_cure(
    kind: Kind, more: dict[str, Any], given: Any
) -> None:
    with pytest.raises(AnswerRefused) as refused:
        question(kind, **more).check(given)

    assert str(refused.value).endswith(".") or "https://" in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "text", "answer"),
    [
        (Kind.YES_NO, "Yes", True),
        (Kind.YES_NO, "0", False),
        (Kind.NUMBER, "2.5", 2.5),
        (Kind.CHOICES, "Red; Blue", ["Red", "Blue"]),
        (Kind.DATE, "2026-01-31", "2026-01-31"),
        (Kind.SHORT_TEXT, "  ", None),
    ],
)
def test_a_cell_of_a_table_means_the_same_answer(kind: Kind, text: str, answer: Any) -> None:
    assert question(kind).parse(text) == answer


@pytest.mark.parametrize(
    ("unit", "number", "shown"),
    [
        ("years", 1, "1 year"),
        ("years", 2, "2 years"),
        ("years", 0, "0 years"),
        ("km", 1, "1 km"),
        ("", 1, "1"),
    ],
)
def test_one_of_a_unit_is_called_by_its_singular(unit: str, number: int, shown: str) -> None:
    assert question(Kind.NUMBER, "much", label="How much?", unit=unit).show(number) == shown


def test_answers_are_checked_together_and_every_fault_is_named() -> None:
    wrong = {"years": 99, "shift": "Early", "unknown": 1}
    needed = question(Kind.LINK, "link", required=True)

    with pytest.raises(AnswersRefused) as refused:
        check_answers((*FIVE, needed), wrong)

    assert set(refused.value.wrong) == {"years", "link", "unknown"}
    assert check_answers(FIVE, FIVE_ANSWERS) == FIVE_ANSWERS


@pytest.mark.parametrize(
    ("kind", "must", "enough", "too_little"),
    [
        (Kind.YES_NO, {"answer": False}, False, True),
        (Kind.NUMBER, {"minimum": 18}, 18, 17),
        (Kind.DATE, {"maximum": "2026-12-31"}, "2026-12-31", "2027-01-01"),
        (Kind.CHOICE, {"choices": ["Red", "Blue"]}, "Blue", "Green"),
        (Kind.CHOICES, {"choices": ["Red", "Blue"]}, ["Red", "Green", "Blue"], ["Red"]),
    ],
)
def test_a_condition_is_met_by_some_answers_only(
    kind: Kind, must: dict[str, Any], enough: Any, too_little: Any
) -> None:
    asked = question(kind, "it", must=must | {"refusal": "No."})

    assert find_unmet([asked], {"it": enough}) is None
    assert find_unmet([asked], {"it": too_little}) is asked
    assert find_unmet([asked], {}) is asked
    assert asked.required
    assert asked.show_must()


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"kind": Kind.SHORT_TEXT, "label": ""}, "label"),
        ({"kind": Kind.SHORT_TEXT, "label": "x" * 201}, "label"),
        ({"kind": Kind.SHORT_TEXT, "label": "A", "key": "No!"}, "key"),
        ({"kind": Kind.CHOICE, "label": "A", "choices": ["one"]}, "choices"),
        ({"kind": Kind.CHOICE, "label": "A", "choices": [str(n) for n in range(51)]}, "choices"),
        ({"kind": Kind.NUMBER, "label": "A", "minimum": 5, "maximum": 4}, "maximum"),
        ({"kind": Kind.NUMBER, "label": "A", "minimum": "x"}, "minimum"),
        ({"kind": Kind.FILE, "label": "A", "file_count": 6}, "file_count"),
        ({"kind": Kind.FILE, "label": "A", "file_kinds": ["EXE"]}, "file_kinds"),
        ({"kind": Kind.YES_NO, "label": "A", "must": {"answer": True}}, "refusal"),
        ({"kind": Kind.YES_NO, "label": "A", "must": {"refusal": "No."}}, "must_answer"),
        ({"kind": Kind.NUMBER, "label": "A", "must": {"refusal": "No."}}, "must_minimum"),
    ],
)
def test_a_question_that_nobody_could_answer_is_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(QuestionRefused) as refused:
        build_question({"key": "a", "choices": []} | given)

    assert field in refused.value.wrong


def test_a_form_has_limits_of_its_own() -> None:
    many = [question(Kind.YES_NO, f"q{number}") for number in range(MOST_QUESTIONS + 1)]
    twice = [question(Kind.YES_NO, "same"), question(Kind.LINK, "same")]
    shown = [question(Kind.YES_NO, f"q{number}", in_summary=True) for number in range(3)]

    for refused in (many, twice, shown):
        with pytest.raises(QuestionRefused):
            check_form(refused)
    check_form(many[:-1])


def test_a_stored_question_reads_back_as_it_was() -> None:
    whole = (*FIVE, must_have_licence(), question(Kind.FILE, file_count=2))

    assert read_questions([each.as_json() for each in whole]) == whole


def test_a_key_is_made_from_the_label_once() -> None:
    assert suggest_key("Years of Erfahrung?", []) == "years_of_erfahrung"
    assert suggest_key("Town", ["town", "town_2"]) == "town_3"
    assert suggest_key("年", []) == "q"
    assert suggest_key("2nd job", []) == "q_2nd_job"


@pytest.mark.parametrize(("number", "shown"), [(1, "1 year"), (2, "2 years"), (0, "0 years")])
def test_one_has_the_singular_of_its_unit(number: int, shown: str) -> None:
    assert question(Kind.NUMBER, unit="years").show(number) == shown
