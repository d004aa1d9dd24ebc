"""Bodies of requests about webhooks."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api import parameters
from pipeline.api import parameters as pagination
from pipeline.api.auth import authorize_company, caller_of
from pipeline.api.endpoint import Endpoint, answer_page, answer_read, read_body
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.parameters import DELIVERY_STATE, OF_WEBHOOK_TYPE, PAGED
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.problem_types import DUPLICATE_SUBMISSION, INVALID_TRANSITION, LIMIT_REACHED
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.v1.fields import Choice, Choices, Flag, Line, Moment, Name, Nothing, Shape
from pipeline.api.v1.outputs import Count, PageOf
from pipeline.api.v1.tasks.shapes import TaskOut, task_out
from pipeline.domain.permissions import Action
from pipeline.models import WebhookAttempt, WebhookDelivery, WebhookEndpoint
from pipeline.models.webhooks import LONGEST_DESCRIPTION, LONGEST_URL
from pipeline.selectors.pages import encode_cursor
from pipeline.webhooks import endpoints
from pipeline.webhooks.endpoints import redeliver_one, rotate_secret, send_test, start_redelivering
from pipeline.webhooks.queue import TEST, TYPES
from pipeline.work.tasks import read_task


def _types_input(**more: Any) -> Choices:
    return Choices(child=Choice(choices=list(TYPES)), **more)


def _description_input(**more: Any) -> Line:
    return Name(max_length=LONGEST_DESCRIPTION, allow_blank=True, **more)


class WebhookIn(Shape):
    """A new endpoint. Without types, it gets every event."""

    url = Line(max_length=LONGEST_URL)
    description = _description_input(default="")
    types = _types_input(default=list)


class WebhookChangeIn(Shape):
    """Changes to an endpoint. Fields that are not named stay as they are."""

    url = Line(max_length=LONGEST_URL, required=False)
    description = _description_input(required=False)
    types = _types_input(required=False)
    is_active = Flag(required=False)


class RedeliverIn(Shape):
    """The start of the deliveries to send again: failed ones created at this time or later."""

    since = Moment()


# Answers about webhooks. Only two of them contain a secret: those that create it.


WebhookType = Annotated[str, ("codes", tuple(TYPES))]
DeliveredType = Annotated[str, ("codes", (*TYPES, TEST))]
DeliveryState = Annotated[str, ("codes", tuple(WebhookDelivery.State.values))]
OffReason = Annotated[str, ("codes", tuple(WebhookEndpoint.OffReason.values))]


class WebhookOut(TypedDict):
    """An endpoint. Without types, it gets every event."""

    id: UUID
    url: str
    description: str
    types: list[WebhookType]
    is_active: bool
    off_reason: OffReason | None
    off_at: datetime | None
    failures: Count
    last_success_at: datetime | None
    old_secret_until: datetime | None
    created_at: datetime


class NewWebhookOut(WebhookOut):
    """An endpoint with its secret, which no other operation shows."""

    secret: str


class WebhookDeliveryOut(TypedDict):
    """An event on its way to an endpoint."""

    id: UUID
    webhook_id: str
    type: DeliveredType
    state: DeliveryState
    attempts: Count
    next_attempt_at: datetime | None
    finished_at: datetime | None
    last_status: int | None
    last_error: str | None
    created_at: datetime


class WebhookAttemptOut(TypedDict):
    """A request of a delivery and its answer, shortened, without signatures and cookies."""

    number: Count
    at: datetime
    duration_ms: Count
    request_headers: dict[str, str]
    error: str | None
    detail: str | None
    status: int | None
    response_headers: dict[str, str] | None
    response_body: str | None


class FullWebhookDeliveryOut(WebhookDeliveryOut):
    """A delivery with its body and its attempts, the newest first."""

    body: Any
    log: list[WebhookAttemptOut]


def webhook_out(endpoint: WebhookEndpoint) -> WebhookOut:
    """Return an endpoint, without its secrets."""
    return {
        "id": endpoint.id,
        "url": endpoint.url,
        "description": endpoint.description,
        "types": list(endpoint.types),
        "is_active": endpoint.is_active,
        "off_reason": endpoint.off_reason or None,
        "off_at": endpoint.off_at,
        "failures": endpoint.failures,
        "last_success_at": endpoint.last_success_at,
        "old_secret_until": endpoint.old_secret_until,
        "created_at": endpoint.created_at,
    }


def delivery_out(delivery: WebhookDelivery) -> WebhookDeliveryOut:
    """Return a delivery as lists show it."""
    return {
        "id": delivery.id,
        "webhook_id": delivery.webhook_id,
        "type": delivery.type,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "next_attempt_at": delivery.next_attempt_at,
        "finished_at": delivery.finished_at,
        "last_status": delivery.last_status,
        "last_error": delivery.last_error or None,
        "created_at": delivery.created_at,
    }


def full_delivery_out(
    delivery: WebhookDelivery, attempts: list[WebhookAttempt]
) -> FullWebhookDeliveryOut:
    """Return a delivery with its body and its attempts."""
    log: list[WebhookAttemptOut] = [
        {
            "number": each.number,
            "at": each.at,
            "duration_ms": each.duration_ms,
            "request_headers": each.request_headers,
            "error": each.error or None,
            "detail": each.detail or None,
            "status": each.status,
            "response_headers": each.response_headers,
            "response_body": each.response_body if each.status else None,
        }
        for each in attempts
    ]
    return {**delivery_out(delivery), "body": json.loads(delivery.body), "log": log}


# A company's webhook endpoints and their deliveries.


_MANAGE = Action.MANAGE_WEBHOOKS


class Webhooks(Endpoint):
    """`/webhooks`"""

    answers_hold_secrets = True

    @describes("list_webhooks", Tag.WEBHOOKS, _MANAGE, PageOf[WebhookOut], parameters=PAGED)
    def get(self, request: Request) -> Response:
        """Return the company's endpoints, newest first."""
        company_id = authorize_company(caller_of(request), _MANAGE).company_id
        after, limit = pagination.page_cursor_id(request), pagination.page_limit(request)
        page = endpoints.read_page(company_id, after=after, limit=limit)
        return answer_page(
            request, pagination.paginated(page, webhook_out, lambda row: encode_cursor(str(row.id)))
        )

    @describes(
        "create_webhook",
        Tag.WEBHOOKS,
        _MANAGE,
        NewWebhookOut,
        status=201,
        takes=(WebhookIn,),
        refuses=(DUPLICATE_SUBMISSION, LIMIT_REACHED),
        headers=("Location",),
        about="The URL must be https and reachable from the internet. Only this answer shows the"
        " secret, and for five minutes a repetition under the same `Idempotency-Key`."
        " Deliveries are signed according to Standard Webhooks 1.0. They arrive at least once,"
        " and in no guaranteed order: `seq` in the body says which event of a job came first. "
        "409 `DUPLICATE_SUBMISSION` concerns the `Idempotency-Key`, not the URL: an endpoint"
        " was created under it more than five minutes ago, or has been changed since. Its id is"
        " `existing_id`; its secret is not shown again. Without a key, the same URL twice makes"
        " two endpoints.",
    )
    def post(self, request: Request) -> Response:
        """Create an endpoint: 201. It gets events from now on."""
        caller = authorize_company(caller_of(request), _MANAGE)
        given = read_body(request, WebhookIn)
        row, secret = endpoints.create(
            company_id=caller.company_id,
            endpoint_id=idempotent_row_id(request),
            by=caller.actor_id,
            **given,
        )
        where = {"Location": f"{request.path}/{row.id}"}
        return Response({**webhook_out(row), "secret": secret}, status=201, headers=where)


