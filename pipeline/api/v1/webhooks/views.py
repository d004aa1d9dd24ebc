"""A company's webhook endpoints and their deliveries."""

from __future__ import annotations

from uuid import UUID

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api import pagination, parameters
from pipeline.api.access import authorize_company
from pipeline.api.callers import caller_of
from pipeline.api.endpoint import Endpoint, endpoint_answer, endpoint_body, endpoint_page_answer
from pipeline.api.idempotency import idempotent_row_id
from pipeline.api.openapi.parameters import DELIVERY_STATE, OF_WEBHOOK_TYPE, PAGED
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.problem_types import DUPLICATE_SUBMISSION, INVALID_TRANSITION, LIMIT_REACHED
from pipeline.api.rendering import NumberJSONRenderer
from pipeline.api.v1.fields import Nothing
from pipeline.api.v1.outputs import PageOf
from pipeline.api.v1.tasks.outputs import TaskOut, task_out
from pipeline.api.v1.webhooks.inputs import RedeliverIn, WebhookChangeIn, WebhookIn
from pipeline.api.v1.webhooks.outputs import (
    FullWebhookDeliveryOut,
    NewWebhookOut,
    WebhookDeliveryOut,
    WebhookOut,
    delivery_out,
    full_delivery_out,
    webhook_out,
)
from pipeline.background.tasks import task_of
from pipeline.domain.permissions import Action
from pipeline.models import WebhookDelivery, WebhookEndpoint
from pipeline.selectors.cursors import encode_cursor
from pipeline.webhooks import reads
from pipeline.webhooks.endpoints import (
    change_webhook_endpoint,
    create_webhook_endpoint,
    delete_webhook_endpoint,
    rotate_endpoint_secret,
    send_test_to_endpoint,
)
from pipeline.webhooks.redeliver import redeliver_one_webhook, start_redelivering_webhooks
from pipeline.webhooks.types import TEST, TYPES

_MANAGE = Action.MANAGE_WEBHOOKS


class Webhooks(Endpoint):
    """`/webhooks`"""

    answers_hold_secrets = True

    @describes("list_webhooks", Tag.WEBHOOKS, _MANAGE, PageOf[WebhookOut], parameters=PAGED)
    def get(self, request: Request) -> Response:
        """Return the company's endpoints, newest first."""
        company_id = authorize_company(caller_of(request), _MANAGE).company_id
        after, limit = pagination.page_cursor_id(request), pagination.page_limit(request)
        page = reads.read_webhook_endpoints(company_id, after=after, limit=limit)
        return endpoint_page_answer(
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
        company_id = authorize_company(caller_of(request), _MANAGE).company_id
        given = endpoint_body(request, WebhookIn)
        row, secret = create_webhook_endpoint(
            company_id=company_id, endpoint_id=idempotent_row_id(request), **given
        )
        where = {"Location": f"{request.path}/{row.id}"}
        return Response({**webhook_out(row), "secret": secret}, status=201, headers=where)


class OneWebhook(Endpoint):
    """`/webhooks/{id}`"""

    @describes("get_webhook", Tag.WEBHOOKS, _MANAGE, WebhookOut, tagged=True)
    def get(self, request: Request, webhook_id: UUID) -> Response:
        """Return an endpoint."""
        return endpoint_answer(request, webhook_out(_own_webhook(request, webhook_id)))

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
        changed = change_webhook_endpoint(
            company_id=caller.company_id,
            endpoint_id=webhook_id,
            changes=endpoint_body(request, WebhookChangeIn),
        )
        return Response(webhook_out(changed))

    @describes("delete_webhook", Tag.WEBHOOKS, _MANAGE, None, status=204)
    def delete(self, request: Request, webhook_id: UUID) -> Response:
        """Delete an endpoint with its secrets: 204. Waiting deliveries are not sent."""
        caller = authorize_company(caller_of(request), _MANAGE)
        delete_webhook_endpoint(company_id=caller.company_id, endpoint_id=webhook_id)
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
        endpoint_body(request, Nothing)
        row, secret = rotate_endpoint_secret(
            company_id=caller.company_id,
            endpoint_id=webhook_id,
            rotation_id=idempotent_row_id(request),
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
        endpoint_body(request, Nothing)
        sent = send_test_to_endpoint(company_id=caller.company_id, endpoint_id=webhook_id)
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
        type_ = parameters.text_parameter(request, "type")
        if type_ is not None and type_ not in (*TYPES, TEST):
            parameters.refuse_parameter("type", "Must be a type of webhooks.")
        page = reads.read_webhook_deliveries(
            _own_webhook(request, webhook_id),
            state=parameters.choice_parameter(request, "state", WebhookDelivery.State),
            type_=type_,
            after=pagination.page_cursor_id(request),
            limit=pagination.page_limit(request),
        )
        return endpoint_page_answer(
            request,
            pagination.paginated(page, delivery_out, lambda row: encode_cursor(str(row.id))),
        )


class OneDelivery(Endpoint):
    """`/webhooks/{id}/deliveries/{id}`"""

    renderer_classes = (NumberJSONRenderer,)

    @describes("get_webhook_delivery", Tag.WEBHOOKS, _MANAGE, FullWebhookDeliveryOut, tagged=True)
    def get(self, request: Request, webhook_id: UUID, delivery_id: UUID) -> Response:
        """Return a delivery with its body, and each attempt with its answer."""
        delivery = reads.read_webhook_delivery(_own_webhook(request, webhook_id), delivery_id)
        answer = full_delivery_out(delivery, reads.read_webhook_attempts([delivery.id]))
        return endpoint_answer(request, answer)


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
        endpoint_body(request, Nothing)
        sent = redeliver_one_webhook(
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
        made = start_redelivering_webhooks(
            company_id=caller.company_id,
            endpoint_id=webhook_id,
            since=endpoint_body(request, RedeliverIn)["since"],
            producer=caller.producer,
        )
        task = task_of(caller.company_id, made.id)
        where = {"Location": reverse("api_task", args=[task.id])}
        return Response(task_out(task), status=202, headers=where)


def _own_webhook(request: Request, webhook_id: UUID) -> WebhookEndpoint:
    caller = authorize_company(caller_of(request), _MANAGE)
    return reads.read_webhook_endpoint(caller.company_id, webhook_id)
