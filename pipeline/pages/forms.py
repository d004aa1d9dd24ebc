"""Forms that say in the product's own words what is not right yet."""

from __future__ import annotations

from typing import Any

from django import forms

WORDS = {
    "required": "Fill this in.",
    "min_value": "The least is %(limit_value)s.",
    "max_value": "The most is %(limit_value)s.",
    "max_length": "At most %(limit_value)d characters fit here; these are %(show_value)d.",
    "null_characters_not_allowed": "This has characters that cannot be shown.",
}
CHOICE = {"required": "Choose one.", "invalid_choice": "Choose one of those that are offered."}
KINDS: list[tuple[type[forms.Field], dict[str, str]]] = [
    (forms.IntegerField, {"invalid": "Write a whole number, in digits."}),
    (forms.EmailField, {"invalid": "This is no email address: one looks like name@example.org."}),
    (forms.FileField, {"required": "Choose a file."}),
    (forms.ChoiceField, CHOICE),
    (forms.MultipleChoiceField, {"required": "Choose at least one."}),
]
"""What else fields of a kind say: by the code of what is wrong."""


class PlainForm(forms.Form):
    """A form whose fields speak plain English."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        for field in self.fields.values():
            field.error_messages |= WORDS
            for kind, words in KINDS:
                if isinstance(field, kind):
                    field.error_messages |= words
