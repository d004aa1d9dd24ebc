"""Form of a webhook endpoint."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from uuid_utils.compat import uuid7

from applicants.forms import NameField
from pipeline.domain.errors import (
    TooManyWebhooks,
    WebhookAlreadyMade,
    WebhookOff,
    WebhookUrlRefused,
)
from pipeline.domain.permissions import Action
from pipeline.models import WebhookDelivery, WebhookEndpoint
from pipeline.models.webhooks import LONGEST_DESCRIPTION, LONGEST_URL
from pipeline.outgoing.client import Failure
from pipeline.pages import page_urls
from pipeline.pages.access import (
    Member,
    current_member,
    for_members,
    form_member,
    require_permission,
)
from pipeline.pages.forms import PlainForm
from pipeline.webhooks import endpoints
from pipeline.webhooks import endpoints as reads
from pipeline.webhooks.endpoints import redeliver_one, send_test, start_redelivering
from pipeline.webhooks.queue import TEST, TYPES


class EndpointForm(PlainForm):
    """Form for a new or a changed endpoint.

    `endpoint_id` is created with the empty form, so that sending the form twice makes one endpoint.
    """

    endpoint_id = forms.UUIDField(widget=forms.HiddenInput, required=False)
    url = forms.CharField(
        max_length=LONGEST_URL,
        label="URL",
        help_text=gettext_lazy("Where we send each event, like https://example.org/webhooks."),
        widget=forms.URLInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    description = NameField(
        max_length=LONGEST_DESCRIPTION,
        required=False,
        label=pgettext_lazy("label", "Description"),
        help_text=gettext_lazy("What it is for, like “Chat channel of the hiring team”."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    types = forms.MultipleChoiceField(
        required=False,
        choices=list(TYPES.items()),
        widget=forms.CheckboxSelectMultiple,
        label=gettext_lazy("Events to send"),
    )


# Groups of types on the form. An event of an application that is named in none is in the last.
_PEOPLE = {
    gettext_lazy("Applying and leaving"): {"applied", "verified", "withdrawn", "closed_out"},
    gettext_lazy("Decisions and questions"): {
        *("removed", "contested", "contest_answered", "reinstated"),
        *("question_asked", "answers_changed"),
    },
    gettext_lazy("Wishes of people who wait"): {"deferred", "preaccepted", "pass_asked", "passed"},
}
_SEATS = gettext_lazy("Seats and misses")
_OF_PREFIX = {
    "job": gettext_lazy("The job"),
    "message": pgettext_lazy("label", "Messages"),
    "task": gettext_lazy("Background work"),
}


def group_types(form: EndpointForm) -> list[tuple[str, list[tuple[Any, str]]]]:
    """Return the boxes of the types with their names, in groups that people understand."""
    groups: dict[Any, list[tuple[Any, str]]] = {
        name: [] for name in (*_PEOPLE, _SEATS, *_OF_PREFIX.values())
    }
    for choice in form["types"]:
        type_ = choice.data["value"]
        prefix, _dot, event = type_.partition(".")
        of_people = next((name for name, events in _PEOPLE.items() if event in events), _SEATS)
        groups[_OF_PREFIX.get(prefix, of_people)].append((choice, type_))
    return [(str(name), choices) for name, choices in groups.items()]


def describe_types(form: EndpointForm) -> str:
    """Say which events the form asks for."""
    chosen = len(form["types"].value() or [])
    if not chosen:
        return _("Every event")
    words = ngettext("%(count)s of %(all)s kinds", "%(count)s of %(all)s kinds", chosen)
    return words % {"count": chosen, "all": len(TYPES)}


# Webhooks in words: why an attempt failed, and why an endpoint is off.


FAILURES = {
    Failure.NAME_NOT_FOUND: gettext_lazy("The host name does not resolve"),
    Failure.ADDRESS_REFUSED: gettext_lazy("The host has no address on the public internet"),
    Failure.CONNECTION_FAILED: gettext_lazy("No connection"),
    Failure.TLS_FAILED: gettext_lazy("The certificate could not be verified"),
    Failure.TIMEOUT: gettext_lazy("No answer within 15 seconds"),
    Failure.BAD_ANSWER: gettext_lazy("The answer could not be read"),
    Failure.REDIRECT: gettext_lazy("It answered with a redirect, which we do not follow"),
    Failure.STATUS: gettext_lazy("It answered with an error"),
    Failure.GONE: gettext_lazy("It answered 410, so it wants no more webhooks"),
    Failure.SECRET_UNREADABLE: gettext_lazy("We cannot read its secret any more: rotate it"),
    Failure.ENDPOINT_OFF: gettext_lazy("Not sent, because the endpoint was switched off"),
}
OFF_REASONS: dict[str, Promise] = {
    WebhookEndpoint.OffReason.BY_HAND: gettext_lazy("It was switched off by hand."),
    WebhookEndpoint.OffReason.GONE: gettext_lazy(
        "It answered 410 Gone, which means that it wants no more webhooks."
    ),
    WebhookEndpoint.OffReason.FAILING: gettext_lazy(
        "A delivery failed ten times in three days, and nothing else arrived in that time."
    ),
}
# Word and tone of each state of a delivery.
STATES = {
    WebhookDelivery.State.PENDING: (pgettext_lazy("delivery", "Waiting"), "warn"),
    WebhookDelivery.State.DELIVERED: (pgettext_lazy("delivery", "Delivered"), "good"),
    WebhookDelivery.State.FAILED: (pgettext_lazy("delivery", "Failed"), "bad"),
}


def describe_failure(error: str, status: int | None) -> str:
    """Describe why an attempt failed; empty if it did not."""
    if not error:
        return ""
    if status and error == Failure.STATUS:
        return _("It answered with an error (%(status)s)") % {"status": status}
    return str(FAILURES.get(Failure(error), error))


# One webhook endpoint with its deliveries, and one delivery with its attempts.


_MANAGE = Action.MANAGE_WEBHOOKS
ROWS = 50
# Times since which failed deliveries can be sent again, by their value in the form.
SINCE = {
    "hour": (gettext_lazy("the last hour"), timedelta(hours=1)),
    "day": (gettext_lazy("the last 24 hours"), timedelta(days=1)),
    "days": (gettext_lazy("the last 3 days"), timedelta(days=3)),
    "month": (gettext_lazy("the last 30 days"), timedelta(days=30)),
}
# What is said when the deliveries of each are sent again.
_SENT_AGAIN = {
    "hour": gettext_lazy("Failed deliveries of the last hour are being sent again."),
    "day": gettext_lazy("Failed deliveries of the last 24 hours are being sent again."),
    "days": gettext_lazy("Failed deliveries of the last 3 days are being sent again."),
    "month": gettext_lazy("Failed deliveries of the last 30 days are being sent again."),
}


@require_safe
@for_members(_MANAGE)
def show(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Show an endpoint with its deliveries, newest first, of a state and a type if chosen."""
    _member, row = _read_endpoint(current_member(request), webhook_id)
    state, type_ = request.GET.get("state", ""), request.GET.get("type", "")
    state = state if state in STATES else ""
    type_ = type_ if type_ in TYPES or type_ == TEST else ""
    page = endpoints.read_deliveries(
        row, state=state, type_=type_, after=page_urls.read_id(request, "after"), limit=ROWS
    )
    context = {
        "row": row,
        "off_reason": OFF_REASONS.get(row.off_reason, ""),
        "has_old_secret": row.old_secret_until and row.old_secret_until > timezone.now(),
        "deliveries": [_shown_delivery(each) for each in page.rows],
        "state": state,
        "type": type_,
        "is_filtered": bool(state or type_),
        "states": [(value, word) for value, (word, _tone) in STATES.items()],
        "types": [*TYPES, TEST],
        "since": [(value, words) for value, (words, _age) in SINCE.items()],
        "next_url": page_urls.change_query(request, after=page.rows[-1].id) if page.more else "",
        "first_url": page_urls.change_query(request, after=None) if "after" in request.GET else "",
    }
    return render(request, "webhooks/endpoint.html", context)


