"""Pages of a bulk message: choosing whom, a preview, and its progress with the stop."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext, pgettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from jobs.models import Job
from pipeline.correspondence import bulk, templates
from pipeline.correspondence.bulk import Stage
from pipeline.correspondence.threads import WRITE
from pipeline.models import MESSAGE_LENGTH, Application, BulkMessage
from pipeline.pages import page_urls
from pipeline.pages.access import Member, for_members, own_job
from pipeline.pages.forms import LinesField, PlainForm
from pipeline.pages.live_page import live_page
from pipeline.texts.fields import UnusableText
from pipeline.wording.language import number as in_digits

POLL_SECONDS = 2
STAGE_WORDS = {
    Stage.WAITLIST: gettext_lazy("People on the waitlist"),
    Stage.PENDING: gettext_lazy("People who are offered a seat"),
    Stage.ACTIVE: gettext_lazy("People in review"),
    Stage.HIRED: gettext_lazy("People who were hired"),
    Stage.REJECTED: gettext_lazy("People who were rejected"),
}
POOL_WORDS = gettext_lazy("People in the talent pool")
FIELDS_HELP = gettext_lazy(
    "You can use {name}, {job}, {company} and {me}: they stand for the person’s name, the job, your"
    " company and your own name."
)


class BulkTextForm(PlainForm):
    """Text for many people."""

    text = LinesField(
        label=pgettext_lazy("label", "Message"),
        max_length=MESSAGE_LENGTH,
        help_text=FIELDS_HELP,
        widget=forms.Textarea(attrs={"rows": 8, "maxlength": MESSAGE_LENGTH}),
    )

    def clean_text(self) -> str:
        """Return the text. Refuses unknown fields. Raises ValidationError."""
        text: str = self.cleaned_data["text"]
        try:
            templates.check_fields(text)
        except UnusableText as error:
            raise forms.ValidationError(str(error)) from None
        return text


class BulkMessageForm(BulkTextForm):
    """Text for everyone in a stage of a job."""

    stage = forms.ChoiceField(
        label=pgettext_lazy("recipients", "To"),
        choices=[(each.value, words) for each, words in STAGE_WORDS.items()],
    )
    field_order = ("stage", "text")


@require_http_methods(["GET", "HEAD", "POST"])
@for_members(WRITE)
def write(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the form; then how many people get the message and what the first read; then send."""
    member, job = own_job(request, job_id, WRITE)
    form = BulkMessageForm(request.POST or None, initial=_read_initial(request, member))
    context: dict[str, Any] = {
        "member": member,
        "job": job,
        "tab": "messages",
        "form": form,
        "templates": templates.read_all(member.company.id),
        "bulk_id": sent_id(request),
        "per_minute": settings.BULK_MESSAGES_PER_MINUTE,
    }
    if not form.is_valid():
        status = 422 if form.errors else 200
        return render(request, "correspondence/bulk.html", context, status=status)
    stage, text = Stage(form.cleaned_data["stage"]), form.cleaned_data["text"]
    if "send" in request.POST and (bulk_id := _send(request, member, job, form)):
        return redirect("bulk_message", job.id, bulk_id)
    context |= describe_preview(member, job, bulk.find_people(job.id, stage), text)
    status = 422 if form.errors else 200
    return render(request, "correspondence/bulk.html", context, status=status)


def _read_initial(request: HttpRequest, member: Member) -> dict[str, str]:
    chosen = page_urls.read_id(request, "template")
    found = [each for each in templates.read_all(member.company.id) if each.id == chosen]
    text = found[0].text if chosen and found else ""
    return {"stage": request.GET.get("stage", Stage.ACTIVE.value), "text": text}


def describe_preview(
    member: Member, job: Job, people: QuerySet[Application], text: str
) -> dict[str, Any]:
    """Return how many people would get a message, what the first read, and how long it takes."""
    count = people.count()
    named = member.user.name or member.company.name
    return {
        "count": count,
        "previews": bulk.preview(job, people, text, named),
        "button": ngettext("Send to %(count)s person", "Send to %(count)s people", count)
        % {"count": in_digits(count)},
        "minutes": -(-count // settings.BULK_MESSAGES_PER_MINUTE),
    }


def _send(request: HttpRequest, member: Member, job: Job, form: BulkMessageForm) -> UUID | None:
    """Begin to send, if as many people get it as the page said; return the bulk message's id."""
    stage, text = Stage(form.cleaned_data["stage"]), form.cleaned_data["text"]
    bulk_id = sent_id(request)
    count = str(bulk.find_people(job.id, stage).count())
    if request.POST.get("promised") != count:
        form.add_error(
            None, _("The people in this stage have changed meanwhile. Look again, then send.")
        )
        return None
    try:
        bulk.start(bulk_id=bulk_id, job_id=job.id, stage=stage, text=text, author_id=member.user.id)
    except bulk.BulkRefused as error:
        form.add_error(None, str(error))
        return None
    return bulk_id


def sent_id(request: HttpRequest) -> UUID:
    """Return the id that the form gives its bulk message, or a new one."""
    try:
        return UUID(request.POST.get("bulk", ""))
    except ValueError:
        return uuid4()


@require_safe
@for_members()
def show(request: HttpRequest, job_id: UUID, bulk_id: UUID) -> HttpResponse:
    """Show how far a bulk message has come."""
    member, job = own_job(request, job_id)
    row = BulkMessage.objects.select_related("author").filter(id=bulk_id, job_id=job_id).first()
    if row is None:
        raise Http404
    progress = bulk.read_progress(bulk_id)
    context = {
        "member": member,
        "job": job,
        "tab": "messages",
        "bulk": row,
        "progress": progress,
        "to": POOL_WORDS if row.stage == bulk.POOL else STAGE_WORDS[Stage(row.stage)],
        "may_stop": member.may(WRITE) and row.finished_at is None,
        "poll_seconds": 0 if row.finished_at else POLL_SECONDS,
    }
    return live_page(
        request,
        "correspondence/bulk_progress.html",
        "correspondence/_bulk_progress.html",
        build=lambda: context,
        tag=f"{progress}{row.finished_at}",
        jobs=[job_id],
    )


@require_POST
@for_members(WRITE)
def stop(request: HttpRequest, job_id: UUID, bulk_id: UUID) -> HttpResponse:
    """Send nothing more of a bulk message."""
    _member, job = own_job(request, job_id, WRITE)
    stopped = bulk.stop(bulk_id=bulk_id, job_id=job.id)
    said = ngettext(
        "Stopped. %(count)s person does not get it.",
        "Stopped. %(count)s people do not get it.",
        stopped,
    )
    messages.success(request, said % {"count": in_digits(stopped)})
    return redirect("bulk_message", job.id, bulk_id)
