"""What the pages of team and keys take in."""

from __future__ import annotations

from django import forms

from jobs.models import NAME_LENGTH, Role, Scope
from pipeline.background.catalog import COMPANY_TYPES
from pipeline.background.key_limits import MOST_A_MINUTE
from pipeline.pages.forms import PlainForm

ROLES = {
    Role.VIEWER: "Viewer: reads everything of the company, changes nothing",
    Role.RECRUITER: "Recruiter: also creates, opens, pauses jobs, imports people, decides on them",
    Role.OWNER: "Owner: also changes capacity and rules, closes jobs, manages team and keys",
}
SCOPES = {
    Scope.READ: "Read: everything of the company",
    Scope.WRITE: "Write: what an owner may do, except managing keys and team",
}


class RoleForm(PlainForm):
    """What a member may do."""

    role = forms.ChoiceField(
        choices=list(ROLES.items()),
        widget=forms.RadioSelect,
        label="Role",
        initial=Role.RECRUITER,
    )


class AddMemberForm(RoleForm):
    """Somebody for the team."""

    email = forms.EmailField(
        label="Email address",
        help_text="They get a mail that tells them how to sign in: by a code, without a password.",
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    field_order = ("email", "role")


class KeyForm(PlainForm):
    """A new API key. `key_id` is given out with the empty form, so that sending it again, by
    reloading the page, makes no second key."""

    key_id = forms.UUIDField(widget=forms.HiddenInput)
    name = forms.CharField(
        max_length=NAME_LENGTH,
        label="Name",
        help_text="For what it is used, like “Import from the careers page”.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    scopes = forms.MultipleChoiceField(
        choices=list(SCOPES.items()),
        widget=forms.CheckboxSelectMultiple,
        label="What it may do",
        initial=[Scope.READ],
    )
    tasks = forms.MultipleChoiceField(
        required=False,
        choices=[(each.key, each.title) for each in COMPANY_TYPES.values()],
        widget=forms.CheckboxSelectMultiple,
        label="Background work that it may start",
        initial=list(COMPANY_TYPES),
    )
    tasks_per_minute = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_A_MINUTE,
        label="Tasks in a minute, at most",
        help_text="Empty: as many as any key of the site.",
    )

    def clean_tasks(self) -> list[str] | None:
        """The types that are ticked; None for all, those too that are yet to come."""
        ticked: list[str] = self.cleaned_data["tasks"]
        return None if set(ticked) == set(COMPANY_TYPES) else ticked