@require_safe
@for_members(_MANAGE)
def show_delivery(request: HttpRequest, webhook_id: UUID, delivery_id: UUID) -> HttpResponse:
    """Show a delivery: its body, and each attempt with its answer."""
    _member, row = _read_endpoint(current_member(request), webhook_id)
    delivery = endpoints.read_delivery(row, delivery_id)
    attempts = [
        (each, describe_failure(each.error, each.status))
        for each in endpoints.read_attempts([delivery.id])
    ]
    body = json.dumps(json.loads(delivery.body), indent=2, ensure_ascii=False)
    context = {
        "row": row,
        "shown": _shown_delivery(delivery),
        "attempts": attempts,
        "body": body,
    }
    return render(request, "webhooks/delivery.html", context)


@require_POST
@for_members(_MANAGE)
def test(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Send a test to an endpoint."""
    owner, row = _read_endpoint(form_member(request), webhook_id)
    try:
        sent = send_test(company_id=owner.company.id, endpoint_id=row.id)
    except WebhookOff as error:
        messages.error(request, str(error))
        return redirect("webhook", row.id)
    messages.success(request, _("Test sent. Reload this page to see the answer."))
    return redirect("webhook_delivery", row.id, sent.id)


@require_POST
@for_members(_MANAGE)
def redeliver(request: HttpRequest, webhook_id: UUID, delivery_id: UUID) -> HttpResponse:
    """Send a delivery again."""
    owner, row = _read_endpoint(form_member(request), webhook_id)
    try:
        redeliver_one(company_id=owner.company.id, endpoint_id=row.id, delivery_id=delivery_id)
    except WebhookOff as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Sent again. Reload this page to see the answer."))
    return redirect("webhook_delivery", row.id, delivery_id)


@require_POST
@for_members(_MANAGE)
def redeliver_all(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Start a task that sends every delivery again that has failed since a time."""
    owner, row = _read_endpoint(form_member(request), webhook_id)
    since = request.POST.get("since", "")
    since = since if since in SINCE else "day"
    try:
        made = start_redelivering(
            company_id=owner.company.id,
            endpoint_id=row.id,
            since=timezone.now() - SINCE[since][1],
            producer=f"member:{owner.user.id}",
        )
    except WebhookOff as error:
        messages.error(request, str(error))
        return redirect("webhook", row.id)
    messages.success(request, str(_SENT_AGAIN[since]))
    return redirect("task", made.id)


def _read_endpoint(member: Member | None, webhook_id: UUID) -> tuple[Member, WebhookEndpoint]:
    owner = require_permission(member, _MANAGE)
    return owner, endpoints.read(owner.company.id, webhook_id)


def _shown_delivery(delivery: WebhookDelivery) -> dict[str, object]:
    word, tone = STATES[WebhookDelivery.State(delivery.state)]
    why = describe_failure(delivery.last_error, delivery.last_status)
    return {"delivery": delivery, "word": word, "tone": tone, "why": why}


# A company's webhook endpoints: list, create, edit, switch, rotate the secret, delete. Only the
# response that makes a secret shows it; no session or URL contains it.


FIELDS = ("url", "description", "types")


@require_safe
@for_members(_MANAGE)
def index(request: HttpRequest) -> HttpResponse:
    """List the endpoints: all, since a company has only a few."""
    member = require_permission(current_member(request), _MANAGE)
    found = reads.read_page(member.company.id, after=None, limit=endpoints.MOST_ENDPOINTS)
    rows = [(each, OFF_REASONS.get(each.off_reason, "")) for each in found.rows]
    return render(request, "webhooks/list.html", {"endpoints": rows})


@never_cache
@require_http_methods(["GET", "POST"])
@for_members(_MANAGE)
def new(request: HttpRequest) -> HttpResponse:
    """Create an endpoint; the response to the form shows its secret."""
    owner = require_permission(form_member(request), _MANAGE)
    if request.method == "GET":
        return _render_form(request, EndpointForm(initial={"endpoint_id": uuid7()}), None)
    form = EndpointForm(request.POST)
    if form.is_valid():
        try:
            row, secret = endpoints.create(
                company_id=owner.company.id,
                endpoint_id=form.cleaned_data["endpoint_id"],
                **_form_values(form),
                by=owner.user.id,
            )
        except (TooManyWebhooks, WebhookAlreadyMade) as error:
            form.add_error(None, str(error))
            form.data = request.POST.copy()
            form.data["endpoint_id"] = str(uuid7())
        except WebhookUrlRefused as error:
            form.add_error("url", str(error))
        else:
            return _render_secret(request, row, secret, status=201)
    return _render_form(request, form, None)


@require_http_methods(["GET", "POST"])
@for_members(_MANAGE)
def edit(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Change the URL, the description and the events of an endpoint."""
    owner, row = _own_endpoint(request, webhook_id)
    if request.method == "GET":
        return _render_form(
            request, EndpointForm(initial={n: getattr(row, n) for n in FIELDS}), row
        )
    form = EndpointForm(request.POST)
    if form.is_valid():
        try:
            endpoints.change(
                company_id=owner.company.id,
                endpoint_id=row.id,
                changes=_form_values(form),
                by=owner.user.id,
            )
        except WebhookUrlRefused as error:
            form.add_error("url", str(error))
        else:
            messages.success(request, _("Endpoint saved."))
            return redirect("webhook", row.id)
    return _render_form(request, form, row)


@never_cache
@require_http_methods(["GET", "POST"])
@for_members(_MANAGE)
def rotate(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Ask for confirmation, then make a new secret and show it."""
    owner, row = _own_endpoint(request, webhook_id)
    if request.method == "GET":
        return render(request, "webhooks/rotate.html", {"row": row})
    row, secret = endpoints.rotate_secret(
        company_id=owner.company.id, endpoint_id=row.id, by=owner.user.id
    )
    return _render_secret(request, row, secret, status=200)


@require_POST
@for_members(_MANAGE)
def switch(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Switch an endpoint on or off."""
    owner, row = _own_endpoint(request, webhook_id)
    on = request.POST.get("enabled") == "yes"
    endpoints.change(
        company_id=owner.company.id,
        endpoint_id=row.id,
        changes={"is_active": on},
        by=owner.user.id,
    )
    messages.success(request, _("Endpoint switched on.") if on else _("Endpoint switched off."))
    return redirect("webhook", row.id)


@require_http_methods(["GET", "POST"])
@for_members(_MANAGE)
def delete(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Ask for confirmation, then delete an endpoint."""
    owner, row = _own_endpoint(request, webhook_id)
    if request.method == "GET":
        return render(request, "webhooks/delete.html", {"row": row})
    endpoints.delete(company_id=owner.company.id, endpoint_id=row.id, by=owner.user.id)
    messages.success(request, _("Endpoint deleted."))
    return redirect("webhooks")


def _own_endpoint(request: HttpRequest, webhook_id: UUID) -> tuple[Member, WebhookEndpoint]:
    owner = require_permission(form_member(request), _MANAGE)
    return owner, reads.read(owner.company.id, webhook_id)


def _form_values(form: EndpointForm) -> dict[str, Any]:
    return {name: form.cleaned_data[name] for name in FIELDS}


def _render_form(
    request: HttpRequest, form: EndpointForm, row: WebhookEndpoint | None
) -> HttpResponse:
    context = {
        "form": form,
        "row": row,
        "groups": group_types(form),
        "types_words": describe_types(form),
    }
    return render(request, "webhooks/form.html", context, status=422 if form.is_bound else 200)


def _render_secret(
    request: HttpRequest, row: WebhookEndpoint, secret: str, *, status: int
) -> HttpResponse:
    context = {"row": row, "secret": secret, "is_new": status == 201}
    return render(request, "webhooks/secret.html", context, status=status)
