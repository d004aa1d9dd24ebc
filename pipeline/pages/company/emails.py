"""Pages of a company's own words: whose name its emails have, its texts, and a look at them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from csp.decorators import csp
from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from applicants.forms import AddressField, CodeForm, NameField
from applicants.mail import post_private_email
from pipeline.domain.permissions import Action
from pipeline.models import SENDER_LENGTH, CompanyText
from pipeline.notifications.messages import Facts, Message
from pipeline.notifications.previews import compose_own, own_facts
from pipeline.notifications.rendering import render_html
from pipeline.pages import limits
from pipeline.pages.access import (
    Member,
    current_member,
    for_members,
    form_member,
    require_permission,
)
from pipeline.pages.emails_as_html import OF_AN_EMAIL
from pipeline.pages.forms import LinesField, PlainForm
from pipeline.pages.limits import TooOften
from pipeline.texts import letterheads
from pipeline.texts.fields import UnusableText
from pipeline.texts.kinds import (
    BY_SLUG,
    EVERY,
    KINDS,
    SUBJECT,
    Kind,
    Part,
    list_emails,
    list_sentences,
)
from pipeline.texts.letterheads import StaleLetterhead, UnusableSender, letterhead_of
from pipeline.texts.words import StaleText, check_part, read_texts, read_versions, save_text
from pipeline.web import rate_limit
from pipeline.web.addresses import client_site
from pipeline.web.languages import offered
from pipeline.web.rate_limit import Rate
from pipeline.wording.english import long_duration
from pipeline.wording.language import code

LANGUAGE = "language"  # the parameter that names that of the texts

# Test emails of one member.
TESTS = Rate(20, 3_600)
NOT_IN_TEST_MODE = gettext_lazy("In test mode, no email is sent. Switch to your live company.")
CHANGED_MEANWHILE = gettext_lazy(
    "Someone else changed this while you were editing. Compare, and save again."
)


@require_safe
@for_members()
def index(request: HttpRequest) -> HttpResponse:
    """List every text with whose words it has, and show the names on the emails."""
    member = require_permission(current_member(request), Action.READ_COMPANY)
    language = _chosen_language(request)
    texts = read_texts(member.company, language)
    groups = [
        (_("In every email"), [KINDS[EVERY]]),
        (_("Emails to applicants"), list(list_emails())),
        (_("Sentences with a rejection or removal"), list(list_sentences())),
    ]
    context = {
        "member": member,
        "letterhead": letterhead_of(member.company),
        "sender": letterheads.shown_sender(member.company),
        "groups": [
            (title, [(k, _own(texts.get(k.name))) for k in kinds]) for title, kinds in groups
        ],
        "may_change_sender": member.may(Action.CHANGE_SENDER),
        "language": language,
    }
    return render(request, "company/emails.html", context)


def _chosen_language(request: HttpRequest) -> str:
    """Return the language of the texts: as the form or the address says, or else the page's."""
    chosen = request.POST.get(LANGUAGE, request.GET.get(LANGUAGE, ""))
    return chosen if chosen in offered() else code()


def _own(row: CompanyText | None) -> CompanyText | None:
    return row if row and row.parts else None


# A text, with the email that it makes.


class TextForm(PlainForm):
    """Parts of a company's text; an empty one is in our words."""

    version = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput)

    def __init__(self, *given: Any, kind: Kind, usual: Message, **named: Any) -> None:
        own = {part.name: _part_field(part, usual) for part in kind.parts}
        self.kind = kind
        super().__init__(*given, **named, own=own)

    def clean(self) -> dict[str, Any]:
        """Refuse fields that cannot be filled in, each with its place."""
        given = super().clean() or self.cleaned_data
        for part in self.kind.parts:
            try:
                check_part(self.kind, part.name, given.get(part.name) or "")
            except UnusableText as error:
                self.add_error(part.name, str(error))
        return given

    @property
    def parts(self) -> dict[str, str]:
        """Return the words that were entered."""
        entered = ((part.name, self.cleaned_data.get(part.name)) for part in self.kind.parts)
        return {name: text for name, text in entered if text}


