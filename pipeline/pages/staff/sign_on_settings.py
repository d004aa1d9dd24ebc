"""Settings of single sign-on: provider, domains, groups, and whether it is required."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from applicants.forms import NameField
from jobs.models import Job, JobRole, JobStatus, Role
from pipeline.careers.domains import Problem
from pipeline.domain.permissions import Action
from pipeline.models import (
    CLAIM_LENGTH,
    CLIENT_ID_LENGTH,
    CLIENT_SECRET_LENGTH,
    DOMAIN_LENGTH,
    GROUP_LENGTH,
    ISSUER_LENGTH,
    PROVIDER_NAME_LENGTH,
    IdentityProvider,
)
from pipeline.pages.access import (
    Member,
    current_member,
    for_members,
    form_member,
    require_permission,
)
from pipeline.pages.forms import PlainForm
from pipeline.pages.staff.sign_on import TRIAL, go_to
from pipeline.pages.staff.team import SAME_TEAM
from pipeline.provisioning import groups
from pipeline.sign_on import people, provider, providers
from pipeline.sign_on.provider import ProviderFailed
from pipeline.sign_on.providers import PROBLEMS, SetUpRefused
from pipeline.web import rate_limit
from pipeline.web.rate_limit import Rate

P = ParamSpec("P")
MAY = Action.MANAGE_TEAM
# Requests that a company makes us send to name servers and providers from these pages.
LOOK_UPS = Rate(20, 600)
TOO_MANY = gettext_lazy("Too many checks. Try again in a few minutes.")
MOST_JOBS = 200
DOMAIN_PROBLEMS = {
    Problem.NO_RECORD: gettext_lazy("The record is not there yet. It can take an hour to appear."),
    Problem.NO_ANSWER: gettext_lazy("The domain’s name servers do not answer. Try again later."),
    Problem.TAKEN: gettext_lazy(
        "Another company here has proved this domain. Ask it to remove the domain first."
    ),
}
_PLAIN = {"autocapitalize": "none", "spellcheck": "false", "autocomplete": "off"}


class ProviderForm(PlainForm):
    """Form for what a provider's own page shows."""

    name = NameField(
        label=gettext_lazy("Name"),
        max_length=PROVIDER_NAME_LENGTH,
        help_text=gettext_lazy("As your colleagues know it, like “Northwind account”."),
    )
    issuer = NameField(
        label=gettext_lazy("Issuer"),
        max_length=ISSUER_LENGTH,
        widget=forms.TextInput(attrs=_PLAIN | {"inputmode": "url"}),
        help_text=gettext_lazy("Like https://login.example.org. The provider shows it."),
    )
    client_id = NameField(
        label=gettext_lazy("Client ID"),
        max_length=CLIENT_ID_LENGTH,
        widget=forms.TextInput(attrs=_PLAIN),
    )
    secret = forms.CharField(
        label=gettext_lazy("Client secret"),
        max_length=CLIENT_SECRET_LENGTH,
        required=False,
        widget=forms.PasswordInput(attrs=_PLAIN),
    )
    groups_claim = NameField(
        label=gettext_lazy("Claim with the groups"),
        max_length=CLAIM_LENGTH,
        required=False,
        initial="groups",
        widget=forms.TextInput(attrs=_PLAIN),
        help_text=gettext_lazy("Usually “groups”. Empty if groups give no roles."),
    )
    trusts_addresses = forms.BooleanField(
        label=gettext_lazy("Addresses from this provider are verified, even if it does not say so"),
        required=False,
        help_text=gettext_lazy("Only if people cannot change their own address there."),
    )

    @classmethod
    def of(cls, row: IdentityProvider | None) -> ProviderForm:
        """Return the form with a provider's data but the secret."""
        if row is None:
            return cls()
        shown = [name for name in cls.base_fields if name != "secret"]
        made = cls(initial={name: getattr(row, name) for name in shown})
        made.fields["secret"].help_text = _("Leave it empty to keep the present one.")
        return made


class DomainForm(PlainForm):
    """A domain of email addresses."""

    domain = forms.CharField(
        label=gettext_lazy("Domain of your email addresses"),
        max_length=DOMAIN_LENGTH,
        widget=forms.TextInput(attrs=_PLAIN),
    )


