"""A company's webhook endpoints: list, create, edit, switch, rotate the secret, delete.

Only the response that makes a secret shows it; no session or URL contains it.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from uuid_utils.compat import uuid7

from pipeline.domain.errors import TooManyWebhooks, WebhookAlreadyMade, WebhookUrlRefused
from pipeline.domain.permissions import Action
from pipeline.models import WebhookEndpoint
from pipeline.pages.access import (
    Member,
    current_member,
    for_members,
    member_of_sent_form,
    require_access,
)
from pipeline.pages.webhooks.forms import EndpointForm
from pipeline.pages.webhooks.words import OFF_REASONS
from pipeline.webhooks import endpoints, reads

_MANAGE = Action.MANAGE_WEBHOOKS
FIELDS = ("url", "description", "types")


@require_safe
@for_members(_MANAGE)
def webhooks(request: HttpRequest) -> HttpResponse:
    """List the endpoints: all, since a company has only a few."""
    member = require_access(current_member(request), _MANAGE)
    found = reads.read_webhook_endpoints(
        member.company.id, after=None, limit=endpoints.MOST_ENDPOINTS
    )
    rows = [(each, OFF_REASONS.get(each.off_reason, "")) for each in found.rows]
    return render(request, "webhooks/list.html", {"endpoints": rows})


@never_cache
@require_http_methods(["GET", "POST"])
@for_members(_MANAGE)
def new_webhook(request: HttpRequest) -> HttpResponse:
    """Create an endpoint; the response to the form shows its secret."""
    owner = require_access(member_of_sent_form(request), _MANAGE)
    if request.method == "GET":
        return _webhook_endpoint_form(request, EndpointForm(initial={"endpoint_id": uuid7()}), None)
    form = EndpointForm(request.POST)
    if form.is_valid():
        try:
            row, secret = endpoints.create_webhook_endpoint(
                company_id=owner.company.id,
                endpoint_id=form.cleaned_data["endpoint_id"],
                **_webhook_endpoint_values(form),
            )
        except (TooManyWebhooks, WebhookAlreadyMade) as error:
            form.add_error(None, str(error))
            form.data = request.POST.copy()
            form.data["endpoint_id"] = str(uuid7())
        except WebhookUrlRefused as error:
            form.add_error("url", str(error))
        else:
            return _webhook_endpoint_secret(request, row, secret, status=201)
    return _webhook_endpoint_form(request, form, None)


@require_http_methods(["GET", "POST"])
@for_members(_MANAGE)
def edit_webhook(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Change the URL, the description and the events of an endpoint."""
    owner, row = _own_webhook_endpoint(request, webhook_id)
    if request.method == "GET":
        return _webhook_endpoint_form(
            request, EndpointForm(initial={n: getattr(row, n) for n in FIELDS}), row
        )
    form = EndpointForm(request.POST)
    if form.is_valid():
        try:
            endpoints.change_webhook_endpoint(
                company_id=owner.company.id,
                endpoint_id=row.id,
                changes=_webhook_endpoint_values(form),
            )
        except WebhookUrlRefused as error:
            form.add_error("url", str(error))
        else:
            messages.success(request, "Endpoint saved.")
            return redirect("webhook", row.id)
    return _webhook_endpoint_form(request, form, row)


@never_cache
@require_http_methods(["GET", "POST"])
@for_members(_MANAGE)
def rotate_webhook(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Ask for confirmation, then make a new secret and show it."""
    owner, row = _own_webhook_endpoint(request, webhook_id)
    if request.method == "GET":
        return render(request, "webhooks/rotate.html", {"row": row})
    row, secret = endpoints.rotate_endpoint_secret(company_id=owner.company.id, endpoint_id=row.id)
    return _webhook_endpoint_secret(request, row, secret, status=200)


@require_POST
@for_members(_MANAGE)
def switch_webhook(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Switch an endpoint on or off."""
    owner, row = _own_webhook_endpoint(request, webhook_id)
    on = request.POST.get("enabled") == "yes"
    endpoints.change_webhook_endpoint(
        company_id=owner.company.id, endpoint_id=row.id, changes={"is_active": on}
    )
    messages.success(request, f"Endpoint switched {'on' if on else 'off'}.")
    return redirect("webhook", row.id)


@require_http_methods(["GET", "POST"])
@for_members(_MANAGE)
def end_webhook(request: HttpRequest, webhook_id: UUID) -> HttpResponse:
    """Ask for confirmation, then delete an endpoint."""
    owner, row = _own_webhook_endpoint(request, webhook_id)
    if request.method == "GET":
        return render(request, "webhooks/delete.html", {"row": row})
    endpoints.delete_webhook_endpoint(company_id=owner.company.id, endpoint_id=row.id)
    messages.success(request, "Endpoint deleted.")
    return redirect("webhooks")


def _own_webhook_endpoint(request: HttpRequest, webhook_id: UUID) -> tuple[Member, WebhookEndpoint]:
    owner = require_access(member_of_sent_form(request), _MANAGE)
    return owner, reads.read_webhook_endpoint(owner.company.id, webhook_id)


def _webhook_endpoint_values(form: EndpointForm) -> dict[str, Any]:
    return {name: form.cleaned_data[name] for name in FIELDS}


def _webhook_endpoint_form(
    request: HttpRequest, form: EndpointForm, row: WebhookEndpoint | None
) -> HttpResponse:
    status = 422 if form.is_bound else 200
    return render(request, "webhooks/form.html", {"form": form, "row": row}, status=status)


def _webhook_endpoint_secret(
    request: HttpRequest, row: WebhookEndpoint, secret: str, *, status: int
) -> HttpResponse:
    context = {"row": row, "secret": secret, "is_new": status == 201}
    return render(request, "webhooks/secret.html", context, status=status)
