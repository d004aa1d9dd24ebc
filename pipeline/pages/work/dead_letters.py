"""Dead letters by type; a whole type can run again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from pipeline.database import instants
from pipeline.domain.permissions import Action
from pipeline.pages import page_urls
from pipeline.pages.access import current_member, for_members, form_member, require_permission
from pipeline.pages.work import descriptions
from pipeline.pages.work.actions import describe_refusal, member_actor
from pipeline.pages.work.descriptions import build_task_rows, error_line
from pipeline.wording.language import number as in_digits
from pipeline.work.catalog import COMPANY_TYPES
from pipeline.work.dead_letters import MOST_COUNTED, DeadLettersOfType, group_dead_letters
from pipeline.work.tasks import read_task_page
from tasks import dead_letters
from tasks.errors import ConfirmationNeeded, TaskError
from tasks.models import Status

SHOWN = 25


@dataclass(frozen=True, slots=True)
class DeadLetterGroup:
    """The dead letters of one type."""

    of: DeadLettersOfType
    title: str
    newest: str

    @property
    def count(self) -> str:
        """Return their number, or 1,000+ if there are more than are counted."""
        return f"{MOST_COUNTED:,}+" if self.of.number > MOST_COUNTED else in_digits(self.of.number)

    @property
    def button(self) -> str:
        """Return the label of the button that runs them again."""
        if self.of.number == 1:
            return _("Run it again")
        words = ngettext("Run all %(count)s again", "Run all %(count)s again", self.of.number)
        return words % {"count": self.count}


@require_safe
@for_members()
def index(request: HttpRequest) -> HttpResponse:
    """List the company's dead letters, or those of one type, newest first."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    key = request.GET.get("type")
    page = read_task_page(
        member.company.id,
        status=Status.DEAD,
        type_key=key if key in COMPANY_TYPES else None,
        after=page_urls.read_id(request, "after"),
        limit=SHOWN,
    )
    groups = [
        DeadLetterGroup(
            each,
            descriptions.describe_task_type(each.key),
            error_line(each.newest_error),
        )
        for each in group_dead_letters(member.company.id)
    ]
    last = page.rows[-1].id if page.more else None
    context: dict[str, Any] = {
        "tab": "dead",
        "groups": groups,
        "rows": build_task_rows(member.company.id, page.rows, instants.now()),
        "type": key or "",
        "type_title": descriptions.describe_task_type(key or ""),
        "next_url": page_urls.change_query(request, after=last) if last else "",
        "first_url": page_urls.change_query(request, after=None) if "after" in request.GET else "",
    }
    return render(request, "work/dead_letters.html", context)


@require_POST
@for_members(Action.MANAGE_TASKS)
def replay_type(request: HttpRequest) -> HttpResponse:
    """Run all dead letters of a type again."""
    member = require_permission(form_member(request), Action.MANAGE_TASKS)
    key = request.POST.get("type", "")
    if key not in COMPANY_TYPES:
        raise Http404
    try:
        count = dead_letters.replay_type(
            key,
            actor=member_actor(member),
            limit=dead_letters.MOST_AT_ONCE,
            owner_id=member.company.id,
            confirmed="confirmed" in request.POST,
        )
    except ConfirmationNeeded:
        messages.error(request, _("Confirm that you want to run these tasks again."))
    else:
        none = _("There were no tasks left to run again.")
        messages.success(request, _queued(count) if count else none)
    return redirect("dead_letters")


@require_POST
@for_members(Action.MANAGE_TASKS)
def handle_ticked(request: HttpRequest) -> HttpResponse:
    """Run the ticked dead letters again or discard them; name those for which this failed."""
    member = require_permission(form_member(request), Action.MANAGE_TASKS)
    acts = {"replay": dead_letters.replay, "discard": dead_letters.discard}
    act = acts.get(request.POST.get("do", ""))
    if act is None:
        raise Http404
    done, refused = 0, set()
    for text in request.POST.getlist("task")[:SHOWN]:
        try:
            act(UUID(text), actor=member_actor(member), owner_id=member.company.id)
        except ValueError:
            continue
        except TaskError as error:
            refused.add(describe_refusal(error))
        else:
            done += 1
    for reason in sorted(refused):
        messages.error(request, reason)
    if done or not refused:
        said = _queued(done) if act is dead_letters.replay else _discarded(done)
        messages.success(request, said)
    return redirect("dead_letters")


def _queued(number: int) -> str:
    words = ngettext(
        "%(count)s task queued to run again.", "%(count)s tasks queued to run again.", number
    )
    return words % {"count": in_digits(number)}


def _discarded(number: int) -> str:
    words = ngettext("%(count)s task discarded.", "%(count)s tasks discarded.", number)
    return words % {"count": in_digits(number)}