class GroupForm(PlainForm):
    """A group at the provider, and the role that it gives."""

    group = NameField(
        label=gettext_lazy("Group"),
        max_length=GROUP_LENGTH,
        widget=forms.TextInput(attrs=_PLAIN),
        help_text=gettext_lazy("As the provider sends it: a name, or in Entra an object ID."),
    )
    role = forms.ChoiceField(label=gettext_lazy("Role"), choices=[*Role.choices, *JobRole.choices])
    job = forms.ModelChoiceField(
        label=gettext_lazy("Job"),
        queryset=Job.objects.none(),
        required=False,
        empty_label=gettext_lazy("the whole company"),
    )

    def __init__(self, company_id: Any, *given: Any) -> None:
        super().__init__(*given)
        jobs = Job.objects.filter(company_id=company_id).exclude(status=JobStatus.CLOSED)
        field = self.fields["job"]
        field.queryset = jobs.select_related("posting").order_by("-id")[:MOST_JOBS]  # type: ignore[attr-defined]
        field.label_from_instance = lambda job: job.posting.title  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Refuse a role on a job without a job, and one for the company with it."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        is_on_job = given.get("role") in JobRole.values
        if is_on_job and not given.get("job"):
            self.add_error("job", _("Choose the job for this role."))
        if not is_on_job and given.get("job"):
            self.add_error("job", _("This role is for the whole company."))
        return given


