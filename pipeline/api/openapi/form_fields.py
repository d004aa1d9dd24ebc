"""Schemas of the request fields for answers, which the framework cannot describe by itself."""

from __future__ import annotations

from typing import Any

from pipeline.api.openapi.fields import ObjectField, OurField
from pipeline.api.openapi.schemas import Schema
from pipeline.form.questions import (
    KEY_LENGTH,
    LONG_LENGTH,
    MOST_CHOICES,
    MOST_QUESTIONS,
    SHORT_LENGTH,
)

_ANSWER: Schema = {
    "anyOf": [
        {"type": "string", "maxLength": LONG_LENGTH},
        {"type": "number"},
        {"type": "boolean"},
        {
            "type": "array",
            "items": {"type": "string", "maxLength": SHORT_LENGTH},
            "maxItems": MOST_CHOICES + 1,
        },
        {"type": "null"},
    ]
}


class AnswerSetField(ObjectField):
    """Answers by the keys of their questions."""

    target_class = "pipeline.api.v1.fields.AnswerSet"
    priority = 1

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Schema:
        """Return the field's schema, with its bounds."""
        return super().map_serializer_field(auto_schema, direction) | {
            "maxProperties": MOST_QUESTIONS,
            "propertyNames": {"maxLength": KEY_LENGTH},
            "additionalProperties": _ANSWER,
        }


class AnswerValueField(OurField):
    """An answer of any kind."""

    target_class = "pipeline.api.v1.fields.AnswerValue"
    priority = 1

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Schema:
        """Return the field's schema."""
        return dict(_ANSWER)


class BoundField(OurField):
    """A number, or a date."""

    target_class = "pipeline.api.v1.fields.Bound"
    priority = 1

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Schema:
        """Return the field's schema."""
        return {
            "anyOf": [{"type": "number"}, {"type": "string", "maxLength": 10}, {"type": "null"}]
        }
