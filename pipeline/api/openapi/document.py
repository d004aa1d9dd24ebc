"""The OpenAPI document: the general part, the webhooks, and the finishing touches on the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from functools import cache
from inspect import cleandoc
from typing import Annotated, Any, TypedDict
from uuid import UUID

from django.utils import translation
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ComponentRegistry

from jobs.models import JobRole, JobStatus, Role, Scope
from pipeline.api.openapi import (
    form_fields as form_fields,  # importing it registers the fields
)
from pipeline.api.openapi.answers import Answers
from pipeline.api.openapi.examples import sample_value
from pipeline.api.openapi.fields import Types
from pipeline.api.openapi.parameters import IDEMPOTENCY_KEY, IF_NONE_MATCH, PATHS
from pipeline.api.openapi.schemas import OPERATION, Operation, Schema, Tag
from pipeline.api.v1.fields import Text
from pipeline.api.v1.outputs import Count, Hash
from pipeline.domain.permissions import RULES, Action
from pipeline.domain.place import WISHES
from pipeline.domain.states import EventType, Outcome, Status
from pipeline.webhooks.queue import TEST, TYPES, TYPES_OF_TASK_EVENT

METHODS = ("get", "put", "post", "patch", "delete")

# Fields of a response type that fill path parameters of other operations.
_FOLLOWS = {
    "Job": {"job_id": "/id"},
    "Application": {"application_id": "/id"},
    "JobPage": {"job_id": "/data/0/id"},
    "ApplicationPage": {"application_id": "/data/0/id"},
}


@cache
def build_document() -> Schema:
    """Return the OpenAPI document of this code, in English, built once per process."""
    from drf_spectacular.generators import SchemaGenerator  # large and rarely requested

    with translation.override("en"):
        return SchemaGenerator().get_schema(request=None, public=True)


@cache
def build_json() -> bytes:
    """Return the document as it is served."""
    return json.dumps(build_document(), ensure_ascii=False, separators=(",", ":")).encode()


def list_operations(document: Schema) -> Iterator[tuple[str, str, Schema]]:
    """Yield every path, method and operation of a document."""
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                yield path, method, methods[method]


def no_request(*_: Any) -> None:
    """Return None: views are inspected, not called."""


def finish(result: Schema, **_: Any) -> Schema:
    """Add tags, examples and links (a hook of drf-spectacular)."""
    used = {tag for _, _, operation in list_operations(result) for tag in operation["tags"]}
    add_webhooks(result)
    result["tags"] = [{"name": tag.value} for tag in Tag if tag.value in used]
    sent = [methods["post"] for methods in result["webhooks"].values()]
    for operation in [*(each for *_, each in list_operations(result)), *sent]:
        bodies = [operation.get("requestBody", {}), *operation["responses"].values()]
        for body in bodies:
            for content in body.get("content", {}).values():
                _complete_body(content, result["components"]["schemas"])
    _add_links(result)
    for schema in result["components"]["schemas"].values():
        for field in schema.get("properties", {}).values():
            if "oneOf" in field:  # drf-spectacular says twice that a shape may be null
                field["oneOf"] = [
                    each for n, each in enumerate(field["oneOf"]) if each not in field["oneOf"][:n]
                ]
    return result


def _complete_body(content: Schema, schemas: Schema) -> None:
    """Add an example to a body, or to its type if the type has a name."""
    schema = content["schema"]
    named = schemas.get(schema.get("$ref", "").rpartition("/")[2])
    if named is None:
        content.setdefault("example", sample_value(schema, schemas))
    elif "examples" not in content:
        named.setdefault("examples", [sample_value(schema, schemas)])


def _add_links(result: Schema) -> None:
    """Link created resources and lists to the operations that follow from them."""
    for path, method, operation in list_operations(result):
        for status, answer in operation["responses"].items():
            if status == "201" or (method == "get" and "{" not in path):
                body = answer.get("content", {}).get("application/json", {}).get("schema", {})
                links = dict(_links(result, str(body.get("$ref", "")).rpartition("/")[2]))
                answer.update({"links": links} if links else {})


def _links(result: Schema, given: str) -> Iterator[tuple[str, Schema]]:
    follows = _FOLLOWS.get(given, {})
    for _, _, other in list_operations(result):
        asked = [each["name"] for each in other["parameters"] if each["in"] == "path"]
        if asked and set(asked) <= follows.keys():
            values = {name: f"$response.body#{follows[name]}" for name in asked}
            yield other["operationId"], {"operationId": other["operationId"], "parameters": values}


# Selection of the document's paths: all that respond with our JSON.


Endpoint = tuple[str, str, str, Any]

PREFIX = "/api/v1/"


def described_paths(endpoints: list[Endpoint]) -> list[Endpoint]:
    """Return the endpoints of the versioned API, except the documentation's own."""
    return [
        each
        for each in endpoints
        if each[0].startswith(PREFIX) and not getattr(each[3].cls, "documents", False)
    ]