def for_owners(
    view: Callable[Concatenate[HttpRequest, Member, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Guard a page for owners of a live company; a sandbox has the same team."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        found = form_member(request) if request.method == "POST" else current_member(request)
        owner = require_permission(found, MAY)
        if owner.company.is_test:
            messages.info(request, SAME_TEAM)
            return redirect("test_mode")
        return view(request, owner, *args, **kwargs)

    return for_members(MAY)(guarded)  # type: ignore[return-value]


@require_http_methods(["GET", "POST"])
@for_owners
def show(request: HttpRequest, owner: Member) -> HttpResponse:
    """Show the company's provider; set it up or change it."""
    row = providers.read_provider(owner.company.id)
    form = ProviderForm.of(row)
    if request.method == "POST":
        form = ProviderForm(request.POST)
        if form.is_valid() and _save(request, owner, form):
            return redirect("identity_provider")
    return _render(request, owner, row, form=form)


def _save(request: HttpRequest, owner: Member, form: ProviderForm) -> bool:
    if not _may_look_up(owner):
        form.add_error(None, str(TOO_MANY))
        return False
    try:
        providers.save(company_id=owner.company.id, by=owner.user.id, **form.cleaned_data)
    except SetUpRefused as refused:
        form.add_error(refused.field or None, str(refused))
        return False
    messages.success(request, _("Saved. The provider answers."))
    return True


def _may_look_up(owner: Member) -> bool:
    return rate_limit.count("sign_on_set_up", str(owner.company.id), LOOK_UPS).allowed


def _render(
    request: HttpRequest,
    owner: Member,
    row: IdentityProvider | None,
    *,
    form: ProviderForm | None = None,
    domain_form: DomainForm | None = None,
    group_form: GroupForm | None = None,
) -> HttpResponse:
    refused = next((each for each in (form, domain_form, group_form) if each and each.errors), None)
    context: dict[str, Any] = {
        "provider": row,
        "form": form or ProviderForm.of(row),
        "refused": refused if refused is not form else None,
        "callback": settings.SITE_URL + "/account/sign-on/…/callback/",
    }
    if row:
        inside, others = people.affected_members(row)
        context |= {
            "callback": provider.callback_url(row),
            "logout_url": provider.logout_url(row),
            "begin_url": settings.SITE_URL + reverse("begin_sign_on", args=[row.id]),
            "domain_form": domain_form or DomainForm(),
            "domains": [
                (each, *providers.record_of(each), DOMAIN_PROBLEMS.get(each.problem, ""))  # type: ignore[call-overload]
                for each in row.domains.order_by("domain")
            ],
            "group_form": group_form or GroupForm(owner.company.id),
            "groups": row.group_roles.select_related("job__posting").order_by("group", "id"),
            "roles": Role.choices,
            "inside": inside,
            "others": others,
        }
    return render(request, "sign_on/settings.html", context, status=422 if refused else 200)


def _own(owner: Member) -> IdentityProvider:
    row = providers.read_provider(owner.company.id)
    if row is None:
        raise Http404
    return row


@require_POST
@for_owners
def try_it(request: HttpRequest, owner: Member) -> HttpResponse:
    """Sign in at the provider to see what it says; the session here stays as it is."""
    row = _own(owner)
    if not _may_look_up(owner):
        messages.error(request, str(TOO_MANY))
        return redirect("identity_provider")
    request.session[TRIAL] = str(row.id)
    try:
        return go_to(request, row, provider.begin(request, row, login_hint=owner.user.email).url)
    except ProviderFailed as failed:
        messages.error(request, str(PROBLEMS.get(failed.why, failed.why)))
        return redirect("identity_provider")


@require_POST
@for_owners
def require(request: HttpRequest, owner: Member) -> HttpResponse:
    """Require single sign-on, or make it optional."""
    required = request.POST.get("required") == "yes"
    try:
        providers.set_required(_own(owner), required=required, by=owner.user.id)
    except SetUpRefused as refused:
        messages.error(request, str(refused))
        return redirect("identity_provider")
    if required:
        messages.success(request, _("Single sign-on is now the only way in."))
    else:
        messages.success(request, _("Single sign-on is now optional."))
    return redirect("identity_provider")


@require_POST
@for_owners
def remove(request: HttpRequest, owner: Member) -> HttpResponse:
    """Remove the provider, with its domains and groups."""
    providers.remove(_own(owner), by=owner.user.id)
    messages.success(request, _("Single sign-on is removed. Members sign in with a code."))
    return redirect("identity_provider")


@require_POST
@for_owners
def add_domain(request: HttpRequest, owner: Member) -> HttpResponse:
    """Add a domain, to be proved by its record."""
    row, form = _own(owner), DomainForm(request.POST)
    if form.is_valid():
        try:
            providers.add_domain(row, form.cleaned_data["domain"])
        except SetUpRefused as refused:
            form.add_error(refused.field, str(refused))
        else:
            return redirect(f"{reverse('identity_provider')}#domains")
    return _render(request, owner, row, domain_form=form)


@require_POST
@for_owners
def change_domain(request: HttpRequest, owner: Member, domain_id: int) -> HttpResponse:
    """Look up the record of a domain now, or remove the domain."""
    row = _own(owner)
    if "remove" in request.POST:
        providers.remove_domain(row, domain_id)
    elif not _may_look_up(owner):
        messages.error(request, str(TOO_MANY))
    elif found := row.domains.filter(id=domain_id).first():
        providers.check_domain(found, by=owner.user.id)
    return redirect(f"{reverse('identity_provider')}#domains")


@require_POST
@for_owners
def set_usual_role(request: HttpRequest, owner: Member) -> HttpResponse:
    """Set the role of those who are in no group that has one."""
    chosen = request.POST.get("role", "")
    role = Role(chosen) if chosen in Role.values else None
    providers.set_usual_role(_own(owner), role, by=owner.user.id)
    messages.success(request, _("Saved."))
    return redirect(f"{reverse('identity_provider')}#groups")


@require_POST
@for_owners
def add_group(request: HttpRequest, owner: Member) -> HttpResponse:
    """Let a group give a role."""
    row, form = _own(owner), GroupForm(owner.company.id, request.POST)
    if form.is_valid():
        given = form.cleaned_data
        on_job = given["role"] in JobRole.values
        try:
            providers.set_group_role(
                row,
                group=given["group"].strip(),
                role=None if on_job else Role(given["role"]),
                job_id=given["job"].id if on_job else None,
                job_role=JobRole(given["role"]) if on_job else None,
                by=owner.user.id,
            )
        except SetUpRefused as refused:
            form.add_error(refused.field, str(refused))
        else:
            groups.apply(row, given["group"].strip(), by=owner.user.id)
            return redirect(f"{reverse('identity_provider')}#groups")
    return _render(request, owner, row, group_form=form)


@require_POST
@for_owners
def remove_group(request: HttpRequest, owner: Member, group_role_id: int) -> HttpResponse:
    """Remove the role that a group gives."""
    providers.remove_group_role(_own(owner), group_role_id, by=owner.user.id)
    return redirect(f"{reverse('identity_provider')}#groups")