def _part_field(part: Part, usual: Message) -> forms.Field:
    about = _("Usually: %(subject)s") % {"subject": usual.subject} if part is SUBJECT else part.help
    named: dict[str, Any] = {"required": False, "label": part.label, "help_text": about}
    if part.is_line:
        return NameField(max_length=part.most, **named)
    return LinesField(max_length=part.most, widget=forms.Textarea(attrs={"rows": 4}), **named)


@dataclass(frozen=True, slots=True)
class ShownText:
    """A company's text as its page shows it, and what makes an email of it."""

    member: Member
    kind: Kind
    versions: list[CompanyText]
    common: Mapping[str, str]  # the words that stand in every email
    facts: Facts
    language: str

    @classmethod
    def read(cls, request: HttpRequest, slug: str) -> ShownText:
        """Read a text of the member's company. Raises Http404 if there is no such kind."""
        member = require_permission(form_member(request), Action.READ_COMPANY)
        if slug not in BY_SLUG:
            raise Http404
        kind, company = BY_SLUG[slug], member.company
        language = _chosen_language(request)
        every = read_texts(company, language).get(EVERY) if kind.name != EVERY else None
        versions = read_versions(company.id, kind.name, language)
        common = every.parts if every else {}
        with override(language):
            return cls(member, kind, versions, common, own_facts(company), language)

    @property
    def last(self) -> CompanyText | None:
        """Return the version that counts."""
        return self.versions[0] if self.versions else None

    @property
    def saved(self) -> dict[str, str]:
        """Return the company's words."""
        return self.last.parts if self.last else {}

    @property
    def version(self) -> int:
        """Return the number of the version that counts, 0 without any."""
        return self.last.version if self.last else 0

    def form(self, data: Any = None) -> TextForm:
        """Return the form with the words that are saved, or that were sent."""
        initial = {**self.saved, "version": self.version}
        return TextForm(data, initial=initial, kind=self.kind, usual=self.compose({}))

    def compose(self, parts: Mapping[str, str]) -> Message:
        """Compose the email with these words, without the proof of an event: there is none."""
        whole, legal_name = {**self.common, **parts}, self.member.company.legal_name
        with override(self.language):
            return replace(compose_own(self.kind.name, whole, self.facts, legal_name), proof="")


@require_http_methods(["GET", "POST"])
@for_members()
def show(request: HttpRequest, kind: str) -> HttpResponse:
    """Show a text and the email that it makes; save it, try it, or go back to our words."""
    text = ShownText.read(request, kind)
    if request.method != "POST":
        return _render(request, text, text.form())
    require_permission(text.member, Action.EDIT_TEXTS)
    act = request.POST.get("do", "save")
    if act == "reset":
        return _save(request, text, {}, text.version)
    form = text.form(request.POST)
    if not form.is_valid():
        return _render(request, text, form, status=422)
    if act == "test":
        _send_test(request, text.member, text.compose(form.parts))
    if act != "save":
        return _render(request, text, form)
    try:
        return _save(request, text, form.parts, form.cleaned_data["version"] or 0)
    except StaleText as error:
        form.add_error(None, str(CHANGED_MEANWHILE))
        return _render(request, text, form, other=error.args[0], status=409)


@csp(OF_AN_EMAIL)  # type: ignore[arg-type]  # its type allows no further arguments
@never_cache
@require_POST
@for_members()
def show_html(request: HttpRequest, kind: str) -> HttpResponse:
    """Show the email that the typed text makes as HTML; the saved one if it cannot be used."""
    text = ShownText.read(request, kind)
    form = text.form(request.POST)
    parts = form.parts if form.is_valid() else text.saved
    return HttpResponse(render_html(text.compose(parts)))


