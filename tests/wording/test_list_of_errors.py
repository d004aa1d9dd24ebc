"""The list of errors above a form: each label, its colon, and what is wrong, in each language."""

from __future__ import annotations

import re
from html import unescape

import pytest
from django import forms
from django.template.loader import render_to_string
from django.utils.html import strip_tags
from django.utils.translation import override


@pytest.mark.parametrize(
    ("language", "label", "line"),
    [
        ("en", "Your name", "Your name: Enter it."),
        ("en", "Are you sure?", "Are you sure? Enter it."),
        ("fr", "Votre nom", "Votre nom\N{NO-BREAK SPACE}: Enter it."),
        ("fr", "Confirmez-vous ?", "Confirmez-vous ? Enter it."),
        ("zh-hans", "您的姓名", "您的姓名：Enter it."),  # noqa: RUF001
        ("zh-hans", "确定吗？", "确定吗？ Enter it."),  # noqa: RUF001
        ("ar", "هل أنت متأكد؟", "هل أنت متأكد؟ Enter it."),
    ],
)
def test_a_label_has_the_colon_of_its_language_but_a_question_has_none(
    language: str, label: str, line: str
) -> None:
    class OneField(forms.Form):
        told = forms.CharField(label=label, error_messages={"required": "Enter it."})

    with override(language):
        shown = strip_tags(render_to_string("components/errors.html", {"form": OneField({})}))

    assert re.sub(r"[ \n]+", " ", unescape(shown)).strip().endswith(line)
