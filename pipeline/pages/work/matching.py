"""Cancelling all of a company's tasks that match a filter of their list."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods

from pipeline.domain.permissions import Action
from pipeline.pages.access import Member, for_members, form_member, require_permission
from pipeline.pages.work import tasks
from pipeline.pages.work.actions import member_actor
from pipeline.pages.work.tasks import FILTERS
from pipeline.work.tasks import MOST_CANCELLED, find_cancellable
from tasks import control


@require_http_methods(["GET", "POST"])
@for_members(Action.MANAGE_TASKS)
def cancel(request: HttpRequest) -> HttpResponse:
    """Ask before cancelling the waiting and running tasks that match; on POST, cancel them.

    Tasks that were created after the question are left alone.
    """
    member = require_permission(form_member(request), Action.MANAGE_TASKS)
    company_id = member.company.id
    if request.method == "POST":
        try:
            newest = UUID(request.POST.get("newest", ""))
        except ValueError:
            raise Http404 from None
        ids = find_cancellable(company_id, **tasks.parse_filter(request.POST), newest=newest)
        cancelled = _cancel_batches(ids, member)
        done = ngettext("%(count)d task cancelled.", "%(count)d tasks cancelled.", cancelled)
        messages.success(request, done % {"count": cancelled})
        return redirect("work")
    ids = find_cancellable(company_id, **tasks.parse_filter(request.GET), newest=None)
    context = {
        "member": member,
        "count": len(ids),
        "has_more": len(ids) == MOST_CANCELLED,
        "newest": ids[0] if ids else "",
        "query": request.GET.urlencode(),
        "filters": [(name, request.GET[name]) for name in FILTERS if request.GET.get(name)],
    }
    return render(request, "work/cancel_matching.html", context)


def _cancel_batches(ids: list[UUID], member: Member) -> int:
    """Cancel tasks, each batch in a transaction, and return how many were still to be cancelled."""
    actor, size = member_actor(member), control.MOST_AT_ONCE
    return sum(
        control.cancel_many(ids[n : n + size], actor=actor, owner_id=member.company.id)
        for n in range(0, len(ids), size)
    )
