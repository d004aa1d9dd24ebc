"""Outbox of a sandbox: the emails that would have been sent. None of them was."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_POST, require_safe
from uuid_utils.compat import uuid7

from jobs.sandboxes import find_or_create_sandbox, find_sandbox
from pipeline.domain.errors import EmailNotFound, LineError
from pipeline.domain.permissions import Action
from pipeline.line.clock import read_company_clock
from pipeline.notifications.applicants import recompose_email
from pipeline.pages import page_urls
from pipeline.pages.access import (
    COMPANY,
    Member,
    current_member,
    for_members,
    form_member,
    require_permission,
)
from pipeline.pages.error_messages import explain_refusal
from pipeline.pages.forms import PlainForm
from pipeline.selectors.pages import encode_cursor
from pipeline.selectors.sandboxes import (
    read_sandbox_clock_advances,
    read_sandbox_email,
    read_sandbox_emails,
)
from pipeline.services.sandboxes import (
    DAY_SECONDS,
    MOST_SECONDS,
    advance_clock,
    jobs_behind_clock,
    reset_sandbox,
)
from pipeline.wording.english import long_duration
from pipeline.wording.events import KIND_WORDS
from pipeline.wording.language import number as in_digits

EMAILS_SHOWN = 50


@require_safe
@for_members()
def list_emails(request: HttpRequest) -> HttpResponse:
    """List the emails of the sandbox, latest first."""
    member = _reading_member(request)
    place = page_urls.read_place(request, "after", datetime, UUID)
    after = (place[0], place[1]) if place else None
    page = read_sandbox_emails(member.company.id, after=after, limit=EMAILS_SHOWN)
    context = {
        "emails": [(each, KIND_WORDS.get(each.kind, each.kind)) for each in page.rows],
        "first_url": page_urls.change_query(request, after=None) if after else None,
    }
    if page.more:
        last = page.rows[-1]
        place_after = encode_cursor(last.state_at, str(last.id))
        context["next_url"] = page_urls.change_query(request, after=place_after)
    return render(request, "sandbox/emails.html", context)


@require_safe
@for_members()
def show_email(request: HttpRequest, email_id: UUID) -> HttpResponse:
    """Show one email as the person would have read it."""
    member = _reading_member(request)
    email = read_sandbox_email(member.company.id, email_id)
    message = recompose_email(email)
    if message is None:  # the person was erased
        raise EmailNotFound
    may_confirm = member.may(Action.ADVANCE_CLOCK)
    context = {"email": email, "message": message, "may_confirm": may_confirm}
    response = render(request, "sandbox/email.html", context)
    response["Cache-Control"] = "private, no-store"  # its link confirms a seat
    return response


def _reading_member(request: HttpRequest) -> Member:
    """Return the member, if they act for a sandbox. Raises EmailNotFound (404)."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    if not member.company.is_test:
        raise EmailNotFound
    return member


# Form that moves the clock of a sandbox.


HOUR_SECONDS = 3_600
OTHER = "other"
STEPS = [
    (str(HOUR_SECONDS), gettext_lazy("1 hour")),
    (str(DAY_SECONDS), gettext_lazy("1 day")),
    (str(7 * DAY_SECONDS), gettext_lazy("7 days")),
    (OTHER, gettext_lazy("Another number of hours")),
]
MOST_HOURS = MOST_SECONDS // HOUR_SECONDS


def _describe_hours() -> str:
    words = _("From 1 to %(most)s, if you chose another number.")
    return words % {"most": in_digits(MOST_HOURS)}


class ClockForm(PlainForm):
    """Form for the step of the clock: one of three, or a number of hours.

    `advance_id` is created with the empty form, so that sending the form twice moves it once.
    """

    advance_id = forms.UUIDField(widget=forms.HiddenInput)
    step = forms.ChoiceField(
        choices=STEPS, widget=forms.RadioSelect, label=gettext_lazy("How far?"), initial=STEPS[0][0]
    )
    hours = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_HOURS,
        label=pgettext_lazy("label", "Hours"),
        help_text=lazy(_describe_hours, str)(),
    )

    def clean(self) -> dict[str, Any]:
        """Return the values with `seconds`."""
        given = super().clean() or {}
        if given.get("step") != OTHER:
            given["seconds"] = int(given.get("step") or 0)
        elif given.get("hours"):
            given["seconds"] = given["hours"] * HOUR_SECONDS
        elif "hours" not in self.errors:
            words = _("Enter a number of hours from 1 to %(most)s.")
            self.add_error("hours", words % {"most": in_digits(MOST_HOURS)})
        return given


# Page of test mode: create the sandbox, go there and back, and move its clock.


ADVANCES_SHOWN = 10


@require_safe
@for_members()
def show_clock(request: HttpRequest) -> HttpResponse:
    """Explain test mode and lead to the sandbox; in the sandbox, show its clock."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    if not member.company.is_test:
        context = {"sandbox": find_sandbox(member.company.id)}
        return render(request, "sandbox/about.html", context)
    return _render_clock(request, member, ClockForm(initial={"advance_id": uuid7()}))


@require_POST
@for_members()
def create(request: HttpRequest) -> HttpResponse:
    """Create the company's sandbox, and go there."""
    owner = require_permission(form_member(request), Action.CREATE_SANDBOX)
    sandbox = find_or_create_sandbox(owner.company.id)
    request.session[COMPANY] = str(sandbox.id)
    messages.success(request, _("Your sandbox is ready. You are in test mode now."))
    return redirect("test_mode")


@require_POST
@for_members()
def move_clock(request: HttpRequest) -> HttpResponse:
    """Move the sandbox's clock, and settle what has fallen due by then."""
    member = require_permission(form_member(request), Action.ADVANCE_CLOCK)
    if not member.company.is_test:
        raise Http404
    form = ClockForm(request.POST)
    if not form.is_valid():
        return _render_clock(request, member, form, status=422)
    try:
        advance = advance_clock(
            company_id=member.company.id,
            seconds=form.cleaned_data["seconds"],
            actor=member.actor,
            # An id of this company's own, even if the form is of another's page.
            advance_id=uuid5(member.company.id, str(form.cleaned_data["advance_id"])),
        )
    except LineError as error:
        form.add_error(None, explain_refusal(error))
        return _render_clock(request, member, form, status=409)
    done = _("The clock was moved forward by %(time)s.")
    messages.success(request, done % {"time": long_duration(advance.seconds)})
    return redirect("test_mode")


@require_POST
@for_members()
def reset_test_mode(request: HttpRequest) -> HttpResponse:
    """Put an empty sandbox in the place of this one, and go there."""
    member = require_permission(form_member(request), Action.RESET_SANDBOX)
    if not member.company.is_test:
        raise Http404
    company_id = member.company.id
    sandbox = reset_sandbox(company_id=company_id, meant=company_id, actor=member.actor)
    request.session[COMPANY] = str(sandbox.id)
    messages.success(request, _("The sandbox is empty, and its clock shows the live time."))
    return redirect("test_mode")


def _render_clock(
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
