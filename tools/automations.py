"""Make the descriptions for n8n and Zapier from docs/openapi.yaml, as `python3 run.py sdk` does.

Both take every operation of a company's key that has JSON or nothing as its body. Neither format
has fields inside fields: n8n takes such a value as JSON, and Zapier cannot, so it is left out there
unless it is a list or a dictionary of texts. An operation that needs one is left out altogether.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tools import ROOT

N8N, ZAPIER = "docs/examples/n8n", "docs/examples/zapier"
DOCUMENT = "docs/openapi.yaml"
TAGS = {
    "Jobs": "job",
    "Applications": "application",
    "People": "person",
    "The line of a job": "line",
    "Background work": "task",
}
# Bytes, and secrets that such a system has no use for.
LEFT_OUT = frozenset(
    """add_application_files create_portal_token create_upload delete_application_file delete_upload
    get_application_file get_file get_refused_rows get_upload import_applications
    put_upload_content start_tasks""".split()
)
SUBMIT, SUBMISSION = "apply", "SubmissionIn"
UNKNOWN_TO_FORMS = frozenset(("fields", "after", "asOf", "If-None-Match", "Idempotency-Key"))
LONGEST_TITLE = 60
Schema = dict[str, Any]


@dataclass(frozen=True)
class Field:
    """A parameter or a field of a body."""

    name: str
    schema: Schema
    place: str  # "path", "query", "header" or "body"
    is_required: bool

    @property
    def kind(self) -> str:
        """Return `array`, `boolean`, `integer`, `number`, `object` or `string`."""
        kinds = self.schema.get("type", "string")
        named = [kinds] if isinstance(kinds, str) else [each for each in kinds if each != "null"]
        return str(named[0])

    @property
    def label(self) -> str:
        """Return the name as people read it."""
        return self.name.replace("_", " ").replace("[", " ").strip("]").capitalize()

    @property
    def choices(self) -> list[str]:
        """Return the values that it can have, or none if others are possible."""
        return [each for each in self.schema.get("enum", ()) if isinstance(each, str)]

    @property
    def help(self) -> str:
        """Return its description as one line."""
        return " ".join(str(self.schema.get("description", "")).split())


@dataclass(frozen=True)
class Operation:
    """An operation of the API with its fields."""

    id: str
    method: str
    path: str
    group: str
    title: str
    is_list: bool
    sample: Any
    fields: list[Field] = field(default_factory=list)


class Document:
    """The OpenAPI document."""

    def __init__(self, path: Path) -> None:
        self._whole: Schema = yaml.safe_load(path.read_text())
        self.version = str(self._whole["info"]["version"])

    def resolve(self, schema: Schema) -> Schema:
        """Return a schema with its first level resolved: what it refers to, without null."""
        if "$ref" in schema:
            _, _, kind, name = schema["$ref"].split("/")
            return self.resolve(self._whole["components"][kind][name]) | {
                name: value for name, value in schema.items() if name != "$ref"
            }
        parts = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
        if parts:
            return self.resolve(parts[0]) | {k: v for k, v in schema.items() if k != "anyOf"}
        return schema

    def webhook_types(self) -> list[tuple[str, str]]:
        """Return the types of webhooks with their meanings."""
        hooks = self._whole["webhooks"].items()
        return [(name, each["post"]["summary"]) for name, each in hooks if name != "webhook.test"]

    def webhook_sample(self, name: str) -> Any:
        """Return an example of a webhook's body."""
        content = self._whole["webhooks"][name]["post"]["requestBody"]["content"]
        example = self.resolve(content["application/json"]["schema"])["examples"][0]
        return {key: value for key, value in example.items() if key != "test"} | {"type": name}

    def operations(self) -> Iterator[Operation]:
        """Yield the operations that a company's key may use, and that forms can express."""
        for path, methods in self._whole["paths"].items():
            for method, each in methods.items():
                if method in ("get", "post", "put", "patch", "delete") and self._is_wanted(each):
                    yield self._operation(method.upper(), path, each)

    def _is_wanted(self, described: Schema) -> bool:
        by_key = any("apiKey" in each for each in described.get("security", ()))
        return by_key and described["tags"][0] in TAGS and described["operationId"] not in LEFT_OUT

    def _operation(self, method: str, path: str, described: Schema) -> Operation:
        answers = (each for code, each in described["responses"].items() if code.startswith("2"))
        content = next(answers).get("content", {}).get("application/json", {})
        answer = self.resolve(content.get("schema", {}))
        is_submit = described["operationId"] == SUBMIT
        return Operation(
            id="submit_person" if is_submit else described["operationId"],
            method=method,
            path=path,
            group=TAGS[described["tags"][0]],
            title="Submit a person" if is_submit else _title(described),
            is_list="next_cursor" in answer.get("properties", {}),
            sample=(answer.get("examples") or [{}])[0],
            fields=[*self._parameters(described), *self._body(described, is_submit)],
        )

    def _parameters(self, described: Schema) -> Iterator[Field]:
        for given in described.get("parameters", ()):
            each = self.resolve(given)
            hidden = each["name"] in UNKNOWN_TO_FORMS or each.get("deprecated")
            if not hidden and each.get("style") != "deepObject":
                schema = self.resolve(each["schema"]) | {"description": each.get("description", "")}
                yield Field(each["name"], schema, each["in"], each.get("required", False))

    def _body(self, described: Schema, is_submit: bool) -> Iterator[Field]:
        content = described.get("requestBody", {}).get("content", {}).get("application/json", {})
        named = {"$ref": f"#/components/schemas/{SUBMISSION}"}
        schema = self.resolve(named if is_submit else content.get("schema", {}))
        required = {"name", "email"} if is_submit else set(schema.get("required", ()))
        for name, each in schema.get("properties", {}).items():
            if not each.get("deprecated"):
                yield Field(name, self.resolve(each), "body", name in required)


