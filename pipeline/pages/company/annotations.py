"""Buttons of an application's page that add and remove notes, tags, links and the assignee."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_POST

from applicants.forms import NameField
from pipeline.domain.permissions import Action
from pipeline.models import LABEL_LENGTH, TAG_LENGTH, TEXT_LENGTH, URL_LENGTH
from pipeline.pages.access import Member, for_members, received_application
from pipeline.pages.error_messages import attempt
from pipeline.pages.forms import LinesField, PlainForm
from pipeline.review import annotations as write
from pipeline.selectors.jobs import read_job
from pipeline.selectors.members import read_choices

LARGEST_ID = 2**63 - 1


class MembersField(forms.TypedMultipleChoiceField):
    """Any number of members, by the ids of their accounts. The service knows who is one."""

    def __init__(self, **named: Any) -> None:
        super().__init__(coerce=UUID, **named)

    def valid_value(self, value: Any) -> bool:
        """Tell whether a value is an id."""
        try:
            return bool(UUID(str(value)))
        except ValueError:
            return False


class NoteForm(PlainForm):
    """Note on an application."""

    note = LinesField(
        label=gettext_lazy("New note"),
        max_length=TEXT_LENGTH,
        widget=forms.Textarea(attrs={"rows": 3, "maxlength": TEXT_LENGTH}),
    )
    mention = MembersField(required=False)


class AnnotationTagForm(PlainForm):
    """Tag for an application."""

    tag = NameField(label=gettext_lazy("New tag"), max_length=TAG_LENGTH)

    def clean_tag(self) -> str:
        """Return the tag as it is stored, which can be longer. Raises ValidationError."""
        tag = write.normalised_tag(self.cleaned_data["tag"])
        if len(tag) > TAG_LENGTH:
            why = _("Enter at most %(most)s characters, in lower case.")
            raise forms.ValidationError(why % {"most": TAG_LENGTH})
        return tag


class AnnotationLinkForm(PlainForm):
    """Link of an application."""

    url = forms.URLField(
        label=pgettext_lazy("label", "Address"), max_length=URL_LENGTH, assume_scheme="https"
    )
    label = NameField(
        label=gettext_lazy("Text of the link"),
        max_length=LABEL_LENGTH,
        required=False,
    )

    def clean_url(self) -> str:
        """Refuse addresses that are not of web pages. Raises ValidationError."""
        url: str = self.cleaned_data["url"]
        if not url.lower().startswith(("https://", "http://")):
            raise forms.ValidationError(_("Enter an address that starts with https:// or http://."))
        return url


class RowForm(PlainForm):
    """Row to remove, by its id."""

    row = forms.IntegerField(min_value=1, max_value=LARGEST_ID)


class AssigneeForm(PlainForm):
    """Member who looks after an application; empty for nobody."""

    member = forms.UUIDField(required=False)


Write = Callable[[UUID, Member, dict[str, Any]], object]

# What each button does, with the form of its fields.
BUTTONS: dict[str, tuple[type[PlainForm], Write]] = {
    "add_note": (
        NoteForm,
        lambda id_, member, given: write.add_note(
            application_id=id_,
            text=given["note"],
            author_id=member.user.id,
            mentioned=given["mention"],
        ),
    ),
    "remove_note": (
        RowForm,
        lambda id_, member, given: write.remove_note(
            application_id=id_,
            note_id=given["row"],
            company_id=member.company.id,
            member_id=member.user.id,
        ),
    ),
    "add_tag": (
        AnnotationTagForm,
        lambda id_, member, given: write.add_tag(application_id=id_, word=given["tag"]),
    ),
    "remove_tag": (
        AnnotationTagForm,
        lambda id_, member, given: write.remove_tag(application_id=id_, word=given["tag"]),
    ),
    "add_link": (
        AnnotationLinkForm,
        lambda id_, member, given: write.add_link(
            application_id=id_, url=given["url"], label=given["label"]
        ),
    ),
    "remove_link": (
        RowForm,
        lambda id_, member, given: write.remove_link(application_id=id_, link_id=given["row"]),
    ),
    "assign": (
        AssigneeForm,
        lambda id_, member, given: write.assign_application(
            application_id=id_,
            company_id=member.company.id,
            user_id=given["member"],
            by_id=member.user.id,
        ),
    ),
}


@require_POST
@for_members(Action.ANNOTATE)
def annotate_application(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Do what the pressed button says, and return to the application's page.

    A note that cannot be added is shown again with the reason, so that its text is not lost.
    """
    member, seen = received_application(request, application_id, Action.ANNOTATE)
    if request.POST.get("do") not in BUTTONS:
        raise Http404
    kind, act = BUTTONS[request.POST["do"]]
    form = kind(request.POST)
    done = None
    if form.is_valid():
        done = attempt(request, lambda: (act(application_id, member, form.cleaned_data),))
    if not done and kind is NoteForm:
        job, application = read_job(seen.application.job_id), seen.application
        context: dict[str, Any] = {"seen": seen, "application": application, "job": job}
        context |= {"form": form, "mentioned": form.cleaned_data.get("mention", [])}
        context["members"] = read_choices(Action.READ_JOB, company_id=job.company_id, job_id=job.id)
        return render(request, "company/note.html", context | {"tab": "board"}, status=422)
    for errors in form.errors.values():
        messages.error(request, " ".join((_("Nothing was saved."), str(errors[0]))))
    return redirect(f"{request.path.removesuffix('annotate/')}#notes")
