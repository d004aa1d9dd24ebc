"""The document's webhooks: the requests that a company's endpoints get, one for each type."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID

from drf_spectacular.plumbing import ComponentRegistry

from jobs.models import JobStatus
from pipeline.api.openapi.fields import Types
from pipeline.api.openapi.schemas import Schema, Tag
from pipeline.api.v1.outputs import Count, Hash
from pipeline.domain.place import WISHES
from pipeline.domain.states import EventType, Outcome, Status
from pipeline.webhooks.queue import TEST, TYPES, TYPES_OF_TASK_EVENT

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


class TestWebhook(WebhookOfSandbox):
    """The body of a `webhook.test`."""

    type: Annotated[str, ("codes", (TEST,))]
    timestamp: datetime
    data: TestEventData


BODIES = {
    "application": ApplicationWebhook,
    "job": JobWebhook,
    "task": TaskWebhook,
    "webhook": TestWebhook,
}
_HEADERS = {
    "webhook-id": "The id of the delivery, the same in every attempt.",
    "webhook-timestamp": "When this attempt was made, in seconds since 1970.",
    "webhook-signature": "Signatures of Standard Webhooks, one for each valid secret, separated by"
    " spaces.",
}


def add_all(result: Schema) -> None:
    """Add every type of webhook, with its body's type."""
    registry = ComponentRegistry()
    types = Types(registry)
    bodies = {name: types.schema_of(hint) for name, hint in BODIES.items()}
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
        for name, about in _HEADERS.items()
    }
    described = {**TYPES, TEST: "You sent a test to the endpoint"}
    result["webhooks"] = {
        name: {"post": _operation(name, about, bodies[name.partition(".")[0]])}
        for name, about in described.items()
    }


def _operation(name: str, about: str, body: Schema) -> dict[str, Any]:
    return {
        "operationId": f"on_{name.replace('.', '_')}",
        "tags": [Tag.WEBHOOKS.value],
        "summary": about,
        "description": "Sent to your endpoints. Verify the signature and store the event, then"
        " answer within 15 seconds.",
        "security": [{}],
        "parameters": [{"$ref": f"#/components/parameters/{each}"} for each in _HEADERS],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {
            "2XX": {"description": "You have it: it is not sent again."},
            "410": {"description": "Nothing more is sent: the endpoint is switched off."},
            "429": {"description": "Sent again, after your `Retry-After`, if there is one."},
            "default": {"description": "Sent again later."},
        },
    }
