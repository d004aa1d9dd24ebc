"""Statement of an applicant that they belong to the group of a job's reserved seats."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from jobs.models import RESERVED_CODE_LENGTH, Job
from pipeline.domain.states import Actor, ActorKind, ClaimState, Status
from pipeline.models import GroupClaim
from pipeline.pages.access import for_signed_in_applicants, own_application
from pipeline.pages.applicant.application_card import ApplicationCard
from pipeline.pages.error_messages import attempt
from pipeline.pages.forms import PlainForm
from pipeline.services.reserved import count_code, state_claim
from pipeline.wording.reserved import CLAIM_WORDS, GROUP_WORDS


def code_field() -> forms.CharField:
    """Return the field for the code of the group."""
    return forms.CharField(
        label=gettext_lazy("Code, if the company gave you one"),
        required=False,
        max_length=RESERVED_CODE_LENGTH,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class GroupForm(PlainForm):
    """The code of the group, or none."""

    code = code_field()


def add_group_fields(form: forms.Form, job: Job) -> None:
    """Let people who apply say that they belong to the group, if the job reserves seats."""
    if not job.reserved_seats:
        return
    label = _("I belong to the group that seats are reserved for: %(group)s.")
    form.fields["in_group"] = forms.BooleanField(
        label=label % {"group": GROUP_WORDS[job.reserved_for]},
        required=False,
        help_text=_("Optional. Only the company reads it, and it is erased with your data."),
    )
    form.fields["group_code"] = code_field()


def entered_code(form: forms.Form) -> str | None:
    """Return what a valid form says about the group: a code, which may be empty, or nothing."""
    given = form.cleaned_data
    code: str = given.get("group_code", "").strip()
    return code if given.get("in_group") or code else None


def read_claim(application_id: UUID, job: Job) -> GroupClaim | None:
    """Return a person's statement, in one query, and none without reserved seats."""
    if not job.reserved_seats:
        return None
    return GroupClaim.objects.filter(application_id=application_id).first()


def group_context(card: ApplicationCard, claim: GroupClaim | None) -> dict[str, Any]:
    """Return what the person's page says about the reserved seats."""
    waits = card.application.status == Status.WAITLIST
    is_open = claim is None or claim.state == ClaimState.STATED
    return {
        "claim": claim,
        "claim_words": CLAIM_WORDS[claim.state] if claim else "",
        "may_claim": waits and is_open and bool(card.job.reserved_seats),
        "group_form": GroupForm(),
    }


@require_POST
@for_signed_in_applicants
def state(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Note that the person says that they belong to the group, with its code if they have it."""
    person, seen = own_application(request, application_id)
    form = GroupForm(request.POST)
    if not form.is_valid():
        most = _("Enter at most %(most)d letters.") % {"most": RESERVED_CODE_LENGTH}
        messages.error(request, most)
        return redirect("my_application", application_id)
    code = form.cleaned_data["code"].strip()
    if code and not count_code(seen.application.job_id, person.id).allowed:
        messages.error(request, _("Too many codes. Try again tomorrow, or ask the company."))
        return redirect("my_application", application_id)
    actor = Actor(ActorKind.APPLICANT, person.id)
    kept = attempt(
        request, lambda: state_claim(application_id=application_id, code=code, actor=actor)
    )
    if kept is not None:
        is_wrong = code and kept.state == ClaimState.STATED
        wrong = _("This is not the code. The company can confirm without it.")
        messages.info(request, wrong if is_wrong else str(CLAIM_WORDS[kept.state]))
    return redirect("my_application", application_id)
