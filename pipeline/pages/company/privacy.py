"""Page of a company's part in the law: who is responsible, its notice and consents, retention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.forms import BoundField
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_http_methods

from applicants.forms import NameField
from jobs.companies import name_controller
from jobs.models import CONTACT_LENGTH, KEEP_DAYS, NAME_LENGTH, Company, Retention
from jobs.retention import set_company_period
from pipeline.consents.pool import set_months
from pipeline.consents.versions import (
    CONSENT,
    MOST_CONSENTS,
    NOTICE,
    Versions,
    Wanted,
    pool_of,
    publish,
    read_history,
    shown_by,
)
from pipeline.domain.errors import ConsentsChanged
from pipeline.domain.permissions import Action
from pipeline.equality import totals
from pipeline.equality.questions import QUESTIONS, choose
from pipeline.models import CONSENT_LENGTH, MOST_POOL_MONTHS, NOTICE_LENGTH
from pipeline.pages.access import Member, for_members, form_member, require_permission
from pipeline.pages.forms import LinesField, PlainForm

MAY = Action.CHANGE_PRIVACY
SEEN, LONGEST_SEEN = "seen", 1_000
STALE = gettext_lazy(
    "Someone else has published other texts meanwhile. Open this page in another tab, compare them"
    " with yours, and publish from there."
)


class ControllerForm(PlainForm):
    """Form for who is responsible for people's data, and how long the company keeps it."""

    legal_name = NameField(
        required=False,
        max_length=NAME_LENGTH,
        label=gettext_lazy("Legal name"),
        help_text=gettext_lazy("As in your register. People read it where they apply."),
    )
    privacy_contact = NameField(
        required=False,
        max_length=CONTACT_LENGTH,
        label=gettext_lazy("Contact for questions about data"),
        help_text=gettext_lazy("An email address, or a postal address in one line."),
    )
    keep_days = forms.IntegerField(
        required=False,
        min_value=KEEP_DAYS[0],
        max_value=KEEP_DAYS[1],
        label=gettext_lazy("Days to keep data after an application has ended"),
        help_text=gettext_lazy("A job’s settings can say otherwise."),
    )

    @classmethod
    def of(cls, company: Company) -> ControllerForm:
        """Return the form with a company's own values."""
        return cls(initial={name: getattr(company, name) for name in cls.base_fields})


class TextsForm(PlainForm):
    """Notice and consents that people are shown. An empty text is not shown."""

    notice = LinesField(
        required=False,
        max_length=NOTICE_LENGTH,
        label=gettext_lazy("Privacy notice"),
        widget=forms.Textarea(attrs={"rows": 8, "maxlength": NOTICE_LENGTH}),
    )

    def __init__(self, versions: Versions, data: Any = None) -> None:
        super().__init__(data)
        self.items: dict[str, UUID] = {}
        rows = [each for each in versions if each.kind == CONSENT]
        self.kept = [Wanted.of(each) for each in versions if each.is_of_pool]
        for number in range(min(len(rows) + 1, MOST_CONSENTS)):
            name = f"consent_{number}"
            self.fields[name] = LinesField(
                required=False,
                max_length=CONSENT_LENGTH,
                label=_("People agree to"),
                widget=forms.Textarea(attrs={"rows": 3, "maxlength": CONSENT_LENGTH}),
            )
            self.fields[f"{name}_required"] = forms.BooleanField(
                required=False, label=_("Nobody can apply without it")
            )
            if number < len(rows):
                self.items[name] = rows[number].item
                self.initial[name] = rows[number].text
                self.initial[f"{name}_required"] = rows[number].is_required
        for version in versions:
            if version.is_notice:
                self.items["notice"], self.initial["notice"] = version.item, version.text

    @property
    def consents(self) -> Iterator[tuple[BoundField, BoundField]]:
        """Return the fields of each consent, and a last empty one."""
        for name in self.fields:
            if name.startswith("consent_") and not name.endswith("_required"):
                yield self[name], self[f"{name}_required"]

    def wanted(self) -> list[Wanted]:
        """Return the texts of a valid form: the notice first."""
        given = self.cleaned_data
        found = [Wanted(NOTICE, given["notice"], True, self.items.get("notice"))]
        for field, required in self.consents:
            is_required = bool(given[required.name])
            item = self.items.get(field.name)
            found.append(Wanted(CONSENT, given[field.name], is_required, item))
        return [*(each for each in found if each.text), *self.kept]


class PoolForm(PlainForm):
    """Months for which people who agree are in the company's talent pool."""

    months = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_POOL_MONTHS,
        label=gettext_lazy("Months in the talent pool"),
        help_text=gettext_lazy(
            "After that, nobody can write to them unless they agree again. Empty: people are not"
            " asked."
        ),
    )


