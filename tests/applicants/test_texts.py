"""The rule for texts of several lines, on pages and over the API."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from django import forms

from applicants.texts import plain_text
from pipeline.api.v1.applications.shapes import (
    ContestAnswerIn,
    ContestIn,
    DecisionIn,
    ReinstatementIn,
)
from pipeline.api.v1.fields import Letter, Line, Shape, Text
from pipeline.api.v1.jobs.shapes import JobChangeIn, JobIn
from pipeline.pages.applicant.application import ContestForm
from pipeline.pages.company.annotations import NoteForm
from pipeline.pages.company.contests import ContestAnswerForm
from pipeline.pages.company.forms import DecisionForm, PostingForm, ReinstatementForm
from pipeline.pages.forms import LinesField

SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
TYPED = "One\r\nTwo\rThree\u2028Four\x0bFive\x85\tSix \u202eseven\u202c\x07 Zoe\u0308\U000e0041\x00"
KEPT = "One\nTwo\nThree\nFour\nFive\n\tSix seven Zo\u00eb\x00"
FORMS = [
    (PostingForm, "description"),
    (NoteForm, "note"),
    (DecisionForm, "note"),
    (ReinstatementForm, "note"),
    (ContestForm, "text"),
    (ContestAnswerForm, "text"),
]
SHAPES = [
    (JobIn, "description"),
    (JobChangeIn, "description"),
    (DecisionIn, "note"),
    (DecisionIn, "reason"),
    (ReinstatementIn, "note"),
    (ContestIn, "text"),
    (ContestAnswerIn, "text"),
]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (TYPED, KEPT),
        (KEPT, KEPT),
        ("\u2067\u05e9\u05dc\u05d5\u05dd\u2069", "\u05e9\u05dc\u05d5\u05dd"),
        ("\u0639\u0644\u06cc\u200c\u0631", "\u0639\u0644\u06cc\u200c\u0631"),
        (SCOTLAND, SCOTLAND),
        ("\u202e \x07", ""),
    ],
)
def test_a_text_loses_only_what_reorders_or_controls_it(given: str, kept: str) -> None:
    assert plain_text(given) == kept


@pytest.mark.parametrize(("form", "field"), FORMS)
def test_a_form_reads_a_text_in_its_normal_form(form: type[forms.Form], field: str) -> None:
    filled = form({field: TYPED.strip("\x00")})
    filled.is_valid()
    with_nul = form({field: TYPED})

    assert filled.cleaned_data[field] == KEPT.strip("\x00")
    assert with_nul.errors[field] == ["Remove the invisible characters."]


@pytest.mark.parametrize(("shape", "field"), SHAPES)
def test_the_api_reads_a_text_in_its_normal_form(shape: type[Shape], field: str) -> None:
    read = shape().fields[field]

    assert read.run_validation(TYPED.strip("\x00")) == KEPT.strip("\x00")


def test_a_text_that_is_required_holds_more_than_removed_characters() -> None:
    asked = ContestIn(data={"text": "\u202e\x07"})

    assert not asked.is_valid()
    assert [error.code for error in asked.errors["text"]] == ["blank"]
    assert "text" in ContestForm({"text": "\u202e\x07"}).errors


def test_every_field_for_several_lines_follows_the_rule() -> None:
    import_module("pipeline.urls")
    typed = {
        (form.__name__, name)
        for form in kinds_below(forms.Form)
        for name, field in form.base_fields.items()
        if isinstance(field.widget, forms.Textarea) and not isinstance(field, LinesField)
    }
    sent = {
        (shape.__name__, name)
        for shape in kinds_below(Shape)
        for name, field in shape().fields.items()
        if isinstance(field, Text) and not isinstance(field, Letter | Line)
    }

    assert typed == {("TaskPayloadForm", "payload")}
    assert {name for shape, name in sent if shape != "ImportedApplicationIn"} == {
        "applicant_id",
        "company_id",
        "idempotency_key",
    }


def kinds_below(kind: Any) -> Iterator[Any]:
    for each in kind.__subclasses__():
        yield each
        yield from kinds_below(each)
