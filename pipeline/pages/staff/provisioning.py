"""Settings of provisioning: the tokens of SCIM, and the groups that the identity provider sends."""

from __future__ import annotations

from uuid import UUID

from allauth.account.internal.flows.reauthentication import raise_if_reauthentication_required
from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from pipeline.models import IdentityProvider
from pipeline.pages.access import Member
from pipeline.pages.staff.sign_on_settings import for_owners
from pipeline.provisioning import tokens
from pipeline.provisioning.resources import base_url
from pipeline.sign_on import providers

MOST_SHOWN = 100


@never_cache
@require_http_methods(["GET", "POST"])
@for_owners
def show(request: HttpRequest, owner: Member) -> HttpResponse:
    """Show tokens and groups; make a token, which only this answer shows."""
    row = providers.read_provider(owner.company.id)
    secret = ""
    if request.method == "POST":
        raise_if_reauthentication_required(request, app="")
        secret = tokens.make(_needed(row), by=owner.user.id)[1]
    return render(request, "sign_on/provisioning.html", _context(row) | {"secret": secret})


@require_POST
@for_owners
def end_token(request: HttpRequest, owner: Member, token_id: UUID) -> HttpResponse:
    """End a token at once."""
    tokens.end(_needed(providers.read_provider(owner.company.id)), token_id, by=owner.user.id)
    messages.success(request, _("The token works no more."))
    return redirect("provisioning")


def _context(row: IdentityProvider | None) -> dict[str, object]:
    if row is None:
        return {"provider": None}
    given = set(row.group_roles.values_list("group", flat=True))
    groups = row.groups.annotate(people=Count("users")).order_by("name")[:MOST_SHOWN]
    return {
        "provider": row,
        "url": base_url(),
        "tokens": tokens.read_valid(row),
        "people": row.users.filter(is_active=True).count(),
        "groups": [(each, not given.isdisjoint({each.name, each.external_id})) for each in groups],
    }


def _needed(row: IdentityProvider | None) -> IdentityProvider:
    if row is None:
        raise Http404
    return row