def _title(described: Schema) -> str:
    summary = str(described["summary"]).rstrip(".")
    if len(summary) <= LONGEST_TITLE:
        return summary
    return str(described["operationId"]).replace("_", " ").capitalize()


def n8n_properties(operations: list[Operation]) -> list[Schema]:
    """Return the properties of the declarative node: resources, operations and their fields."""
    groups = list(dict.fromkeys(each.group for each in operations))
    found: list[Schema] = [
        {
            "displayName": "Resource",
            "name": "resource",
            "type": "options",
            "noDataExpression": True,
            "options": [{"name": each.capitalize(), "value": each} for each in groups],
            "default": groups[0],
        }
    ]
    for group in groups:
        own = [each for each in operations if each.group == group]
        found.append(
            {
                "displayName": "Operation",
                "name": "operation",
                "type": "options",
                "noDataExpression": True,
                "displayOptions": {"show": {"resource": [group]}},
                "options": [_n8n_operation(each) for each in own],
                "default": own[0].id,
            }
        )
        for each in own:
            found += _n8n_fields(each)
    return found


def _n8n_operation(each: Operation) -> Schema:
    url = re.sub(r"{(\w+)}", r"{{ encodeURIComponent($parameter.\1) }}", each.path)
    routing: Schema = {"request": {"method": each.method, "url": f"=/api/v1{url}"}}
    if each.is_list:
        receive = {"type": "rootProperty", "properties": {"property": "data"}}
        routing["output"] = {"postReceive": [receive]}
    return {"name": each.title, "value": each.id, "action": each.title, "routing": routing}


def _n8n_fields(operation: Operation) -> list[Schema]:
    show = {"show": {"resource": [operation.group], "operation": [operation.id]}}
    required = [each for each in operation.fields if each.is_required]
    further = [_n8n_field(each) for each in operation.fields if not each.is_required]
    found = [_n8n_field(each) | {"required": True, "displayOptions": show} for each in required]
    if operation.method == "POST":
        found.append(_n8n_idempotency_key() | {"displayOptions": show})
    if further:
        found.append(
            {
                "displayName": "Further Fields",
                "name": "further",
                "type": "collection",
                "placeholder": "Add Field",
                "default": {},
                "displayOptions": show,
                "options": further,
            }
        )
    return found


def _n8n_idempotency_key() -> Schema:
    header = {"Idempotency-Key": "={{ $value }}"}
    return {
        "displayName": "Idempotency Key",
        "name": "idempotencyKey",
        "type": "string",
        "default": "={{ $execution.id }}-{{ $nodeId }}-{{ $runIndex }}-{{ $itemIndex }}",
        "description": "A request that is repeated under the same key acts once",
        "routing": {"request": {"headers": header}},
    }


def _n8n_field(each: Field) -> Schema:
    types = {"integer": "number", "number": "number", "boolean": "boolean"}
    defaults: dict[str, Any] = {"number": 0, "boolean": False}
    if each.choices:
        type_, default = "options", each.choices[0]
    elif each.kind in ("array", "object"):
        type_, default = "json", "[]" if each.kind == "array" else "{}"
    else:
        type_ = "dateTime" if each.schema.get("format") == "date-time" else "string"
        type_ = types.get(each.kind, type_)
        default = defaults.get(type_, "")
    found: Schema = {"displayName": each.label, "name": each.name, "type": type_}
    found |= {"default": default, "description": each.help}
    if each.choices:
        found["options"] = [{"name": choice, "value": choice} for choice in each.choices]
    if each.place in ("query", "body"):
        send = {"type": each.place, "property": each.name}
        parsed = {"value": "={{ typeof $value === 'string' ? JSON.parse($value) : $value }}"}
        found["routing"] = {"send": send | (parsed if type_ == "json" else {})}
    if each.place == "header":
        found["routing"] = {"request": {"headers": {each.name: "={{ $value }}"}}}
    return found


def zapier_app(document: Document) -> Schema:
    """Return the triggers, searches and creates of the Zapier app."""
    operations = list(document.operations())
    creates = {each.id: _zapier_create(each) for each in operations if _is_create(each)}
    return {
        "triggers": {
            _key(name): _zapier_trigger(document, name, meaning)
            for name, meaning in document.webhook_types()
        },
        "creates": creates,
        "searches": {
            each.id: _zapier_search(each)
            for each in operations
            if each.method == "GET" and _fits(each)
        },
    }


