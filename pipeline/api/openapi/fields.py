"""Schemas of the request fields that the framework cannot describe by itself."""

from __future__ import annotations

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerFieldExtension

from pipeline.api.openapi.field_descriptions import field_description
from pipeline.api.openapi.schemas import Schema
from pipeline.api.v1.fields import METADATA_KEY
from pipeline.models import METADATA_KEYS, METADATA_VALUE_LENGTH

_ONE_LINE = "\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029"
_CONTROL = "\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x7f-\\x9f\\u2028\\u2029"
_LINE = f"^[^{_ONE_LINE}]*[^\\s{_ONE_LINE}][^{_ONE_LINE}]*$"
_EMPTY_LINE = f"^[^{_ONE_LINE}]*$"
_TEXT = "^[^\\x00]*$"
_FILLED_TEXT = "^[^\\x00]*[^\\s\\x00][^\\x00]*$"


class OurField(OpenApiSerializerFieldExtension):
    """The framework's description of a field, with our text."""

    target_class = "rest_framework.serializers.Field"
    match_subclasses = True
    priority = -1

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Schema:
        """Return the field's schema."""
        schema = auto_schema._map_serializer_field(self.target, direction, bypass_extensions=True)
        schema.pop("x-spec-enum-id", None)
        if isinstance(schema.get("type"), list):  # "null" is added to fields that may be null
            schema["type"] = schema["type"][0]
        if "$ref" in schema:
            return schema
        owner = type(self.target.parent).__name__ if self.target.parent else ""
        old = self.target.field_name in getattr(type(self.target.parent), "deprecated", ())
        described = field_description(owner, str(self.target.field_name))
        return schema | described | ({"deprecated": True} if old else {})


class TextField(OurField):
    """A string of any number of lines, without NUL."""

    target_class = "pipeline.api.v1.fields.Text"
    priority = 0
    blank, filled = _TEXT, _FILLED_TEXT

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Schema:
        """Return the field's schema, with a pattern."""
        schema = super().map_serializer_field(auto_schema, direction)
        schema.pop("minLength", None)
        return schema | {"pattern": self.blank if self.target.allow_blank else self.filled}


class LetterField(TextField):
    """A string of any number of lines, without control characters."""

    target_class = "pipeline.api.v1.fields.Letter"
    priority = 1
    blank = f"^[^{_CONTROL}]*$"
    filled = f"^[^{_CONTROL}]*[^\\s{_CONTROL}][^{_CONTROL}]*$"


class LineField(TextField):
    """A string in one line, without control characters."""

    target_class = "pipeline.api.v1.fields.Line"
    priority = 1
    blank, filled = _EMPTY_LINE, _LINE


class ObjectField(OurField):
    """An object with any fields."""

    target_class = "pipeline.api.v1.fields.AnyObject"
    priority = 0

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Schema:
        """Return the field's schema: an object."""
        known = super().map_serializer_field(auto_schema, direction)
        return known | {"type": "object", "additionalProperties": {}}


class MetadataField(ObjectField):
    """An object with a few short texts."""

    target_class = "pipeline.api.v1.fields.Metadata"
    priority = 1

    def map_serializer_field(self, auto_schema: Any, direction: Any) -> Schema:
        """Return the field's schema, with its bounds."""
        return super().map_serializer_field(auto_schema, direction) | {
            "maxProperties": METADATA_KEYS,
            "propertyNames": {"pattern": f"^{METADATA_KEY.pattern}$"},
            "additionalProperties": {"type": "string", "maxLength": METADATA_VALUE_LENGTH},
        }
