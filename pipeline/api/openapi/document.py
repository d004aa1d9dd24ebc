"""The OpenAPI document: the general part, and the finishing touches on the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

from pipeline.api.openapi.examples import example_of
from pipeline.api.openapi.schemas import Schema, Tag
from pipeline.api.openapi.webhooks import add_webhooks_to_document

METHODS = ("get", "put", "post", "patch", "delete")

# Fields of a response type that fill path parameters of other operations.
_FOLLOWS = {
    "Job": {"job_id": "/id"},
    "Application": {"application_id": "/id"},
    "JobPage": {"job_id": "/data/0/id"},
    "ApplicationPage": {"application_id": "/data/0/id"},
}


@cache
def document() -> Schema:
    """Return the OpenAPI document of this code, built once per process."""
    from drf_spectacular.generators import SchemaGenerator  # large and rarely requested

    return SchemaGenerator().get_schema(request=None, public=True)


@cache
def openapi_document_as_json() -> bytes:
    """Return the document as it is served."""
    return json.dumps(document(), ensure_ascii=False, separators=(",", ":")).encode()


def operations_of_document(document: Schema) -> Iterator[tuple[str, str, Schema]]:
    """Yield every path, method and operation of a document."""
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield path, method, methods[method]


def document_no_request(*_: Any) -> None:
    """Return None: views are inspected, not called."""


def finish_document(result: Schema, **_: Any) -> Schema:
    """Add tags, examples and links (a hook of drf-spectacular)."""
    used = {tag for _, _, operation in operations_of_document(result) for tag in operation["tags"]}
    add_webhooks_to_document(result)
    result["tags"] = [{"name": tag.value} for tag in Tag if tag.value in used]
    sent = [methods["post"] for methods in result["webhooks"].values()]
    for operation in [*(each for *_, each in operations_of_document(result)), *sent]:
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for body in bodies:
            for content in body.get("content", {}).values():
                _complete_body_in_document(content, result["components"]["schemas"])
    _add_links_to_document(result)
    return result


def _complete_body_in_document(content: Schema, schemas: Schema) -> None:
    """Add an example to a body, or to its type if the type has a name."""
    schema = content["schema"]
    named = schemas.get(schema.get("$ref", "").rpartition("/")[2])
    if named is None:
        content.setdefault("example", example_of(schema, schemas))
    elif "examples" not in content:
        named.setdefault("examples", [example_of(schema, schemas)])


def _add_links_to_document(result: Schema) -> None:
    """Link created resources and lists to the operations that follow from them."""
    for path, method, operation in operations_of_document(result):
        for status, answer in operation["responses"].items():
            if status == "201" or (method == "get" and "{" not in path):
                body = answer.get("content", {}).get("application/json", {}).get("schema", {})
                links = dict(_document_links(result, str(body.get("$ref", "")).rpartition("/")[2]))
                answer.update({"links": links} if links else {})


def _document_links(result: Schema, given: str) -> Iterator[tuple[str, Schema]]:
    follows = _FOLLOWS.get(given, {})
    for _, _, other in operations_of_document(result):
        asked = [each["name"] for each in other["parameters"] if each["in"] == "path"]
        if asked and set(asked) <= follows.keys():
            values = {name: f"$response.body#{follows[name]}" for name in asked}
            yield other["operationId"], {"operationId": other["operationId"], "parameters": values}
