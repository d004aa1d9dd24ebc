"""Schemas of the request fields that the framework cannot describe by itself."""

from __future__ import annotations

from enum import Enum
from inspect import cleandoc, isclass
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent, resolve_type_hint

from pipeline.api.openapi.descriptions import describe
from pipeline.api.openapi.schemas import Schema
from pipeline.api.v1.fields import AMOUNT, METADATA_KEY
from pipeline.models import METADATA_KEYS, METADATA_VALUE_LENGTH

_ONE_LINE = "\\x00-\\x1f\\x7f-\\x9f\\u2028\\u2029"
_LINE = f"^[^{_ONE_LINE}]*[^\\s{_ONE_LINE}][^{_ONE_LINE}]*$"
_EMPTY_LINE = f"^[^{_ONE_LINE}]*$"
_TEXT = "^[^\\x00]*$"
_UNSEEN = "\\s\\x00-\\x1f\\x7f-\\x9f\\u202a-\\u202e\\u2066-\\u206f\\ufff9-\\ufffb"
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
        described = describe(owner, str(self.target.field_name))
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
    """A string of any number of lines, with something that can be seen if it must not be blank."""

    target_class = "pipeline.api.v1.fields.Letter"
    priority = 1
    filled = f"^[^\\x00]*[^{_UNSEEN}][^\\x00]*$"


class LineField(TextField):
    """A string in one line, without control characters."""

    target_class = "pipeline.api.v1.fields.Line"
    priority = 1
    blank, filled = _EMPTY_LINE, _LINE


class AmountField(LineField):
    """An amount of money as a string."""

    target_class = "pipeline.api.v1.fields.Amount"
    priority = 2
    blank = filled = f"^{AMOUNT.pattern}$"


class CodeField(LineField):
    """A code of a standard's list, which is longer than a document should say."""

    target_class = "pipeline.api.v1.fields.Code"
    priority = 2
    blank = filled = "^[A-Za-z]{2,3}(-[A-Za-z]{2,6})?$"


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


# JSON schemas of payload types, so that clients can check what a view returns.


_NAMES = {"Status": "ApplicationStatus", "EventType": "EventName", "Kind": "ProblemKind"}


# The note of an annotation with the codes that a string can be at present.
CODES = "codes"
_OTHER: Schema = {"type": "string"}


def open_codes(known: Schema) -> Schema:
    """Return the schema of an answer's code: one of those known, or one that is added later.

    With the codes alone, clients that a generator makes refuse a whole answer for a new one.
    """
    return {"anyOf": [known, _OTHER]}


class Types:
    """Converter of types to schemas. Named types become components of the document."""

    def __init__(self, registry: ComponentRegistry) -> None:
        self._registry = registry

    def schema_of(self, hint: Any) -> Schema:
        """Return the schema of a type. Raises UnableToProceedError for an unsupported type."""
        origin, arguments = get_origin(hint), get_args(hint)
        if is_typeddict(origin or hint):
            return self._component(schema_name(hint), hint, self._object)
        if isclass(hint) and issubclass(hint, Enum):
            about = cleandoc(hint.__doc__ or "").partition("\n")[0]
            schema = {"type": "string", "enum": [each.value for each in hint], "description": about}
            return open_codes(self._component(schema_name(hint), hint, lambda _: schema))
        if origin is Annotated:
            return self._annotated(arguments)
        if origin in (Union, UnionType):
            return self._union(arguments)
        if origin is list:
            return {"type": "array", "items": self.schema_of(arguments[0])}
        if origin is dict:
            values = {} if arguments[1] is Any else self.schema_of(arguments[1])
            return {"type": "object", "additionalProperties": values}
        if hint is NoneType:
            return {"type": "null"}
        schema = {} if hint is Any else dict(resolve_type_hint(hint))
        return schema | {"format": "int64"} if schema.get("type") == "integer" else schema

    def _component(self, name: str, hint: Any, build: Any) -> Schema:
        component = ResolvedComponent(name, ResolvedComponent.SCHEMA, object=name)
        if component not in self._registry:
            self._registry.register(component)
            component.schema = build(hint)
        return component.ref

    def _object(self, hint: Any) -> Schema:
        kind = get_origin(hint) or hint
        given = dict(zip(getattr(kind, "__parameters__", ()), get_args(hint), strict=True))
        fields = get_type_hints(kind, include_extras=True)
        return {
            "type": "object",
            "description": cleandoc(kind.__doc__ or ""),
            "properties": {
                name: self.schema_of(_filled_type(each, given)) | describe(schema_name(kind), name)
                for name, each in fields.items()
            },
            "required": sorted(kind.__required_keys__),
        }

    def _annotated(self, arguments: tuple[Any, ...]) -> Schema:
        hint, *notes = arguments
        words = tuple(note for note in notes if isclass(note))
        schema = self._union(words) if len(words) > 1 else self.schema_of(*words or [hint])
        for keyword, value in (note for note in notes if isinstance(note, tuple)):
            if keyword == CODES:
                return open_codes({"type": "string", "enum": list(value)})
            schema = schema | {keyword: list(value) if isinstance(value, tuple) else value}
        return schema

    def _union(self, arguments: tuple[Any, ...]) -> Schema:
        given = [self.schema_of(each) for each in arguments if each is not NoneType]
        some: list[Schema] = []
        for schema in given:
            parts = schema["anyOf"] if list(schema) == ["anyOf"] else [schema]
            some += [part for part in parts if part not in some]
        if NoneType not in arguments:
            return {"anyOf": sorted(some, key=_OTHER.__eq__)}
        if len(some) == 1 and isinstance(some[0].get("type"), str):
            return some[0] | {"type": [some[0]["type"], "null"]}
        return {"anyOf": sorted([*some, {"type": "null"}], key=_OTHER.__eq__)}


def schema_name(hint: Any) -> str:
    """Return a type's name in the document: Job for JobOut, JobPage for PageOf[JobOut]."""
    arguments = "".join(schema_name(each) for each in get_args(hint))
    own = (get_origin(hint) or hint).__name__.removesuffix("Out")
    return arguments + own.removesuffix("Of") if arguments else _NAMES.get(own, own)


def _filled_type(hint: Any, given: dict[Any, Any]) -> Any:
    """Return a generic's field type with its parameters replaced by the arguments."""
    if hint in given:
        return given[hint]
    inner = getattr(hint, "__parameters__", ())
    return hint[tuple(given[each] for each in inner)] if inner else hint