def _is_create(each: Operation) -> bool:
    return each.method in ("POST", "PUT", "PATCH") and _fits(each)


def _fits(operation: Operation) -> bool:
    return all(_fits_zapier(each) for each in operation.fields if each.is_required)


def _fits_zapier(each: Field) -> bool:
    parts = each.schema.get("items") or each.schema.get("additionalProperties") or {}
    return each.kind not in ("array", "object") or (
        isinstance(parts, dict) and parts.get("type") == "string"
    )


def _key(name: str) -> str:
    return name.replace(".", "_")


def _zapier_trigger(document: Document, name: str, meaning: str) -> Schema:
    noun = name.partition(".")[0].capitalize()
    hooks = {"url": "{{bundle.authData.site}}/api/v1/webhooks"}
    return {
        "key": _key(name),
        "noun": noun,
        "display": {
            "label": name.replace(".", " ").replace("_", " ").title(),
            "description": f"Triggers when this happens: {meaning[0].lower()}{meaning[1:]}.",
        },
        "operation": {
            "type": "hook",
            "performSubscribe": hooks
            | {"method": "POST", "body": {"url": "{{bundle.targetUrl}}", "types": [name]}},
            "performUnsubscribe": {
                "method": "DELETE",
                "url": f"{hooks['url']}/{{{{bundle.subscribeData.id}}}}",
            },
            "perform": {"require": "hook.js"},
            "sample": document.webhook_sample(name),
        },
    }


def _zapier_create(each: Operation) -> Schema:
    fields = [one for one in each.fields if _fits_zapier(one)]
    body = {one.name: _value(one) for one in fields if one.place == "body"}
    request = _zapier_request(each, fields) | {"removeMissingValuesFrom": {"body": True}}
    return _zapier_action(each, fields, request | ({"body": body} if body else {}))


def _zapier_search(each: Operation) -> Schema:
    """Describe a search, whose answer is a list: the rows of a list, or the one object."""
    fields = [one for one in each.fields if _fits_zapier(one)]
    request = _zapier_request(each, fields)
    request |= {"params": {one.name: _value(one) for one in fields if one.place == "query"}}
    request |= {"removeMissingValuesFrom": {"params": True}}
    rows = "answer.data.data" if each.is_list else "[answer.data]"
    source = f"return z.request({json.dumps(request)}).then((answer) => {rows});"
    return _zapier_action(each, fields, {"source": source, "args": ["z", "bundle"]})


def _value(each: Field) -> str:
    return f"{{{{bundle.inputData.{each.name}}}}}"


def _zapier_request(each: Operation, fields: list[Field]) -> Schema:
    path = re.sub(r"{(\w+)}", r"{{bundle.inputData.\1}}", each.path)
    headers = {one.name: _value(one) for one in fields if one.place == "header"}
    url = f"{{{{bundle.authData.site}}}}/api/v1{path}"
    return {"method": each.method, "url": url} | ({"headers": headers} if headers else {})


def _zapier_action(each: Operation, fields: list[Field], perform: Schema) -> Schema:
    sample = each.sample
    if each.is_list:
        sample = (sample.get("data") or [{}])[0]
    return {
        "key": each.id,
        "noun": each.group.capitalize(),
        "display": {"label": each.title, "description": f"{each.title}."},
        "operation": {
            "inputFields": [_zapier_field(one) for one in fields],
            "perform": perform,
            "sample": sample or {"id": "019a3c5e-7f00-7000-8000-000000000001"},
        },
    }


def _zapier_field(each: Field) -> Schema:
    types = {"integer": "integer", "number": "number", "boolean": "boolean"}
    is_time = each.schema.get("format") == "date-time"
    found: Schema = {"key": each.name, "label": each.label, "required": each.is_required}
    found["type"] = types.get(each.kind, "datetime" if is_time else "string")
    if len(each.help) > 9:
        found["helpText"] = each.help[:900]
    if each.choices:
        found["choices"] = each.choices
    if each.kind == "array":
        found["list"] = True
    if each.kind == "object":
        found |= {"dict": True}
    return found


def make_n8n(root: Path = ROOT) -> None:
    """Write the description of the n8n node below `root`."""
    document = Document(root / DOCUMENT)
    properties = n8n_properties(list(document.operations()))
    types = [{"name": f"{name}: {what}", "value": name} for name, what in document.webhook_types()]
    text = (
        "// Made from docs/openapi.yaml by tools/automations.py.\n"
        "import type { INodeProperties, INodePropertyOptions } from 'n8n-workflow';\n\n"
        f"export const properties: INodeProperties[] = {_as_json(properties)};\n\n"
        f"export const webhookTypes: INodePropertyOptions[] = {_as_json(types)};\n"
    )
    (root / N8N / "nodes" / "description.ts").write_text(text)


def make_zapier(root: Path = ROOT) -> None:
    """Write the definition of the Zapier app below `root`."""
    definition = zapier_app(Document(root / DOCUMENT))
    (root / ZAPIER / "definition.json").write_text(_as_json(definition) + "\n")


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


if __name__ == "__main__":
    make_n8n()
    make_zapier()
