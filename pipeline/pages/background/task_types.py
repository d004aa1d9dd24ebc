"""What a company may have run in the background, type by type, and the switch to pause each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from pipeline.background.catalog import COMPANY_TYPES, CompanyType, company_types
from pipeline.background.page_data import stopped_types
from pipeline.background.tasks import actors_named
from pipeline.domain.permissions import Action
from pipeline.pages.access import Member, current_member, for_members, member_who_sent, require
from pipeline.pages.background import requests
from pipeline.pages.background.wording import limits_of
from pipeline.wording.english import count, plural
from tasks import control, registry
from tasks.stats import site


@dataclass(frozen=True, slots=True)
class Shown:
    """A type as its card shows it. `paused_by` is empty unless this company paused it."""

    type: CompanyType
    limits: str
    waiting: int
    paused_by: str
    is_stopped: bool
    is_broken: bool

    @property
    def waiting_words(self) -> str:
        """3 waiting tasks, or 1 waiting task."""
        return count(self.waiting, "waiting task")

    @property
    def pause_button(self) -> str:
        """What pausing does."""
        if not self.waiting:
            return "Pause: what is ordered from now on waits"
        wait = plural(self.waiting, "waits", "wait")
        return f"Pause: {self.waiting_words} {wait} until you resume"

    @property
    def resume_button(self) -> str:
        """What resuming does."""
        if not self.waiting:
            return "Resume: what is ordered runs again"
        return f"Resume: {self.waiting_words} can start"


@require_safe
@for_members()
def work_types(request: HttpRequest) -> HttpResponse:
    """Every type, whether it runs, and if not, why."""
    member = require(current_member(request), Action.READ_COMPANY)
    context = {"tab": "types", "types": _shown(member.company.id)}
    return render(request, "background/types.html", context)


def _shown(company_id: UUID) -> list[Shown]:
    waiting: Counter[str] = Counter()
    for (name, _priority), depth in site.own_depth(company_id).items():
        waiting[name.partition("@")[0]] += depth
    paused = control.paused_by_owner(company_id)
    actors = actors_named(set(paused.values()))
    stopped, broken = stopped_types()
    return [
        Shown(
            type=each,
            limits=", ".join(limits_of(registry.find(each.key))) + ".",
            waiting=waiting[each.key],
            paused_by=actors[paused[each.key]] if each.key in paused else "",
            is_stopped=each.key in stopped,
            is_broken=each.key in broken,
        )
        for each in company_types()
    ]


@require_POST
@for_members(Action.MANAGE_TASKS)
def type_pause(request: HttpRequest, key: str) -> HttpResponse:
    """Start no more tasks of a type for this company."""
    member, chosen = _chosen(request, key)
    control.pause(key, actor=requests.actor_of(member), owner_id=member.company.id)
    messages.success(
        request, f"{chosen.title} is paused. What runs goes on; what waits, waits until you resume."
    )
    return redirect("work_types")


@require_POST
@for_members(Action.MANAGE_TASKS)
def type_resume(request: HttpRequest, key: str) -> HttpResponse:
    """Start them again."""
    member, chosen = _chosen(request, key)
    control.resume(key, actor=requests.actor_of(member), owner_id=member.company.id)
    messages.success(request, f"{chosen.title} goes on.")
    return redirect("work_types")


def _chosen(request: HttpRequest, key: str) -> tuple[Member, CompanyType]:
    """Who acts, and on what. Raises PermissionDenied, Http404."""
    member = require(member_who_sent(request), Action.MANAGE_TASKS)
    chosen = COMPANY_TYPES.get(key)
    if chosen is None:
        raise Http404
    return member, chosen