def _save(
    request: HttpRequest, text: ShownText, parts: Mapping[str, str], seen: int
) -> HttpResponse:
    """Save words, or go back to ours. Raises StaleText."""
    member = text.member
    save_text(
        company_id=member.company.id,
        kind=text.kind,
        parts=parts,
        seen=seen,
        by=member.user.id,
        language=text.language,
    )
    done = _("Saved. Emails have these words from now on.") if parts else _("These are our words.")
    messages.success(request, done)
    page = reverse("company_email", args=[text.kind.slug])
    return redirect(page if text.language == code() else f"{page}?{LANGUAGE}={text.language}")


def _send_test(request: HttpRequest, member: Member, message: Message) -> None:
    """Send the member the email, with its sender."""
    if member.company.is_test:
        messages.error(request, NOT_IN_TEST_MODE)
        return
    tally = rate_limit.count("email_test", str(member.user.id), TESTS)
    if not tally.allowed:
        wait = long_duration(tally.wait_seconds)
        messages.error(request, _("Too many tests. Try again in %(wait)s.") % {"wait": wait})
        return
    post_private_email(
        to=member.user.email,
        subject=_("Test: %(subject)s") % {"subject": message.subject},
        text=message.text,
        html=render_html(message),
        sender=letterheads.from_header(member.company),
        reply_to=letterhead_of(member.company).reply_address,
    )
    told = _("A test is on its way to %(address)s.") % {"address": member.user.email}
    messages.success(request, told)


def _render(
    request: HttpRequest,
    text: ShownText,
    form: TextForm,
    *,
    other: CompanyText | None = None,
    status: int = 200,
) -> HttpResponse:
    """Show a text; after a refusal, or a look at it, with what was typed.

    `other`: the version that someone else has saved meanwhile. Saving again replaces it.
    """
    is_tried = form.is_bound and status == 200
    version = other.version if other else form["version"].value()
    kind, labels = text.kind, {part.name: part.label for part in text.kind.parts}
    context = {
        "member": text.member,
        "kind": kind,
        "form": form,
        "version": version or 0,
        "parts": [form[part.name] for part in kind.parts],
        "fields": [f"{{{name}}}" for name in kind.fields],
        "message": text.compose(form.parts if is_tried or other else text.saved),
        "is_own": bool(text.saved),
        "is_typed": is_tried and form.parts != text.saved,
        "may_edit": text.member.may(Action.EDIT_TEXTS),
        "versions": [
            (row, [(labels[name], words) for name, words in row.parts.items()])
            for row in text.versions
        ],
        "meanwhile": [(labels[name], words) for name, words in other.parts.items()]
        if other
        else [],
        "language": text.language,
    }
    return render(request, "company/email_text.html", context, status=status)


# The names on the emails, and the address for answers, which a code proves.


class SenderForm(PlainForm):
    """Names on a company's emails."""

    version = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput)
    sender_name = NameField(
        required=False,
        max_length=SENDER_LENGTH,
        label=gettext_lazy("Sender name"),
        help_text=gettext_lazy("Your company’s name, unless you enter another."),
    )

    def clean_sender_name(self) -> str:
        """Refuse a name that could pass for an address."""
        name: str = self.cleaned_data["sender_name"]
        try:
            letterheads.check_sender_name(name)
        except UnusableSender as error:
            raise forms.ValidationError(str(error)) from None
        return name


class ReplyForm(PlainForm):
    """Address for answers."""

    address = AddressField(
        label=gettext_lazy("Reply address"),
        help_text=gettext_lazy("Answers to your emails go there. We email it a code first."),
    )


