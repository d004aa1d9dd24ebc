"""Forms of the team and keys pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from applicants.forms import AddressField, NameField
from jobs.keys import MOST_KEY_DAYS
from jobs.models import MOST_JOBS_OF_KEY, NAME_LENGTH, Invitation, JobRole, Role, Scope
from pipeline.pages.forms import PlainForm
from pipeline.work.catalog import catalogued_company_types
from pipeline.work.start import MOST_A_MINUTE

ROLES = {
    Role.VIEWER: _("Viewer: can see everything in the company but change nothing"),
    Role.RECRUITER: _("Recruiter: can also create, open and pause jobs, import people and decide"),
    Role.OWNER: _("Owner: can also change capacity and rules, close jobs, manage team and keys"),
}
# What an owner reads after a change; None: of single jobs only.
NEW_ROLES = {
    Role.OWNER: _("%(name)s is now owner."),
    Role.RECRUITER: _("%(name)s is now recruiter."),
    Role.VIEWER: _("%(name)s is now viewer."),
    None: _("%(name)s now sees only the jobs that you choose."),
}
SCOPES = {
    Scope.READ: _("Read: see everything in the company"),
    Scope.WRITE: _("Write: do everything an owner can, except manage keys and the team"),
    Scope.APPLICANT_TOKENS: _(
        "Applicant tokens: let your own site confirm and withdraw on behalf of your applicants"
    ),
}


class OwnNameForm(PlainForm):
    """Form for the name of the signed-in account."""

    name = NameField(
        required=False,
        max_length=NAME_LENGTH,
        label=pgettext_lazy("label", "Name"),
        help_text=_("Your colleagues see it, for example beside your notes."),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )


class OwnPictureForm(PlainForm):
    """File with a picture of the signed-in account."""

    picture = forms.FileField(
        label=pgettext_lazy("label", "Picture"),
        widget=forms.ClearableFileInput(attrs={"accept": "image/png,image/jpeg,image/webp"}),
        help_text=_("PNG, JPEG or WebP, at most 2 MB."),
    )


class RoleForm(PlainForm):
    """Form for a member's role."""

    role = forms.ChoiceField(
        choices=list(ROLES.items()),
        widget=forms.RadioSelect,
        label=pgettext_lazy("label", "Role"),
        initial=Role.RECRUITER,
    )


class MemberRoleForm(RoleForm):
    """Form for the role of someone who is in the team, or for none besides single jobs."""

    SINGLE_JOBS = "JOBS"

    role = forms.ChoiceField(
        choices=[
            *ROLES.items(),
            (SINGLE_JOBS, _("Single jobs: sees only the jobs that you choose")),
        ],
        widget=forms.RadioSelect,
        label=pgettext_lazy("label", "Role"),
    )

    def clean_role(self) -> Role | None:
        """Return the role for the whole company; None for single jobs."""
        given = self.cleaned_data["role"]
        return None if given == self.SINGLE_JOBS else Role(given)


JOB_ROLES = {
    JobRole.INTERVIEWER: _("Interviewer: sees and scores the people in seats"),
    JobRole.HIRING_MANAGER: _(
        "Hiring manager: sees the whole line, also decides, answers contests and assigns"
    ),
}


class JobRoleForm(PlainForm):
    """Form for a role on one job."""

    job_role = forms.ChoiceField(
        choices=list(JOB_ROLES.items()),
        widget=forms.RadioSelect,
        label=_("Role on this job"),
        initial=JobRole.INTERVIEWER,
    )


class AddToJobForm(JobRoleForm):
    """Form for a person who gets a role on one job."""

    email = AddressField(
        label=_("Email address"),
        help_text=_("A colleague, or someone new: we email them how to sign in with a code."),
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("email", "job_role")


class LinkForm(PlainForm):
    """Form for an invitation link: when it ends, and after how many uses."""

    days = forms.TypedChoiceField(
        choices=[(1, _("In a day")), (7, _("In a week")), (30, _("In 30 days"))],
        coerce=int,
        initial=7,
        label=pgettext_lazy("label", "Ends"),
    )
    uses = forms.IntegerField(
        min_value=1,
        max_value=Invitation.MOST_USES,
        initial=1,
        label=_("People who can use it"),
    )


class TeamLinkForm(RoleForm, LinkForm):
    """Form for a link to a role in the company."""

    field_order = ("role", "days", "uses")


class JobLinkForm(JobRoleForm, LinkForm):
    """Form for a link to a role on one job."""

    field_order = ("job_role", "days", "uses")


class AddMemberForm(RoleForm):
    """Form for a new member."""

    email = AddressField(
        label=_("Email address"),
        help_text=_("We will email them how to sign in with a code, without a password."),
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("email", "role")


class KeyForm(PlainForm):
    """Form for a new API key.

    `key_id` is created with the empty form, so that sending the form twice makes one key.
    """

    key_id = forms.UUIDField(widget=forms.HiddenInput)
    name = NameField(
        max_length=NAME_LENGTH,
        label=pgettext_lazy("label", "Name"),
        help_text=_("What the key is for, like “Import from the careers page”."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        choices=list(SCOPES.items()),
        widget=forms.CheckboxSelectMultiple,
        label=pgettext_lazy("label", "Permissions"),
        initial=[Scope.READ],
    )
    expires_in_days = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_KEY_DAYS,
        label=_("Days until it expires"),
        help_text=_("Leave blank for a key that is valid until you revoke it."),
    )
    jobs = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=_("Only these jobs"),
    )
    tasks = forms.MultipleChoiceField(
        required=False,
        choices=lambda: [(each.key, each.title) for each in catalogued_company_types()],
        widget=forms.CheckboxSelectMultiple,
        label=_("Tasks it can start"),
        initial=lambda: [each.key for each in catalogued_company_types()],
    )
    tasks_per_minute = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_A_MINUTE,
        label=_("Most tasks per minute"),
        help_text=_("Leave blank to use the limit of this site."),
    )

    def __init__(self, jobs: Sequence[tuple[UUID, str]], *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        field: Any = self.fields["jobs"]
        field.choices = [(str(job_id), title) for job_id, title in jobs]

    def clean_jobs(self) -> list[UUID]:
        """Return the ticked jobs; none of them: the whole company."""
        ticked = [UUID(each) for each in self.cleaned_data["jobs"]]
        if len(ticked) > MOST_JOBS_OF_KEY:
            raise forms.ValidationError(
                _("Tick at most %(most)s jobs.") % {"most": MOST_JOBS_OF_KEY}
            )
        return ticked

    def clean_tasks(self) -> list[str] | None:
        """Return the ticked types; None for all, including types added later."""
        ticked: list[str] = self.cleaned_data["tasks"]
        every = {each.key for each in catalogued_company_types()}
        return None if set(ticked) == every else ticked
