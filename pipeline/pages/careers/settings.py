"""Settings of a company's careers page: address, look, words, own domain, and frames elsewhere."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from csp.constants import SELF
from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import escape
from django.utils.text import slugify
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_POST, require_safe

from jobs.models import Company
from jobs.pictures import PictureRefused
from pipeline.careers import colours, domains
from pipeline.careers.domains import Problem
from pipeline.careers.job_posting import page_url
from pipeline.careers.pages import (
    PageRefused,
    checked_origins,
    checked_slug,
    read_page,
    remove_logo,
    save_page,
    set_logo,
)
from pipeline.domain.permissions import Action
from pipeline.models import DOMAIN_LENGTH, INTRODUCTION_LENGTH, SLUG_LENGTH, CareersPage
from pipeline.pages.access import (
    Member,
    current_member,
    for_members,
    form_member,
    require_permission,
)
from pipeline.pages.careers.public import Site, render_list
from pipeline.pages.forms import LinesField, PlainForm
from pipeline.web import rate_limit
from pipeline.web.rate_limit import Rate

MAY = Action.EDIT_CAREERS
# Look-ups of a domain that a company can ask for.
LOOK_UPS = Rate(10, 600)
FRAME_PIXELS = 640  # height of the list in a frame
PROBLEMS = {
    Problem.NO_RECORD: gettext_lazy("The record is not there yet. It can take an hour to appear."),
    Problem.OTHER_RECORD: gettext_lazy("There is a record, but with another text. Copy it again."),
    Problem.NO_ANSWER: gettext_lazy("The domain’s name servers do not answer. Try again later."),
    Problem.TAKEN: gettext_lazy(
        "Another company here has proved this domain. Ask it to remove the domain first."
    ),
}


class CareersForm(PlainForm):
    """Address, words and look of a careers page."""

    slug = forms.CharField(
        label=gettext_lazy("Name in the address"),
        max_length=SLUG_LENGTH,
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
        help_text=gettext_lazy(
            "3 to 40 small letters, digits and hyphens. After a change, the former name redirects"
            " for a year."
        ),
    )
    introduction = LinesField(
        label=pgettext_lazy("label", "Introduction"),
        max_length=INTRODUCTION_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text=gettext_lazy("**bold**, *italic*, - lists, # headings and links are formatted."),
    )
    colour = forms.CharField(
        label=gettext_lazy("Your colour"),
        max_length=7,
        required=False,
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
        help_text=gettext_lazy(
            "Like #0b7748. It is made darker or lighter where text could not be read."
        ),
    )
    is_on_site_list = forms.BooleanField(
        label=gettext_lazy("List our jobs among those of other companies on this site"),
        required=False,
    )
    embed_origins = LinesField(
        label=gettext_lazy("Sites that may show your jobs in a frame"),
        max_length=4_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text=gettext_lazy("One a line, like https://www.example.org. At most 10."),
    )

    @classmethod
    def of(cls, company: Company, page: CareersPage | None) -> CareersForm:
        """Return the form with a company's page, or with a name to begin with."""
        if page is None:
            slug = slugify(company.name)[:SLUG_LENGTH].strip("-")
            return cls(initial={"slug": slug, "is_on_site_list": True})
        shown = {name: getattr(page, name) for name in cls.base_fields}
        shown["embed_origins"] = "\n".join(page.embed_origins)
        shown["colour"] = f"#{page.colour}" if page.colour else ""
        return cls(initial=shown)

    def clean_slug(self) -> str:
        """Return the name in the address."""
        try:
            return checked_slug(self.cleaned_data["slug"].lower())
        except PageRefused as refused:
            raise forms.ValidationError(str(refused)) from None

    def clean_colour(self) -> str:
        """Return the colour as rrggbb, or nothing."""
        colour = self.cleaned_data["colour"].strip().lower().removeprefix("#")
        if colour and not colours.HEX.fullmatch(colour):
            raise forms.ValidationError(_("Enter a colour like #0b7748, or leave it empty."))
        return colour

    def clean_embed_origins(self) -> list[str]:
        """Return the origins of the sites."""
        try:
            return checked_origins(self.cleaned_data["embed_origins"].splitlines())
        except PageRefused as refused:
            raise forms.ValidationError(str(refused)) from None


class LogoForm(PlainForm):
    """File with a logo."""

    logo = forms.FileField(
        label=pgettext_lazy("label", "Logo"),
        widget=forms.ClearableFileInput(attrs={"accept": "image/png,image/jpeg,image/webp"}),
        help_text=gettext_lazy("PNG, JPEG or WebP, at most 2 MB."),
    )


class DomainForm(PlainForm):
    """Own domain of a page."""

    domain = forms.CharField(
        label=pgettext_lazy("label", "Domain"),
        max_length=DOMAIN_LENGTH,
        required=False,
        widget=forms.TextInput(attrs={"autocapitalize": "none", "spellcheck": "false"}),
        help_text=gettext_lazy("Like jobs.example.org. Leave it empty for none."),
    )


