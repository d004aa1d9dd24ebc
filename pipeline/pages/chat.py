"""Chat channels of a company: list, add, edit, test, switch, delete. No page shows an address."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy, pgettext_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from applicants.forms import NameField
from pipeline.chat import channels, queue
from pipeline.chat.addresses import AddressRefused
from pipeline.chat.channels import ChannelNotFound, ChannelRefused
from pipeline.domain.errors import WebhookUrlRefused
from pipeline.domain.permissions import Action
from pipeline.models import ChatCard, ChatChannel, ChatMessage, ChatService
from pipeline.models.chat import NAME_LENGTH
from pipeline.models.webhooks import LONGEST_URL
from pipeline.outgoing.client import Failure
from pipeline.pages.access import (
    Member,
    current_member,
    for_members,
    form_member,
    require_permission,
)
from pipeline.pages.forms import PlainForm
from pipeline.web.languages import offered

_MANAGE = Action.MANAGE_CHAT
P = ParamSpec("P")

CARDS: dict[str, Promise | str] = {
    ChatCard.SEAT: gettext_lazy("Someone has taken a seat"),
    ChatCard.OVERDUE: gettext_lazy("A review is overdue"),
    ChatCard.CONTEST: gettext_lazy("An applicant asks you to look again"),
    ChatCard.ALERT: gettext_lazy("Alerts: a job without applicants, an email that came back"),
    ChatCard.REPORT: gettext_lazy("A weekly report was made"),
}
# As the list of messages names them.
_KINDS: dict[str, Promise | str] = {
    ChatCard.SEAT: pgettext_lazy("chat message", "Seat taken"),
    ChatCard.OVERDUE: pgettext_lazy("chat message", "Review overdue"),
    ChatCard.CONTEST: gettext_lazy("Look again"),
    ChatCard.ALERT: pgettext_lazy("chat message", "Alert"),
    ChatCard.REPORT: pgettext_lazy("chat message", "Weekly report"),
    ChatCard.TEST: pgettext_lazy("chat message", "Test"),
}
FAILURES: dict[str, Promise | str] = {
    Failure.NAME_NOT_FOUND: gettext_lazy("The host name does not resolve"),
    Failure.ADDRESS_REFUSED: gettext_lazy("This site may not post to that host"),
    Failure.CONNECTION_FAILED: gettext_lazy("No connection"),
    Failure.TLS_FAILED: gettext_lazy("The certificate could not be verified"),
    Failure.TIMEOUT: gettext_lazy("No answer within 10 seconds"),
    Failure.BAD_ANSWER: gettext_lazy("The answer could not be read"),
    Failure.REDIRECT: gettext_lazy("It answered with a redirect, which we do not follow"),
    Failure.STATUS: gettext_lazy("It answered with an error"),
    Failure.GONE: gettext_lazy("The chat says that the address is gone"),
    Failure.SECRET_UNREADABLE: gettext_lazy("We cannot read the address any more: enter it again"),
    Failure.ENDPOINT_OFF: gettext_lazy("Not sent, because the channel was switched off"),
}
OFF_REASONS: dict[str, Promise | str] = {
    ChatChannel.OffReason.BY_HAND: gettext_lazy("It was switched off by hand."),
    ChatChannel.OffReason.GONE: gettext_lazy(
        "The chat says that its address is gone. Enter a new one."
    ),
    ChatChannel.OffReason.FAILING: gettext_lazy(
        "A message failed ten times in three days, and nothing else arrived in that time."
    ),
}
# Word and tone of each state of a message.
STATES: dict[str, tuple[Promise | str, str]] = {
    ChatMessage.State.PENDING: (pgettext_lazy("delivery", "Waiting"), "warn"),
    ChatMessage.State.SENT: (pgettext_lazy("delivery", "Delivered"), "good"),
    ChatMessage.State.OVER: (pgettext_lazy("delivery", "No longer true"), ""),
    ChatMessage.State.FAILED: (pgettext_lazy("delivery", "Failed"), "bad"),
}


class ChannelForm(PlainForm):
    """Form for a new or a changed channel. An empty address of a changed one keeps its own."""

    service = forms.ChoiceField(
        choices=ChatService.choices,
        widget=forms.RadioSelect,
        label=pgettext_lazy("label", "Chat"),
    )
    address = forms.CharField(
        max_length=LONGEST_URL,
        required=False,
        label=gettext_lazy("Webhook address"),
        help_text=gettext_lazy("The address that the chat made. Whoever has it can post there."),
        widget=forms.PasswordInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )
    name = NameField(
        max_length=NAME_LENGTH,
        label=pgettext_lazy("label", "Name"),
        help_text=gettext_lazy("How you call it here, like “#hiring”."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    job_id = forms.TypedChoiceField(
        required=False,
        coerce=UUID,
        empty_value=None,
        label=pgettext_lazy("label", "Job"),
        help_text=gettext_lazy("A channel of one job gets only what is about that job."),
    )
    cards = forms.MultipleChoiceField(
        choices=list(CARDS.items()),
        widget=forms.CheckboxSelectMultiple,
        label=pgettext_lazy("label", "Messages"),
    )
    language = forms.ChoiceField(label=pgettext_lazy("label", "Language"))

    def __init__(self, company_id: UUID, row: ChatChannel | None, *given: Any) -> None:
        initial = {
            "service": row.service if row else ChatService.SLACK,
            "name": row.name if row else "",
            "job_id": row.job_id if row else None,
            "cards": row.cards if row else list(CARDS),
            "language": row.language if row else get_language(),
        }
        super().__init__(*given, initial=initial)
        self.row = row
        titles = channels.read_job_titles(company_id, also=row.job_id if row else None)
        self.fields["job_id"].choices = [("", _("All jobs")), *titles]  # type: ignore[attr-defined]
        self.fields["language"].choices = list(offered().items())  # type: ignore[attr-defined]
        if row:
            self.fields["address"].help_text = _("Leave it empty to keep %(hint)s.") % {
                "hint": row.hint
            }

    def clean_address(self) -> str:
        """Return the address. Raises ValidationError if a new channel has none."""
        address = str(self.cleaned_data["address"]).strip()
        if not address and self.row is None:
            raise forms.ValidationError(_("Fill in this field."))
        return address


def for_owners(
    view: Callable[Concatenate[HttpRequest, Member, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Guard a page for owners of a live company: nothing leaves a sandbox."""

    @wraps(view)
    def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        found = form_member(request) if request.method == "POST" else current_member(request)
        owner = require_permission(found, _MANAGE)
        if owner.company.is_test:
            messages.info(request, _("Nothing leaves test mode. Add channels in live mode."))
            return redirect("test_mode")
        return view(request, owner, *args, **kwargs)

    return for_members(_MANAGE)(guarded)  # type: ignore[return-value]


