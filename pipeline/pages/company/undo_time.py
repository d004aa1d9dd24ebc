"""Page of how long a company's decisions can be undone."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy

from jobs.companies import UndoTimes, set_undo_times
from jobs.models import UNDO_SECONDS, Company
from pipeline.domain.permissions import Action
from pipeline.pages.access import for_members, form_member, require_permission
from pipeline.pages.company.consequences import describe_undo
from pipeline.pages.forms import PlainForm
from pipeline.wording.english import long_duration

MINUTE_SECONDS = 60
UNITS = [(1, pgettext_lazy("unit", "seconds")), (MINUTE_SECONDS, pgettext_lazy("unit", "minutes"))]
# The fields of a company's row, by the fields of the form.
FIELDS = {"removal": "undo_removal_seconds", "hiring": "undo_hiring_seconds"}


class UndoTimeForm(PlainForm):
    """Times to undo a rejection or removal, and a hire; empty for the site's time."""

    removal = forms.IntegerField(
        required=False, min_value=1, label=gettext_lazy("Undo a rejection or removal for")
    )
    removal_unit = forms.TypedChoiceField(
        choices=UNITS, coerce=int, label=pgettext_lazy("label", "Unit")
    )
    hiring = forms.IntegerField(required=False, min_value=1, label=gettext_lazy("Undo a hire for"))
    hiring_unit = forms.TypedChoiceField(
        choices=UNITS, coerce=int, label=pgettext_lazy("label", "Unit")
    )

    @classmethod
    def of(cls, company: Company) -> UndoTimeForm:
        """Return the form with a company's own times."""
        initial: dict[str, Any] = {}
        for name, field in FIELDS.items():
            seconds = getattr(company, field)
            whole = seconds is None or seconds % MINUTE_SECONDS == 0
            unit = MINUTE_SECONDS if whole else 1
            initial |= {name: seconds and seconds // unit, f"{name}_unit": unit}
        return cls(initial=initial)

    def clean(self) -> dict[str, Any]:
        """Add the times in seconds, by the fields of a company. Refuse those out of range."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        given["seconds"] = {}
        for name, field in FIELDS.items():
            number, unit = given.get(name), given.get(f"{name}_unit")
            seconds = number * unit if number and unit else None
            if seconds and not UNDO_SECONDS[0] <= seconds <= UNDO_SECONDS[1]:
                self.add_error(name, _("Enter a time from 10 seconds to 60 minutes."))
            given["seconds"][field] = seconds
        return given


@for_members()
def show(request: HttpRequest) -> HttpResponse:
    """Show how long decisions can be undone, and for owners a form to change it."""
    member = form_member(request)
    if request.method == "POST":
        member = require_permission(member, Action.CHANGE_RULES)
    assert member is not None  # noqa: S101  the page is for members
    form = UndoTimeForm(request.POST) if request.method == "POST" else None
    if form and form.is_valid():
        seconds = form.cleaned_data["seconds"]
        set_undo_times(company_id=member.company.id, seconds=seconds, by=member.user.id)
        messages.success(request, _("Saved. Decisions that already wait keep their time."))
        return redirect("undo_time")
    context = {
        "member": member,
        "form": form or UndoTimeForm.of(member.company),
        "may_change": member.may(Action.CHANGE_RULES),
        "wait": describe_undo(UndoTimes.of(member.company)),
        "usual": long_duration(settings.DECISION_UNDO_SECONDS),
    }
    return render(request, "company/undo_time.html", context, status=422 if form else 200)