@for_members()
def show(request: HttpRequest) -> HttpResponse:
    """Show a company's careers page with its settings, and save its words and look."""
    if request.method != "POST":
        member = require_permission(current_member(request), Action.READ_COMPANY)
        return _render(request, member)
    member = require_permission(form_member(request), MAY)
    form = CareersForm(request.POST)
    if not form.is_valid():
        return _render(request, member, form=form, status=422)
    values = dict(form.cleaned_data)
    try:
        save_page(
            company_id=member.company.id, slug=values.pop("slug"), values=values, by=member.user.id
        )
    except PageRefused as refused:
        form.add_error(refused.field, str(refused))
        return _render(request, member, form=form, status=422)
    messages.success(request, _("Saved. Visitors see it within a minute."))
    return redirect("careers_settings")


@require_safe
@for_members()
def preview(request: HttpRequest) -> HttpResponse:
    """Show the page as visitors see it, in a frame of the settings."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    page = read_page(member.company.id)
    if page is None:
        raise Http404
    response = render_list(request, Site(page), framed_by=SELF)
    response["Cache-Control"] = "private, no-store"
    return response


@require_POST
@for_members()
def change_logo(request: HttpRequest) -> HttpResponse:
    """Save an uploaded logo, or with `remove` remove it."""
    member = require_permission(form_member(request), MAY)
    if read_page(member.company.id) is None:
        messages.error(request, _("Save the page first. Then add a logo."))
        return redirect("careers_settings")
    if "remove" in request.POST:
        remove_logo(company_id=member.company.id, by=member.user.id)
        messages.success(request, _("The logo is removed."))
        return redirect("careers_settings")
    form = LogoForm(request.POST, request.FILES)
    if not form.is_valid():
        return _render(request, member, logo=form, status=422)
    file = form.cleaned_data["logo"]
    try:
        set_logo(company_id=member.company.id, file=file, size=file.size, by=member.user.id)
    except PictureRefused as refused:
        form.add_error("logo", str(refused))
        return _render(request, member, logo=form, status=422)
    messages.success(request, _("The logo is saved."))
    return redirect("careers_settings")


@require_POST
@for_members()
def change_domain(request: HttpRequest) -> HttpResponse:
    """Set or remove the own domain of the page, or with `check` look for its record."""
    member = require_permission(form_member(request), MAY)
    page = read_page(member.company.id)
    if page is None:
        messages.error(request, _("Save the page first. Then add a domain."))
        return redirect("careers_settings")
    if "check" in request.POST:
        return _check_domain(request, page)
    form = DomainForm(request.POST)
    if form.is_valid():
        try:
            domains.set_domain(
                company_id=page.company_id, domain=form.cleaned_data["domain"], by=member.user.id
            )
        except PageRefused as refused:
            form.add_error("domain", str(refused))
    if form.errors:
        return _render(request, member, domain=form, status=422)
    is_set = bool(form.cleaned_data["domain"])
    messages.success(
        request, _("Now add the two records below.") if is_set else _("The domain is removed.")
    )
    return redirect("careers_settings")


def _check_domain(request: HttpRequest, page: CareersPage) -> HttpResponse:
    counted = rate_limit.count("careers.domain", str(page.company_id), LOOK_UPS)
    if not page.domain or not counted.allowed:
        messages.error(request, _("You have checked often. Try again in a few minutes."))
        return redirect("careers_settings")
    domains.check(page)
    now = read_page(page.company_id)
    if now and now.proved_domain and not now.domain_problem:
        messages.success(request, _("The domain is proved. Your page is served there."))
    elif now and now.domain_problem:
        messages.error(request, str(PROBLEMS[Problem(now.domain_problem)]))
    return redirect("careers_settings")


def _render(
    request: HttpRequest,
    member: Member,
    *,
    form: CareersForm | None = None,
    logo: LogoForm | None = None,
    domain: DomainForm | None = None,
    status: int = 200,
) -> HttpResponse:
    page = read_page(member.company.id)
    record, text = domains.record_of(page) if page and page.domain else ("", "")
    context: dict[str, Any] = {
        "member": member,
        "page": page,
        "site": page and Site(page),
        "url": page and page_url(page),
        "form": form or CareersForm.of(member.company, page),
        "logo_form": logo or LogoForm(),
        "domain_form": domain or DomainForm(initial={"domain": page.domain if page else ""}),
        "refused": next((each for each in (form, logo, domain) if each and each.errors), None),
        "may_change": member.may(MAY) and not member.company.is_test,
        "site_host": urlsplit(settings.SITE_URL).hostname,
        "site_prefix": f"{settings.SITE_URL}/c/",
        "record": record,
        "record_text": text,
        "problem": PROBLEMS[Problem(page.domain_problem)] if page and page.domain_problem else "",
        "is_site_list_on": settings.SITE_JOB_LIST,
        "frame": page and _frame_code(page),
        "feed": page and f"{settings.SITE_URL}{reverse('careers_feed', args=[page.slug])}",
    }
    return render(request, "careers/settings.html", context, status=status)


def _frame_code(page: CareersPage) -> str:
    url = f"{settings.SITE_URL}{reverse('careers_embed', args=[page.slug])}"
    title = escape(_("Open jobs of %(company)s") % {"company": page.company.name})
    return (
        f'<iframe src="{escape(url)}" title="{title}" loading="lazy" height="{FRAME_PIXELS}"\n'
        '  style="width: 100%; border: 0"></iframe>'
    )