class OneWebhook(Endpoint):
    """`/webhooks/{id}`"""

    @describes("get_webhook", Tag.WEBHOOKS, _MANAGE, WebhookOut, tagged=True)
    def get(self, request: Request, webhook_id: UUID) -> Response:
        """Return an endpoint."""
        return answer_read(request, webhook_out(_own_endpoint(request, webhook_id)))

    @describes(
        "change_webhook",
        Tag.WEBHOOKS,
        _MANAGE,
        WebhookOut,
        takes=(WebhookChangeIn,),
        about="Deliveries that wait for an endpoint that is switched off fail, and can be sent"
        " again.",
    )
    def patch(self, request: Request, webhook_id: UUID) -> Response:
        """Change an endpoint, all or nothing; switch it on or off."""
        caller = authorize_company(caller_of(request), _MANAGE)
        changed = endpoints.change(
            company_id=caller.company_id,
            endpoint_id=webhook_id,
            changes=read_body(request, WebhookChangeIn),
            by=caller.actor_id,
        )
        return Response(webhook_out(changed))

    @describes("delete_webhook", Tag.WEBHOOKS, _MANAGE, None, status=204)
    def delete(self, request: Request, webhook_id: UUID) -> Response:
        """Delete an endpoint with its secrets: 204. Waiting deliveries are not sent."""
        caller = authorize_company(caller_of(request), _MANAGE)
        endpoints.delete(company_id=caller.company_id, endpoint_id=webhook_id, by=caller.actor_id)
        return Response(status=204)


class RotateSecret(Endpoint):
    """`/webhooks/{id}/rotate-secret`"""

    answers_hold_secrets = True

    @describes(
        "rotate_webhook_secret",
        Tag.WEBHOOKS,
        _MANAGE,
        NewWebhookOut,
        takes=(Nothing,),
        refuses=(DUPLICATE_SUBMISSION,),
        about="Only the last two secrets sign. Under an `Idempotency-Key`, a repetition creates"
        " no new secret: for five minutes it shows the same one again, then it gets 409"
        " `DUPLICATE_SUBMISSION`.",
    )
    def post(self, request: Request, webhook_id: UUID) -> Response:
        """Make a new secret. The previous one also signs for 24 hours."""
        caller = authorize_company(caller_of(request), _MANAGE)
        read_body(request, Nothing)
        row, secret = rotate_secret(
            company_id=caller.company_id,
            endpoint_id=webhook_id,
            rotation_id=idempotent_row_id(request),
            by=caller.actor_id,
        )
        return Response({**webhook_out(row), "secret": secret})


