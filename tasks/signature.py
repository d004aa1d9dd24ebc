"""Arguments of a task type, as the annotated parameters of its function declare them.

The payload of a task is a JSON object of these arguments. `UUID`, `date` and `datetime` are texts
there; `int`, `float`, `bool`, `str`, `Literal` and `list` are themselves. A parameter with a
default may be left out; without one, `X | None` may be null. `Annotated[int,
JsonSchema(minimum=1)]` adds keywords of JSON Schema. `**rules: Unpack[Rules]` takes the fields of a
TypedDict that are given, and `**payload: Any` takes anything.

Two names are not arguments: `context`, the run, and `owner_id`, the company that it runs for.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from datetime import date, datetime
from functools import partial
from types import NoneType, UnionType
from typing import Any
from uuid import UUID

Parse = Callable[[Any], Any]

_PLAIN: dict[Any, tuple[dict[str, Any], Parse | None]] = {
    str: ({"type": "string"}, None),
    int: ({"type": "integer"}, None),
    float: ({"type": "number"}, float),
    bool: ({"type": "boolean"}, None),
    UUID: ({"type": "string", "format": "uuid"}, UUID),
    date: ({"type": "string", "format": "date"}, date.fromisoformat),
    datetime: ({"type": "string", "format": "date-time"}, datetime.fromisoformat),
}
_OF_THE_RUN = ("context", "owner_id")


class JsonSchema:
    """Keywords of JSON Schema for an annotated type, like `minimum` or `secret`."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords


Positive = typing.Annotated[int, JsonSchema(minimum=1)]


class Signature:
    """Arguments of a function: their JSON schema, and how to call it with a payload."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.takes_anything = False
        self.schema: dict[str, Any] = {"type": "object", "properties": {}}
        self._function = function
        self._parses: dict[str, Parse | None] = {}
        self._of_the_run: list[str] = []
        required = []
        try:
            hints = typing.get_type_hints(function, include_extras=True)
            for name, parameter in inspect.signature(function).parameters.items():
                if name in _OF_THE_RUN:
                    self._of_the_run.append(name)
                elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
                    raise TypeError(f"the parameter {name} cannot be given by its name")
                elif parameter.kind is parameter.VAR_KEYWORD:
                    self._add_rest(hints.get(name))
                else:
                    hint = hints.get(name, parameter.empty)
                    is_optional = parameter.default is not parameter.empty
                    self._add(name, _without_none(hint) if is_optional else hint)
                    required += [] if is_optional else [name]
        except (TypeError, NameError) as error:
            raise TypeError(f"the task function {function.__qualname__}: {error}") from None
        if required:
            self.schema["required"] = required
        if not self.takes_anything:
            self.schema["additionalProperties"] = False

    @property
    def names(self) -> set[str]:
        """Names of the arguments."""
        return set(self._parses)

    @property
    def takes_owner(self) -> bool:
        """Tell whether the function asks for the company that a task runs for."""
        return "owner_id" in self._of_the_run

    def call(self, payload: dict[str, Any], context: Any) -> Any:
        """Call the function with the arguments in a payload; others are ignored."""
        arguments: dict[str, Any] = dict(payload) if self.takes_anything else {}
        for name, parse in self._parses.items():
            if name in payload:
                value = payload[name]
                arguments[name] = value if parse is None or value is None else parse(value)
        run = {"context": context, "owner_id": context.owner_id}
        return self._function(**arguments, **{name: run[name] for name in self._of_the_run})

    def _add(self, name: str, hint: Any) -> None:
        try:
            self.schema["properties"][name], self._parses[name] = _shape_of(hint)
        except TypeError as error:
            raise TypeError(f"the parameter {name} {error}") from None

    def _add_rest(self, hint: Any) -> None:
        if typing.get_origin(hint) is typing.Unpack:
            (fields,) = typing.get_args(hint)
            for name, field in typing.get_type_hints(fields, include_extras=True).items():
                self._add(name, field)
        else:
            self.takes_anything = True


def _shape_of(hint: Any) -> tuple[dict[str, Any], Parse | None]:
    """Return the JSON schema of a type, and how to parse its values. Raises TypeError."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        schema, parse = _shape_of(inner[0])
        for each in inner[1:]:
            schema = schema | (each.keywords if isinstance(each, JsonSchema) else {})
        return schema, parse
    if origin is typing.Literal:
        return {"enum": list(inner)}, None
    if origin is list and inner:
        schema, parse = _shape_of(inner[0])
        return {"type": "array", "items": schema}, parse and partial(_parse_each, parse)
    if (known := _without_none(hint)) is not hint:
        schema, parse = _shape_of(known)
        if "enum" in schema:
            return schema | {"enum": [*schema["enum"], None]}, parse
        return schema | {"type": [schema["type"], "null"]}, parse
    if hint not in _PLAIN:
        shown = "no annotation" if hint is inspect.Parameter.empty else f"the annotation {hint}"
        allowed = ", ".join(each.__name__ for each in _PLAIN)
        raise TypeError(f"has {shown}: use {allowed}, list[…], Literal[…] or one of them | None")
    schema, parse = _PLAIN[hint]
    return dict(schema), parse


def _parse_each(parse: Parse, values: list[Any]) -> list[Any]:
    return [parse(value) for value in values]


def _without_none(hint: Any) -> Any:
    """Return X for `X | None`, and any other type as it is."""
    inner = typing.get_args(hint)
    if typing.get_origin(hint) in (typing.Union, UnionType) and NoneType in inner:
        others = [each for each in inner if each is not NoneType]
        return others[0] if len(others) == 1 else hint
    return hint
