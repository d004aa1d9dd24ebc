"""A company's API keys. Only the response that creates a key shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from allauth.account.internal.flows.reauthentication import raise_if_reauthentication_required
from django.contrib import messages
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from uuid_utils.compat import uuid7

from jobs.errors import ApiKeyNotFound, BadName
from jobs.keys import read as api_key_of
from jobs.keys import read_page as api_keys_of
from jobs.keys import revoke as revoke_api_key
from jobs.models import ApiKey, Scope
from pipeline.domain.permissions import Action
from pipeline.integrations import request_log
from pipeline.integrations.request_log import StatusClass
from pipeline.models import Producer
from pipeline.pages import page_urls
from pipeline.pages.access import (
    Member,
    current_member,
    for_members,
    form_member,
    require_permission,
)
from pipeline.pages.staff.forms import KeyForm
from pipeline.selectors.jobs import read_company_jobs, read_titles
from pipeline.selectors.pages import Page, encode_cursor
from pipeline.wording.english import isolated
from pipeline.wording.language import number as in_digits
from pipeline.work.catalog import COMPANY_TYPES
from pipeline.work.start import create_limited_key, read_many_limits

ROWS, MOST_JOBS = 50, 200
STATUS_CLASSES = {
    StatusClass.SUCCESS: gettext_lazy("Successful (2xx)"),
    StatusClass.REDIRECTION: gettext_lazy("Not modified (3xx)"),
    StatusClass.CLIENT_ERROR: gettext_lazy("Refused (4xx)"),
    StatusClass.SERVER_ERROR: gettext_lazy("Failed (5xx)"),
}
MADE_ALREADY = gettext_lazy(
    "This key was already created, and we show it only once. If you did not copy it, revoke it and"
    " create another."
)


@never_cache
@require_http_methods(["GET", "POST"])
@for_members()
def index(request: HttpRequest) -> HttpResponse:
    """List the keys, and create one.

    The response to the form shows the key. It is in no session and no URL, so it is gone with the
    page. An owner who has not confirmed their identity recently must do so first.
    """
    owner = require_permission(form_member(request), Action.MANAGE_KEYS)
    if request.method == "GET":
        initial = {"key_id": uuid7(), "scopes": [Scope.READ], "tasks": list(COMPANY_TYPES)}
        return _render(request, owner, KeyForm(_read_jobs(owner), initial=initial))
    raise_if_reauthentication_required(request, app="")
    form = KeyForm(_read_jobs(owner), request.POST)
    created = _create(owner, form) if form.is_valid() else None
    if created is None:
        return _render(request, owner, form, status=422)
    row, key = created
    return render(request, "staff/key_made.html", {"row": row, "key": key}, status=201)


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_KEYS)
def revoke(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Ask for confirmation, then revoke a key."""
    owner = require_permission(current_member(request), Action.MANAGE_KEYS)
    try:
        if request.method == "GET":
            return render(
                request, "staff/key_revoke.html", {"row": api_key_of(owner.company.id, key_id)}
            )
        revoked = revoke_api_key(company_id=owner.company.id, key_id=key_id, by=owner.user.id)
    except ApiKeyNotFound:
        raise Http404 from None
    words = _("Key “%(name)s” revoked.")
    messages.success(request, words % {"name": isolated(revoked.name)})
    return redirect("api_keys")


@require_safe
@for_members(Action.MANAGE_KEYS)
def show_requests(request: HttpRequest, key_id: UUID) -> HttpResponse:
    """Show a key's requests, newest first, optionally of one status class."""
    owner = require_permission(current_member(request), Action.MANAGE_KEYS)
    try:
        row = api_key_of(owner.company.id, key_id)
    except ApiKeyNotFound:
        raise Http404 from None
    chosen = next((each for each in StatusClass if each == request.GET.get("status_class")), None)
    place = page_urls.read_place(request, "after", int)
    page = request_log.read_page(
        row.id, status_class=chosen, after=place[0] if place else None, limit=ROWS
    )
    next_after = encode_cursor(page.rows[-1].id) if page.more else ""
    context = {
        "row": row,
        "records": page.rows,
        "status_class": chosen or "",
        "classes": list(STATUS_CLASSES.items()),
        "next_url": page_urls.change_query(request, after=next_after) if page.more else "",
        "first_url": page_urls.change_query(request, after=None) if "after" in request.GET else "",
    }
    return render(request, "staff/key_requests.html", context)


def _create(owner: Member, form: KeyForm) -> tuple[ApiKey, str] | None:
    given = form.cleaned_data
    try:
        return create_limited_key(
            company_id=owner.company.id,
            name=given["name"],
            scopes=[Scope(each) for each in given["scopes"]],
            types=given["tasks"],
            per_minute=given["tasks_per_minute"],
            key_id=given["key_id"],
            by=owner.user.id,
            expires_in_days=given["expires_in_days"],
            job_ids=given["jobs"],
        )
    except BadName as error:
        form.add_error("name", str(error))
    except IntegrityError:
        form.add_error(None, MADE_ALREADY)
    return None


def _read_jobs(owner: Member) -> list[tuple[UUID, str]]:
    """Return the newest jobs that a key can be limited to, with their titles."""
    theirs: dict[str, Any] = {"status": None, "search": "", "after": None}
    rows = read_company_jobs(owner.company.id, **theirs, limit=MOST_JOBS).rows
    return [(job.id, job.posting.title) for job in rows]


def _render(
    request: HttpRequest, owner: Member, form: KeyForm, *, status: int = 200
) -> HttpResponse:
    try:
        after = UUID(request.GET.get("after", ""))
    except ValueError:
        after = None
    keys = Page.cut(api_keys_of(owner.company.id, after=after, most=ROWS + 1), ROWS)
    limits = read_many_limits(key.id for key in keys.rows)
    titles = read_titles({job_id for key in keys.rows for job_id in key.job_ids or ()})
    context = {
        "form": form,
        "now": timezone.now(),
        "keys": [
            (key, _describe_limits(limits.get(key.id)), _name_jobs(key, titles))
            for key in keys.rows
        ],
        "next_url": f"?after={keys.rows[-1].id}" if keys.more else "",
        "first_url": "?" if after else "",
    }
    return render(request, "staff/keys.html", context, status=status)


def _name_jobs(key: ApiKey, titles: Mapping[UUID, str]) -> list[str]:
    """Return the titles of the jobs that a key is limited to; those that are deleted have none."""
    return [titles.get(job_id, _("a deleted job")) for job_id in key.job_ids or ()]


def _describe_limits(limits: Producer | None) -> str:
    """Describe the tasks that a key may start; empty if it may start all."""
    if limits is None:
        return ""
    titles = [str(each.noun) for each in COMPANY_TYPES.values() if each.key in (limits.types or ())]
    starts = ""
    if limits.types is not None:
        # Translators: the tasks that a key may start, like "import of applications".
        words = _("starts %(tasks)s") if titles else _("starts no tasks")
        starts = words % {"tasks": ", ".join(titles)}
    if limits.per_minute is None:
        return starts
    rate = ngettext(
        "at most %(count)s task per minute", "at most %(count)s tasks per minute", limits.per_minute
    ) % {"count": in_digits(limits.per_minute)}
    return _("%(tasks)s; %(rate)s") % {"tasks": starts, "rate": rate} if starts else rate
