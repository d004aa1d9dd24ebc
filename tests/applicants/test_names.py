"""The rule for names, on pages, in files and over the API."""

from __future__ import annotations

from importlib import import_module

import pytest
from django import forms
from django.core.exceptions import ValidationError

from applicants.forms import ApplyForm, NameField
from applicants.texts import checked_name, cleaned_name
from jobs.companies import checked_company_name
from jobs.errors import BadName
from pipeline.api.v1.applications.shapes import UnprovedApplicationIn
from pipeline.api.v1.fields import Letter, Name, Shape, Text
from pipeline.files.imports.reading import read_csv_rows
from pipeline.files.imports.rows import Refusal
from pipeline.pages.company.annotations import AnnotationLinkForm, AnnotationTagForm
from pipeline.pages.company.forms import PersonForm, PostingForm
from pipeline.pages.company.job_templates import TemplateNameForm
from pipeline.pages.staff.forms import KeyForm
from tests.applicants.test_texts import kinds_below

PERSIAN = "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627"
COOK = "\U0001f469\u200d\U0001f373 Chef"
BAD = [
    "\u200b\u2060",
    "\u3164",
    "\u2800 \u00a0",
    "-",
    "Bo \u202egnieR",
    "Bo \u2067x",
    "Ann\nBcc: x",
    "Ann\x1b[31m",
    "Ann\x85x",
    "Ann\u2028x",
    "Ann\U000e0041",
]


@pytest.mark.parametrize("name", BAD)
def test_a_name_that_hides_or_reorders_text_is_refused_everywhere(name: str) -> None:
    with pytest.raises(ValidationError):
        checked_name(name)
    with pytest.raises(BadName):
        checked_company_name(name)
    assert "name" in ApplyForm({"name": name, "email": "a@x.org"}).errors
    assert "name" in PersonForm({"name": name, "email": "a@x.org"}).errors
    assert {"title", "location"} <= PostingForm({"title": name, "location": name}).errors.keys()
    assert "tag" in AnnotationTagForm({"tag": name}).errors
    assert "label" in AnnotationLinkForm({"url": "https://x.org", "label": name}).errors
    assert "name" in TemplateNameForm({"name": name}).errors
    assert "name" in KeyForm([], {"name": name}).errors
    asked = UnprovedApplicationIn(data={"name": name, "email": "a@x.org"})
    assert not asked.is_valid()
    assert "name" in asked.errors
    quoted = f'name,email\n"{name}",a@x.org\n'.encode()
    assert [row.refusal for row in read_csv_rows([quoted])] == [Refusal.BAD_NAME]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (PERSIAN, PERSIAN),
        (COOK, COOK),
        ("Ana\u00a0Li", "Ana Li"),
        ("\u3000Ana\u200b Li\u2060", "Ana Li"),
        ("Zoe\u0308", "Zo\u00eb"),
        ("An\u200dna", "Anna"),
        ("\u200cAnna", "Anna"),
        ("O\u2019Neil-\u00d1u\u00f1ez 3rd", "O\u2019Neil-\u00d1u\u00f1ez 3rd"),
        ("\u2b50", "\u2b50"),
    ],
)
def test_a_real_name_is_kept_in_one_normal_form_everywhere(given: str, kept: str) -> None:
    assert checked_name(given) == checked_name(kept) == kept
    for form in (ApplyForm, PersonForm):
        filled = form({"name": given, "email": "a@x.org"})
        assert filled.is_valid()
        assert filled.cleaned_data["name"] == kept
    asked = UnprovedApplicationIn(data={"name": given, "email": "a@x.org"})
    assert asked.is_valid()
    assert asked.validated_data["name"] == kept
    (row,) = read_csv_rows([f"name,email\n{given},a@x.org\n".encode()])
    assert (row.name, row.refusal) == (kept, None)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (f"{PERSIAN}.csv", f"{PERSIAN}.csv"),
        ("a\u202egvs.csv\n", "agvs.csv"),
        ("Zoe\u0308\u00a0\u200b1.csv", "Zo\u00eb 1.csv"),
        ("\x00\u2028", ""),
    ],
)
def test_the_name_of_a_file_loses_what_a_name_may_not_have(given: str, kept: str) -> None:
    assert cleaned_name(given) == kept


# Fields of one line that are no name: codes and addresses, which have rules of their own, and texts
# that are cleaned where they are kept.
CODES = set(
    "colour slug domain code email hash username key uidb36 member endpoint public_key secret cron"
    " begins ends country language pay_currency currency quiet_time_zone quiet_from quiet_to zone"
    " minimum maximum type url applicant_id company_id external_id criterion_id idempotency_key"
    " group_code file_kinds".split()
)
CLEANED = {  # by `clean_source`, `plain_text`, `cleaned_name` and the rows of an import
    *("source", "utm_campaign", "utm_medium", "medium", "campaign", "term", "content"),
    *(("QuestionForm", "help"), ("FurtherQuestionForm", "help")),
    *(("AnnouncedUploadIn", "name"), ("ImportedApplicationIn", "name")),
}


def lines_without_the_rule() -> set[tuple[str, str]]:
    """Return the fields of one line, of pages and of the API, that are not read as names."""
    ours = [form for form in kinds_below(forms.Form) if form.__module__.startswith("pipeline.")]
    typed = {
        (form.__name__, name)
        for form in ours
        for name, field in form.base_fields.items()
        if isinstance(field, forms.CharField)
        and isinstance(field.widget, forms.TextInput)
        and not isinstance(field, NameField)
    }
    sent = {
        (shape.__name__, name)
        for shape in kinds_below(Shape)
        for name, field in shape().fields.items()
        for each in (field, getattr(field, "child", None))
        if isinstance(each, Text) and not isinstance(each, Name | Letter)
    }
    return {
        (where, name)
        for where, name in typed | sent
        if name not in CODES and not {name, (where, name)} & CLEANED
    }


def test_every_field_of_one_line_that_people_read_follows_the_rule() -> None:
    import_module("pipeline.urls")

    assert lines_without_the_rule() == {("SampleForm", "name")}  # of the gallery, for developers


def test_a_field_that_forgets_the_rule_is_found() -> None:
    class Nickname(forms.Form):
        nickname = forms.CharField()

    Nickname.__module__ = "pipeline.pages.forgetful"

    assert ("Nickname", "nickname") in lines_without_the_rule()
    Nickname.__module__ = "tests"
