"""One webhook endpoint with its deliveries, and one delivery with its attempts."""

from __future__ import annotations

import json
from datetime import timedelta
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from pipeline.domain.errors import WebhookOff
from pipeline.domain.permissions import Action
from pipeline.models import WebhookDelivery, WebhookEndpoint
from pipeline.pages.access import (
    Member,
    current_member,
    for_members,
    member_of_sent_form,
    require_access,
)
from pipeline.pages.page_urls import page_id_in_url, page_url_with
from pipeline.pages.webhooks.words import OFF_REASONS, STATES, webhook_failure_in_words
from pipeline.webhooks import reads
from pipeline.webhooks.endpoints import send_test_to_endpoint
from pipeline.webhooks.redeliver import redeliver_one_webhook, start_redelivering_webhooks
from pipeline.webhooks.types import TEST, TYPES

_MANAGE = Action.MANAGE_WEBHOOKS
ROWS = 50
# Times since which failed deliveries can be sent again, by their value in the form.
SINCE = {
    "hour": ("the last hour", timedelta(hours=1)),
    "day": ("the last 24 hours", timedelta(days=1)),
    "days": ("the last 3 days", timedelta(days=3)),
    "month": ("the last 30 days", timedelta(days=30)),
}


@require_safe
@for_members(_MANAGE)
def webhook_with_deliveries(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Show an endpoint with its deliveries, newest first, of a state and a type if chosen."""
    _, row = _webhook_of_deliveries(current_member(request), webhook_id)
    state, type_ = request.GET.get("state", ""), request.GET.get("type", "")
    state = state if state in STATES else ""
    type_ = type_ if type_ in TYPES or type_ == TEST else ""
    page = reads.read_webhook_deliveries(
        row, state=state, type_=type_, after=page_id_in_url(request, "after"), limit=ROWS
    )
    context = {
        "row": row,
        "off_reason": OFF_REASONS.get(row.off_reason, ""),
        "has_old_secret": row.old_secret_until and row.old_secret_until > timezone.now(),
        "deliveries": [_shown_webhook_delivery(each) for each in page.rows],
        "state": state,
        "type": type_,
        "is_filtered": bool(state or type_),
        "states": [(value, word) for value, (word, _) in STATES.items()],
        "types": [*TYPES, TEST],
        "since": [(value, words) for value, (words, _) in SINCE.items()],
        "next_url": page_url_with(request, after=page.rows[-1].id) if page.more else "",
        "first_url": page_url_with(request, after=None) if "after" in request.GET else "",
    }
    return render(request, "webhooks/endpoint.html", context)


@require_safe
@for_members(_MANAGE)
def webhook_delivery(request: HttpRequest, webhook_id: UUID, delivery_id: UUID) -> HttpResponse:
    """Show a delivery: its body, and each attempt with its answer."""
    _, row = _webhook_of_deliveries(current_member(request), webhook_id)
    delivery = reads.read_webhook_delivery(row, delivery_id)
    attempts = [
        (each, webhook_failure_in_words(each.error, each.status))
        for each in reads.read_webhook_attempts([delivery.id])
    ]
    body = json.dumps(json.loads(delivery.body), indent=2, ensure_ascii=False)
    context = {
        "row": row,
        "shown": _shown_webhook_delivery(delivery),
        "attempts": attempts,
        "body": body,
    }
    return render(request, "webhooks/delivery.html", context)


@require_POST
@for_members(_MANAGE)
def deliver_test_webhook(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Send a test to an endpoint."""
    owner, row = _webhook_of_deliveries(member_of_sent_form(request), webhook_id)
    try:
        sent = send_test_to_endpoint(company_id=owner.company.id, endpoint_id=row.id)
    except WebhookOff as error:
        messages.error(request, str(error))
        return redirect("webhook", row.id)
    messages.success(request, "Test sent. Reload this page to see the answer.")
    return redirect("webhook_delivery", row.id, sent.id)


@require_POST
@for_members(_MANAGE)
def redeliver_webhook(request: HttpRequest, webhook_id: UUID, delivery_id: UUID) -> HttpResponse:
    """Send a delivery again."""
    owner, row = _webhook_of_deliveries(member_of_sent_form(request), webhook_id)
    try:
        redeliver_one_webhook(
            company_id=owner.company.id, endpoint_id=row.id, delivery_id=delivery_id
        )
    except WebhookOff as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "Sent again. Reload this page to see the answer.")
    return redirect("webhook_delivery", row.id, delivery_id)


@require_POST
@for_members(_MANAGE)
def redeliver_webhooks(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Start a task that sends every delivery again that has failed since a time."""
    owner, row = _webhook_of_deliveries(member_of_sent_form(request), webhook_id)
    words, age = SINCE.get(request.POST.get("since", ""), SINCE["day"])
    try:
        made = start_redelivering_webhooks(
            company_id=owner.company.id,
            endpoint_id=row.id,
            since=timezone.now() - age,
            producer=f"member:{owner.user.id}",
        )
    except WebhookOff as error:
        messages.error(request, str(error))
        return redirect("webhook", row.id)
    messages.success(request, f"Failed deliveries of {words} are being sent again.")
    return redirect("task", made.id)


def _webhook_of_deliveries(
    member: Member | None, webhook_id: UUID
) -> tuple[Member, WebhookEndpoint]:
    owner = require_access(member, _MANAGE)
    return owner, reads.read_webhook_endpoint(owner.company.id, webhook_id)


def _shown_webhook_delivery(delivery: WebhookDelivery) -> dict[str, object]:
    word, tone = STATES[WebhookDelivery.State(delivery.state)]
    why = webhook_failure_in_words(delivery.last_error, delivery.last_status)
    return {"delivery": delivery, "word": word, "tone": tone, "why": why}