class EqualityForm(PlainForm):
    """Equal-opportunity questions that people are asked."""

    questions = forms.MultipleChoiceField(
        required=False,
        label=pgettext_lazy("label", "Questions"),
        choices=[(code, each.label) for code, each in QUESTIONS.items()],
        widget=forms.CheckboxSelectMultiple,
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_members()
def show(request: HttpRequest) -> HttpResponse:
    """Show the company's part in the law; let owners change it."""
    member = form_member(request)
    if request.method != "POST":
        assert member is not None  # noqa: S101  the page is for members
        return _render(request, member)
    member = require_permission(member, MAY)
    section = request.POST.get("section")
    if section == "texts":
        return _publish(request, member)
    if section == "equality":
        return _choose_questions(request, member)
    if section == "pool":
        return _set_pool(request, member)
    return _name_controller(request, member)


def _name_controller(request: HttpRequest, member: Member) -> HttpResponse:
    form = ControllerForm(request.POST)
    if not form.is_valid():
        return _render(request, member, controller=form)
    given, by = form.cleaned_data, member.user.id
    name_controller(
        company_id=member.company.id,
        legal_name=given["legal_name"],
        contact=given["privacy_contact"],
        by=by,
    )
    set_company_period(company_id=member.company.id, keep_days=given["keep_days"], by=by)
    messages.success(
        request, _("Saved. People read it from now on; the period holds from tonight.")
    )
    return redirect("company_privacy")


def _choose_questions(request: HttpRequest, member: Member) -> HttpResponse:
    form = EqualityForm(request.POST)
    if not form.is_valid():
        return _render(request, member, equality=form)
    codes = form.cleaned_data["questions"]
    choose(company_id=member.company.id, codes=codes, by=member.user.id)
    messages.success(request, _("Saved. Nobody has to answer."))
    return redirect("company_privacy")


def _set_pool(request: HttpRequest, member: Member) -> HttpResponse:
    form = PoolForm(request.POST)
    if not form.is_valid():
        return _render(request, member, pool=form)
    months = form.cleaned_data["months"]
    try:
        set_months(company_id=member.company.id, months=months, by=member.user.id)
    except ConsentsChanged:
        form.add_error(None, str(STALE))
        return _render(request, member, pool=form)
    messages.success(
        request,
        _("Saved. People who apply from now on are asked.")
        if months
        else _("Saved. People who apply are not asked any more. Who agreed stays until their end."),
    )
    return redirect("company_privacy")


def _publish(request: HttpRequest, member: Member) -> HttpResponse:
    shown = shown_by(member.company)
    form = TextsForm(shown, request.POST)
    if not form.is_valid():
        return _render(request, member, texts=form)
    if request.POST.get(SEEN, "")[:LONGEST_SEEN] != _seen(shown):
        form.add_error(None, str(STALE))
        return _render(request, member, texts=form)
    try:
        publish(
            company_id=member.company.id,
            wanted=form.wanted(),
            seen=[each.id for each in shown],
            by=member.user.id,
        )
    except ConsentsChanged:
        form.add_error(None, str(STALE))
        return _render(request, member, texts=form)
    messages.success(
        request, _("Published. Who applied before keeps the version that they were shown.")
    )
    return redirect("company_privacy")


def _seen(versions: Versions) -> str:
    return " ".join(each.id.hex for each in versions)


def _render(
    request: HttpRequest,
    member: Member,
    *,
    controller: ControllerForm | None = None,
    texts: TextsForm | None = None,
    equality: EqualityForm | None = None,
    pool: PoolForm | None = None,
) -> HttpResponse:
    company = member.company
    shown, asked = shown_by(company), pool_of(company)
    context = {
        "member": member,
        "controller": controller or ControllerForm.of(company),
        "texts": texts or TextsForm(shown),
        "equality": equality or EqualityForm(initial={"questions": company.equality_questions}),
        "pool": pool or PoolForm(initial={"months": asked.months if asked else None}),
        "most_months": MOST_POOL_MONTHS,
        "totals": _described_totals(company),
        "fewest": totals.FEWEST,
        # Of texts that were refused: those that they were written from.
        "seen": request.POST[SEEN][:LONGEST_SEEN] if SEEN in request.POST else _seen(shown),
        "shown": shown,
        "earlier": [each for each in read_history(company.id) if each not in shown],
        "may_change": member.may(MAY),
        "usual_days": Retention.USUAL_DAYS,
        "bounds": KEEP_DAYS,
    }
    status = 422 if controller or texts or equality or pool else 200
    return render(request, "company/privacy.html", context, status=status)


def _described_totals(company: Company) -> dict[str, Any] | None:
    """Return the totals in words: each question with its rows; None until there are any."""
    found = totals.read(company.id)
    if found is None:
        return None
    questions = [
        (
            QUESTIONS[code].label,
            [(QUESTIONS[code].choices.get(name, _("No answer")), n) for name, n in cells.items()],
        )
        for code, cells in found.by_question.items()
    ]
    return {"people": found.people, "made_at": found.made_at, "questions": questions}