# Security requirements in OpenAPI, made from the table of permissions.


_MEMBERS = {
    Role.VIEWER: "a member's",
    Role.RECRUITER: "a recruiter's or owner's",
    Role.OWNER: "an owner's",
}


_ON_JOB = {
    JobRole.INTERVIEWER: "an interviewer of the job, for people in seats",
    JobRole.HIRING_MANAGER: "a hiring manager of the job",
}


def action_security(action: Action) -> list[dict[str, list[str]]]:
    """Return the accepted credentials. An empty entry means that none is needed."""
    rule = RULES[action]
    found: list[dict[str, list[str]]] = [{}] if rule.public else []
    if rule.scope:
        found.append({"apiKey": [rule.scope.value]})
    if rule.applicant:
        found.append({"applicantToken": []})
    if rule.portal:
        found.append({"portalToken": []})
    return [*found, {"session": []}] if rule.role or rule.applicant else found


def _describe_scopes(scope: Scope) -> str:
    return "`read` or `write`" if scope is Scope.READ else f"`{scope.value}`"


def describe_security(action: Action) -> str:
    """Return who may take an action, as a sentence without a full stop."""
    rule = RULES[action]
    if rule.public:
        return "Anyone, with or without a credential"
    applicant = "The applicant, with their token or session"
    applicant += " or a portal token" if rule.portal else ""
    if rule.role is None:
        return (
            applicant
            if rule.scope is None
            else f"The company, with a key of scope {_describe_scopes(rule.scope)}"
        )
    session = f"{_MEMBERS[rule.role]} session"
    if rule.job_role:
        session += f" or that of {_ON_JOB[rule.job_role]}"
    if rule.scope is None:
        return f"The company, with {session}; not with a key"
    company = f"company, with a key of scope {_describe_scopes(rule.scope)} or {session}"
    if rule.applicant:
        return f"{applicant}; and the {company}"
    return f"The {company}"


