"""Task types of a company, and the switch to pause each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from pipeline.domain.permissions import Action
from pipeline.pages.access import (
    Member,
    current_member,
    for_members,
    form_member,
    require_permission,
)
from pipeline.pages.work.actions import member_actor
from pipeline.pages.work.descriptions import describe_task_limits
from pipeline.wording.language import number as in_digits
from pipeline.work.catalog import (
    COMPANY_TYPES,
    CompanyType,
    catalogued_company_types,
    stopped_catalogued_types,
)
from pipeline.work.tasks import actor_names
from tasks import control, registry
from tasks.stats import owner_depth


@dataclass(frozen=True, slots=True)
class TaskTypeCard:
    """Task type on its card. `paused_by` is empty unless this company paused it."""

    type: CompanyType
    limits: str
    waiting: int
    paused_by: str
    is_stopped: bool
    is_broken: bool

    @property
    def waiting_words(self) -> str:
        """Say how many tasks are waiting."""
        if not self.waiting:
            return _("No waiting tasks.")
        words = ngettext("%(count)s waiting task.", "%(count)s waiting tasks.", self.waiting)
        return words % {"count": in_digits(self.waiting)}

    @property
    def consequence(self) -> str:
        """Say what the button does to waiting tasks and to new ones."""
        given = {"count": in_digits(self.waiting)}
        match bool(self.paused_by), bool(self.waiting):
            case True, False:
                return _("If you resume it, new tasks can start.")
            case True, True:
                return (
                    ngettext(
                        "If you resume it, %(count)s waiting task can start.",
                        "If you resume it, %(count)s waiting tasks can start.",
                        self.waiting,
                    )
                    % given
                )
            case False, False:
                return _("If you pause it, new tasks wait until you resume it.")
        return (
            ngettext(
                "If you pause it, %(count)s waiting task and all new ones wait until you resume"
                " it.",
                "If you pause it, %(count)s waiting tasks and all new ones wait until you resume"
                " it.",
                self.waiting,
            )
            % given
        )


@require_safe
@for_members()
def index(request: HttpRequest) -> HttpResponse:
    """List every type, and why it is paused if it is."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    waiting: Counter[str] = Counter()
    for (name, _priority), depth in owner_depth(member.company.id).items():
        waiting[name.partition("@")[0]] += depth
    paused = control.paused_types(member.company.id)
    actors = actor_names(set(paused.values()))
    stopped, broken = stopped_catalogued_types(member.company.id)
    cards = [
        TaskTypeCard(
            type=each,
            limits=describe_task_limits(registry.find_registered_type(each.key)),
            waiting=waiting[each.key],
            paused_by=actors[paused[each.key]] if each.key in paused else "",
            is_stopped=each.key in stopped,
            is_broken=each.key in broken,
        )
        for each in catalogued_company_types()
    ]
    return render(request, "work/types.html", {"tab": "types", "types": cards})


@require_POST
@for_members(Action.MANAGE_TASKS)
def pause(request: HttpRequest, key: str) -> HttpResponse:
    """Pause a type for this company."""
    member, chosen = _read_requested(request, key)
    control.pause(key, actor=member_actor(member), owner_id=member.company.id)
    messages.success(
        request,
        _("%(type)s is paused. Running tasks will finish; new ones wait until you resume.")
        % {"type": chosen.title},
    )
    return redirect("work_types")


@require_POST
@for_members(Action.MANAGE_TASKS)
def resume(request: HttpRequest, key: str) -> HttpResponse:
    """Resume a type for this company."""
    member, chosen = _read_requested(request, key)
    control.resume(key, actor=member_actor(member), owner_id=member.company.id)
    messages.success(request, _("%(type)s has resumed.") % {"type": chosen.title})
    return redirect("work_types")


def _read_requested(request: HttpRequest, key: str) -> tuple[Member, CompanyType]:
    """Return the member and the type. Raises PermissionDenied, Http404."""
    member = require_permission(form_member(request), Action.MANAGE_TASKS)
    chosen = COMPANY_TYPES.get(key)
    if chosen is None:
        raise Http404
    return member, chosen
