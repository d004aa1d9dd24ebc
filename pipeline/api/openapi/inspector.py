"""OpenAPI operations, built from the descriptions of the views' methods."""

from __future__ import annotations

from inspect import cleandoc
from typing import Any

from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry

from pipeline.api.openapi import fields  # noqa: F401, its classes are found by being there
from pipeline.api.openapi.answers import Answers
from pipeline.api.openapi.parameters import IDEMPOTENCY_KEY, IF_NONE_MATCH, PATHS
from pipeline.api.openapi.schemas import OPERATION, Operation, Schema
from pipeline.api.openapi.security import security_of_action, security_of_action_in_words
from pipeline.api.v1.fields import Text


class NotDescribed(Exception):
    """A view's method has no description for clients."""


class Inspector(AutoSchema):
    """Builder of one operation: the summary from the docstring, the rest from `describes`."""

    def get_operation(
        self, path: str, path_regex: str, path_prefix: str, method: str, registry: ComponentRegistry
    ) -> Schema:
        """Return the operation of a method. Raises NotDescribed."""
        self.registry, self.path, self.path_regex = registry, path, path_regex
        self.path_prefix, self.method = path_prefix, method.upper()
        handler = getattr(self.view, method.lower())
        operation: Operation | None = getattr(handler, OPERATION, None)
        if operation is None:
            raise NotDescribed(f"{method} {path} lacks @describes")
        words = cleandoc(handler.__doc__ or "")
        first_line = words.partition("\n")[0]
        who = f"**Who:** {security_of_action_in_words(operation.action)}."
        written: Schema = {
            "operationId": operation.name,
            "tags": [operation.tag.value],
            "summary": first_line.partition(": ")[0].partition(". ")[0].rstrip("."),
            "description": "\n\n".join(text for text in (words, operation.about, who) if text),
            "security": security_of_action(operation.action),
            "parameters": self._parameters_of(operation),
        }
        if operation.takes or operation.bodies:
            written["requestBody"] = self._body(operation)
        written["responses"] = Answers(self.registry).answers_of(operation, self.method, self.path)
        return written

    def _parameters_of(self, operation: Operation) -> list[Schema]:
        names = [part[1:-1] for part in self.path.split("/") if part.startswith("{")]
        in_path = [
            each | {"description": PATHS[each["name"]]}
            for each in self._resolve_path_parameters(names)
        ]
        rest = [*operation.parameters]
        if operation.tagged:
            rest.append(IF_NONE_MATCH)
        if self.method == "POST":
            rest.append(IDEMPOTENCY_KEY)
        return in_path + [
            {
                "name": parameter.name,
                "in": parameter.where,
                "description": parameter.about,
                "schema": parameter.schema,
                "required": parameter.required,
                **({"deprecated": True} if parameter.deprecated else {}),
                **parameter.more,
            }
            for parameter in rest
        ]

    def _body(self, operation: Operation) -> Schema:
        kinds = {media: {"schema": schema} for media, schema in operation.bodies.items()}
        if not operation.takes:
            return {"content": kinds, "required": True}
        refs = [self.resolve_serializer(each(), "request").ref for each in operation.takes]
        schema = refs[0] if len(refs) == 1 else {"anyOf": refs}
        required = all(
            any(field.required for field in shape().fields.values()) for shape in operation.takes
        )
        return {"content": {operation.media: {"schema": schema}} | kinds, "required": required}

    def _insert_field_validators(self, field: Any, schema: Schema) -> None:
        """Add a field's bounds to its schema. Our own patterns already allow for blanks."""
        super()._insert_field_validators(field, schema)
        if isinstance(field, Text) and "oneOf" in schema:
            schema.update(schema.pop("oneOf")[0])

    def _map_basic_serializer(self, serializer: Any, direction: Any) -> Schema:
        """Return the schema of a request's object. It allows no unknown fields."""
        schema = super()._map_basic_serializer(serializer, direction)
        together = getattr(serializer, "together", {})
        return schema | {"additionalProperties": False} | together
