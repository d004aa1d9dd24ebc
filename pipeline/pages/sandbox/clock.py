"""Page of test mode: create the sandbox, go there and back, and move its clock."""

from __future__ import annotations

from uuid import uuid5

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from uuid_utils.compat import uuid7

from jobs.sandboxes import find_or_create_sandbox, sandbox_of
from pipeline.domain.errors import LineError
from pipeline.domain.permissions import Action
from pipeline.line.company_clock import read_company_clock
from pipeline.pages.access import (
    COMPANY,
    Member,
    current_member,
    for_members,
    member_of_sent_form,
    require_access,
)
from pipeline.pages.error_messages import error_message_for
from pipeline.pages.sandbox.forms import ClockForm
from pipeline.selectors.sandboxes import read_sandbox_clock_advances
from pipeline.services.advance_clock import advance_clock, jobs_behind_clock
from pipeline.services.reset_sandbox import reset_sandbox
from pipeline.wording.english import long_duration

ADVANCES_SHOWN = 10


@require_safe
@for_members()
def clock_of_test_mode(request: HttpRequest) -> HttpResponse:
    """Explain test mode and lead to the sandbox; in the sandbox, show its clock."""
    member = require_access(current_member(request), Action.READ_COMPANY)
    if not member.company.is_test:
        context = {"sandbox": sandbox_of(member.company.id)}
        return render(request, "sandbox/about.html", context)
    return _clock_page(request, member, ClockForm(initial={"advance_id": uuid7()}))


@require_POST
@for_members()
def create_sandbox_with_clock(request: HttpRequest) -> HttpResponse:
    """Create the company's sandbox, and go there."""
    owner = require_access(member_of_sent_form(request), Action.CREATE_SANDBOX)
    sandbox = find_or_create_sandbox(owner.company.id)
    request.session[COMPANY] = str(sandbox.id)
    messages.success(request, "Your sandbox is ready. You are in test mode now.")
    return redirect("test_mode")


@require_POST
@for_members()
def move_clock(request: HttpRequest) -> HttpResponse:
    """Move the sandbox's clock, and settle what has fallen due by then."""
    member = require_access(member_of_sent_form(request), Action.ADVANCE_CLOCK)
    if not member.company.is_test:
        raise Http404
    form = ClockForm(request.POST)
    if not form.is_valid():
        return _clock_page(request, member, form, status=422)
    try:
        advance = advance_clock(
            company_id=member.company.id,
            seconds=form.cleaned_data["seconds"],
            actor=member.actor,
            # An id of this company's own, even if the form is of another's page.
            advance_id=uuid5(member.company.id, str(form.cleaned_data["advance_id"])),
        )
    except LineError as error:
        form.add_error(None, error_message_for(error))
        return _clock_page(request, member, form, status=409)
    messages.success(request, f"The clock was moved forward by {long_duration(advance.seconds)}.")
    return redirect("test_mode")


@require_POST
@for_members()
def reset_test_mode(request: HttpRequest) -> HttpResponse:
    """Put an empty sandbox in the place of this one, and go there."""
    member = require_access(member_of_sent_form(request), Action.RESET_SANDBOX)
    if not member.company.is_test:
        raise Http404
    company_id = member.company.id
    sandbox = reset_sandbox(company_id=company_id, meant=company_id, actor=member.actor)
    request.session[COMPANY] = str(sandbox.id)
    messages.success(request, _("The sandbox is empty, and its clock shows the live time."))
    return redirect("test_mode")


def _clock_page(
    request: HttpRequest, member: Member, form: ClockForm, *, status: int = 200
) -> HttpResponse:
    company_id = member.company.id
    clock = read_company_clock(company_id)
    context = {
        "form": form,
        "clock": clock,
        "ahead": long_duration(clock.offset_seconds),
        "jobs_behind": jobs_behind_clock(company_id).count(),
        "advances": [
            (each, long_duration(each.seconds))
            for each in read_sandbox_clock_advances(company_id, most=ADVANCES_SHOWN)
        ],
        "may_move": member.may(Action.ADVANCE_CLOCK),
        "may_reset": member.may(Action.RESET_SANDBOX),
    }
    return render(request, "sandbox/clock.html", context, status=status)