class TestWebhook(Endpoint):
    """`/webhooks/{id}/test`"""

    @describes(
        "test_webhook",
        Tag.WEBHOOKS,
        _MANAGE,
        WebhookDeliveryOut,
        status=202,
        takes=(Nothing,),
        refuses=(INVALID_TRANSITION,),
    )
    def post(self, request: Request, webhook_id: UUID) -> Response:
        """Send a `webhook.test`: 202 and the delivery."""
        caller = authorize_company(caller_of(request), _MANAGE)
        read_body(request, Nothing)
        sent = send_test(company_id=caller.company_id, endpoint_id=webhook_id)
        return Response(delivery_out(sent), status=202)


class Deliveries(Endpoint):
    """`/webhooks/{id}/deliveries`"""

    @describes(
        "list_webhook_deliveries",
        Tag.WEBHOOKS,
        _MANAGE,
        PageOf[WebhookDeliveryOut],
        parameters=(*PAGED, DELIVERY_STATE, OF_WEBHOOK_TYPE),
        about="Deliveries are kept for 30 days.",
    )
    def get(self, request: Request, webhook_id: UUID) -> Response:
        """Return the deliveries to an endpoint, newest first."""
        type_ = parameters.text(request, "type")
        if type_ is not None and type_ not in (*TYPES, TEST):
            parameters.refuse_parameter("type", _("Must be a type of webhooks."))
        page = endpoints.read_deliveries(
            _own_endpoint(request, webhook_id),
            state=parameters.choice(request, "state", WebhookDelivery.State),
            type_=type_,
            after=pagination.page_cursor_id(request),
            limit=pagination.page_limit(request),
        )
        return answer_page(
            request,
            pagination.paginated(page, delivery_out, lambda row: encode_cursor(str(row.id))),
        )


class OneDelivery(Endpoint):
    """`/webhooks/{id}/deliveries/{id}`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes("get_webhook_delivery", Tag.WEBHOOKS, _MANAGE, FullWebhookDeliveryOut, tagged=True)
    def get(self, request: Request, webhook_id: UUID, delivery_id: UUID) -> Response:
        """Return a delivery with its body, and each attempt with its answer."""
        delivery = endpoints.read_delivery(_own_endpoint(request, webhook_id), delivery_id)
        answer = full_delivery_out(delivery, endpoints.read_attempts([delivery.id]))
        return answer_read(request, answer)


class Redeliver(Endpoint):
    """`/webhooks/{id}/deliveries/{id}/redeliver`"""

    @describes(
        "redeliver_webhook",
        Tag.WEBHOOKS,
        _MANAGE,
        WebhookDeliveryOut,
        status=202,
        takes=(Nothing,),
        refuses=(INVALID_TRANSITION,),
    )
    def post(self, request: Request, webhook_id: UUID, delivery_id: UUID) -> Response:
        """Send a delivery again, delivered or not, under the same `webhook-id`: 202."""
        caller = authorize_company(caller_of(request), _MANAGE)
        read_body(request, Nothing)
        sent = redeliver_one(
            company_id=caller.company_id, endpoint_id=webhook_id, delivery_id=delivery_id
        )
        return Response(delivery_out(sent), status=202)


class RedeliverFailed(Endpoint):
    """`/webhooks/{id}/deliveries/redeliver`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes(
        "redeliver_failed_webhooks",
        Tag.WEBHOOKS,
        _MANAGE,
        TaskOut,
        status=202,
        takes=(RedeliverIn,),
        refuses=(INVALID_TRANSITION,),
        headers=("Location",),
        about="At most 100,000, the oldest first.",
    )
    def post(self, request: Request, webhook_id: UUID) -> Response:
        """Send every failed delivery again that was created since a time: 202 and the task."""
        caller = authorize_company(caller_of(request), _MANAGE)
        made = start_redelivering(
            company_id=caller.company_id,
            endpoint_id=webhook_id,
            since=read_body(request, RedeliverIn)["since"],
            producer=caller.producer,
        )
        task = read_task(caller.company_id, made.id)
        where = {"Location": reverse("api_task", args=[task.id])}
        return Response(task_out(task), status=202, headers=where)


def _own_endpoint(request: Request, webhook_id: UUID) -> WebhookEndpoint:
    caller = authorize_company(caller_of(request), _MANAGE)
    return endpoints.read(caller.company_id, webhook_id)