# OpenAPI operations, built from the descriptions of the views' methods.


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
        who = f"**Who:** {describe_security(operation.action)}."
        written: Schema = {
            "operationId": operation.name,
            "tags": [operation.tag.value],
            "summary": first_line.partition(": ")[0].partition(". ")[0].rstrip("."),
            "description": "\n\n".join(text for text in (words, operation.about, who) if text),
            "security": action_security(operation.action),
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


# The document's webhooks: the requests that a company's endpoints get, one for each type.


# Fields that an event of an application has only while they apply.
_Wishes = TypedDict(  # type: ignore[misc]  # the wishes are declared with the place
    "_Wishes",
    {"planned_seats_id": UUID, "accepted_until": datetime}
    | {name: field.kind for name, field in sorted(WISHES.items())},
    total=False,
)


class ApplicationEventData(_Wishes):
    """An event of an application, as in its job's log. Read the rest through the API."""

    company_id: UUID
    job_id: UUID
    application_id: UUID
    seq: Count
    chain_head: Hash
    event: Annotated[str, EventType]
    status: Annotated[str, Status] | None
    outcome: Annotated[str, Outcome] | None


class JobEventPlan(TypedDict, total=False):
    """Fields that an event of a job has only if it was planned."""

    planned_seats_id: UUID


class JobEventData(JobEventPlan):
    """An event of a job itself, as in its log; null where only applications have a value."""

    company_id: UUID
    job_id: UUID
    application_id: None
    seq: Count
    chain_head: Hash
    event: Annotated[str, EventType]
    status: Annotated[str, JobStatus] | None
    outcome: None


class TaskEventData(TypedDict):
    """An event of a task; `task.ended` says in `event` how it ended."""

    company_id: UUID
    task_id: UUID
    task_type: str
    attempt: Count
    event: Annotated[str, ("codes", tuple(TYPES_OF_TASK_EVENT))]


class MessageEventData(TypedDict):
    """A message that an applicant wrote. The text is in the list of the application's messages."""

    company_id: UUID
    job_id: UUID
    application_id: UUID
    message_id: UUID


class TestEventData(TypedDict):
    """The endpoint that is tested."""

    company_id: UUID
    endpoint_id: UUID


class WebhookOfSandbox(TypedDict, total=False):
    """Fields that only the webhooks of a sandbox have."""

    test: Annotated[bool, ("const", True)]


class ApplicationWebhook(WebhookOfSandbox):
    """The body of a webhook of a type that begins with `application.`."""

    type: Annotated[
        str, ("codes", tuple(name for name in TYPES if name.startswith("application.")))
    ]
    timestamp: datetime
    data: ApplicationEventData


class JobWebhook(WebhookOfSandbox):
    """The body of a webhook of a type that begins with `job.`."""

    type: Annotated[str, ("codes", tuple(name for name in TYPES if name.startswith("job.")))]
    timestamp: datetime
    data: JobEventData


class TaskWebhook(WebhookOfSandbox):
    """The body of a webhook of a type that begins with `task.`."""

    type: Annotated[str, ("codes", tuple(name for name in TYPES if name.startswith("task.")))]
    timestamp: datetime
    data: TaskEventData


class MessageWebhook(WebhookOfSandbox):
    """The body of a webhook of a type that begins with `message.`."""

    type: Annotated[str, ("codes", tuple(name for name in TYPES if name.startswith("message.")))]
    timestamp: datetime
    data: MessageEventData


class TestWebhook(WebhookOfSandbox):
    """The body of a `webhook.test`."""

    type: Annotated[str, ("codes", (TEST,))]
    timestamp: datetime
    data: TestEventData


WEBHOOK_BODIES = {
    "application": ApplicationWebhook,
    "job": JobWebhook,
    "message": MessageWebhook,
    "task": TaskWebhook,
    "webhook": TestWebhook,
}
_WEBHOOK_HEADERS = {
    "webhook-id": "The id of the delivery, the same in every attempt.",
    "webhook-timestamp": "When this attempt was made, in seconds since 1970.",
    "webhook-signature": "Signatures of Standard Webhooks, one for each valid secret, separated by"
    " spaces.",
}


def add_webhooks(result: Schema) -> None:
    """Add every type of webhook, with its body's type."""
    registry = ComponentRegistry()
    types = Types(registry)
    bodies = {name: types.schema_of(hint) for name, hint in WEBHOOK_BODIES.items()}
    schemas = result["components"]["schemas"] | registry.build({})["schemas"]
    result["components"]["schemas"] = dict(sorted(schemas.items()))
    result["components"]["parameters"] = {
        name: {
            "name": name,
            "in": "header",
            "description": about,
            "required": True,
            "schema": {"type": "string"},
        }
        for name, about in _WEBHOOK_HEADERS.items()
    }
    described = {**TYPES, TEST: "You sent a test to the endpoint"}
    result["webhooks"] = {
        name: {"post": _webhook_operation(name, str(about), bodies[name.partition(".")[0]])}
        for name, about in described.items()
    }


def _webhook_operation(name: str, about: str, body: Schema) -> dict[str, Any]:
    return {
        "operationId": f"on_{name.replace('.', '_')}",
        "tags": [Tag.WEBHOOKS.value],
        "summary": about,
        "description": "Sent to your endpoints. Verify the signature and store the event, then"
        " answer within 15 seconds.",
        "security": [{}],
        "parameters": [{"$ref": f"#/components/parameters/{each}"} for each in _WEBHOOK_HEADERS],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {
            "2XX": {"description": "You have it: it is not sent again."},
            "410": {"description": "Nothing more is sent: the endpoint is switched off."},
            "429": {"description": "Sent again, after your `Retry-After`, if there is one."},
            "default": {"description": "Sent again later."},
        },
    }