@require_safe
@for_owners
def index(request: HttpRequest, owner: Member) -> HttpResponse:
    """List the channels: all, since a company has only a few."""
    rows = channels.read_all(owner.company.id)
    return render(request, "chat/list.html", {"channels": rows})


@require_http_methods(["GET", "POST"])
@for_owners
def new(request: HttpRequest, owner: Member) -> HttpResponse:
    """Add a channel."""
    if request.method == "GET":
        return _render_form(request, ChannelForm(owner.company.id, None))
    form = ChannelForm(owner.company.id, None, request.POST)
    if form.is_valid() and (row := _save(form, owner)):
        messages.success(request, _("Channel added. Send a test to see it there."))
        return redirect("chat_channel", row.id)
    return _render_form(request, form)


@require_safe
@for_owners
def show(request: HttpRequest, owner: Member, channel_id: UUID) -> HttpResponse:
    """Show a channel with its last messages and their failures."""
    row = _read(owner, channel_id)
    context = {
        "row": row,
        "off_reason": OFF_REASONS.get(row.off_reason, ""),
        "cards": [words for card, words in CARDS.items() if card in row.cards],
        "language": offered().get(row.language, row.language),
        "messages_sent": [_shown(each) for each in channels.read_messages(row)],
    }
    return render(request, "chat/channel.html", context)


@require_http_methods(["GET", "POST"])
@for_owners
def edit(request: HttpRequest, owner: Member, channel_id: UUID) -> HttpResponse:
    """Change a channel."""
    row = _read(owner, channel_id)
    if request.method == "GET":
        return _render_form(request, ChannelForm(owner.company.id, row))
    form = ChannelForm(owner.company.id, row, request.POST)
    if form.is_valid() and _save(form, owner):
        messages.success(request, _("Channel saved."))
        return redirect("chat_channel", row.id)
    return _render_form(request, form)


@require_http_methods(["GET", "POST"])
@for_owners
def delete(request: HttpRequest, owner: Member, channel_id: UUID) -> HttpResponse:
    """Ask for confirmation, then delete a channel."""
    row = _read(owner, channel_id)
    if request.method == "GET":
        return render(request, "chat/delete.html", {"row": row})
    channels.delete(company_id=owner.company.id, channel_id=row.id, by=owner.user.id)
    messages.success(request, _("Channel deleted."))
    return redirect("chat")


@require_POST
@for_owners
def switch(request: HttpRequest, owner: Member, channel_id: UUID) -> HttpResponse:
    """Pause a channel, or switch it on."""
    row = _read(owner, channel_id)
    is_active = request.POST.get("enabled") == "yes"
    channels.change(
        company_id=owner.company.id,
        channel_id=row.id,
        changes={"is_active": is_active},
        by=owner.user.id,
    )
    messages.success(request, _("Channel switched on.") if is_active else _("Channel paused."))
    return redirect("chat_channel", row.id)


@require_POST
@for_owners
def test(request: HttpRequest, owner: Member, channel_id: UUID) -> HttpResponse:
    """Send a test to a channel."""
    row = _read(owner, channel_id)
    try:
        queue.post_test(company_id=owner.company.id, channel_id=row.id)
    except ChannelRefused as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Test sent. Reload this page to see the answer."))
    return redirect("chat_channel", row.id)


def _read(owner: Member, channel_id: UUID) -> ChatChannel:
    try:
        return channels.read(owner.company.id, channel_id)
    except ChannelNotFound:
        raise Http404 from None


def _save(form: ChannelForm, owner: Member) -> ChatChannel | None:
    given: dict[str, Any] = {"company_id": owner.company.id, "by": owner.user.id}
    try:
        if form.row is None:
            return channels.add(**given, **form.cleaned_data)
        return channels.change(**given, channel_id=form.row.id, changes=form.cleaned_data)
    except (AddressRefused, WebhookUrlRefused) as error:
        form.add_error("address", str(error))
    except ChannelRefused as error:
        form.add_error(None, str(error))
    return None


def _render_form(request: HttpRequest, form: ChannelForm) -> HttpResponse:
    context = {"form": form, "row": form.row}
    return render(request, "chat/form.html", context, status=422 if form.is_bound else 200)


def _shown(message: ChatMessage) -> dict[str, object]:
    word, tone = STATES[message.state]
    why: object = FAILURES.get(message.last_error, "")
    if message.last_status and message.last_error in (Failure.STATUS, Failure.GONE):
        why = _("%(why)s (%(status)s)") % {"why": why, "status": message.last_status}
    return {
        "message": message,
        "kind": _KINDS[message.card],
        "word": word,
        "tone": tone,
        "why": why,
    }