@never_cache
@require_http_methods(["GET", "POST"])
@for_members()
def sender(request: HttpRequest) -> HttpResponse:
    """Show and change the names on the emails, and prove an address for answers."""
    member = require_permission(form_member(request), Action.READ_COMPANY)
    if request.method != "POST":
        return _render_sender(request, member)
    require_permission(member, Action.CHANGE_SENDER)
    acts = {
        "save": _save_sender,
        "ask": _ask_for_proof,
        "prove": _prove,
        "forget": _forget_reply_address,
    }
    return acts.get(request.POST.get("do", ""), _save_sender)(request, member)


def _save_sender(request: HttpRequest, member: Member) -> HttpResponse:
    form = SenderForm(request.POST)
    if not form.is_valid():
        return _render_sender(request, member, form=form, status=422)
    given = form.cleaned_data
    try:
        letterheads.save(
            company_id=member.company.id,
            sender_name=given["sender_name"],
            seen=given["version"] or 0,
            by=member.user.id,
        )
    except StaleLetterhead:
        form.add_error(None, str(CHANGED_MEANWHILE))
        return _render_sender(request, member, form=form, status=409)
    messages.success(request, _("Saved. Emails have these names from now on."))
    return redirect("email_sender")


def _ask_for_proof(request: HttpRequest, member: Member) -> HttpResponse:
    form = ReplyForm(request.POST)
    if member.company.is_test:
        messages.error(request, NOT_IN_TEST_MODE)
        return redirect("email_sender")
    if not form.is_valid():
        return _render_sender(request, member, reply=form, status=422)
    address = form.cleaned_data["address"]
    try:
        limits.count_code(request, address)
    except TooOften as refused:
        form.add_error(None, str(refused))
        return _render_sender(request, member, reply=form, status=429)
    letterheads.ask_for_proof(
        company=member.company, address=address, by=member.user.id, network=client_site(request)
    )
    return _render_sender(request, member, proving=address, code=CodeForm())


def _prove(request: HttpRequest, member: Member) -> HttpResponse:
    form, reply = CodeForm(request.POST), ReplyForm(request.POST)
    if not reply.is_valid():
        return _render_sender(request, member, reply=reply, status=422)
    address = reply.cleaned_data["address"]
    if form.is_valid():
        code, company_id = form.cleaned_data["code"], member.company.id
        is_right = letterheads.prove(
            company_id=company_id, address=address, code=code, by=member.user.id
        )
        if is_right:
            done = _("Answers to your emails go to %(address)s now.") % {"address": address}
            messages.success(request, done)
            return redirect("email_sender")
        wrong, over = _("This code is wrong."), _("This code is too old or was tried too often.")
        form.add_error("code", over if is_right is None else wrong)
    return _render_sender(request, member, proving=address, code=form, status=422)


def _forget_reply_address(request: HttpRequest, member: Member) -> HttpResponse:
    letterheads.set_reply_address(company_id=member.company.id, address="", by=member.user.id)
    messages.success(request, _("Answers to your emails go to nobody now."))
    return redirect("email_sender")


def _render_sender(
    request: HttpRequest,
    member: Member,
    *,
    form: SenderForm | None = None,
    reply: ReplyForm | None = None,
    code: CodeForm | None = None,
    proving: str = "",
    status: int = 200,
) -> HttpResponse:
    """Show the page; `proving` is the address to which a code was sent."""
    row = letterheads.read(member.company.id)
    is_stale, saved = status == 409, {name: getattr(row, name) for name in ("sender_name",)}
    shown = form or SenderForm(initial=saved | {"version": row.version})
    labels = {name: shown.fields[name].label for name in ("sender_name",)}
    context = {
        "member": member,
        "row": row,
        "form": shown,
        "version": row.version if is_stale else shown["version"].value() or 0,
        "reply": reply or ReplyForm(),
        "code": code,
        "proving": proving,
        "meanwhile": [(labels[name], saved[name]) for name in saved] if is_stale else [],
        "sender": letterheads.shown_sender(member.company),
        "company_name": member.company.name,
        "may_change": member.may(Action.CHANGE_SENDER),
    }
    return render(request, "company/email_sender.html", context, status=status)
