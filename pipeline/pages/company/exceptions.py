"""Page on which a company moves one person to the front of the line, by a reasoned exception."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_http_methods

from jobs.models import Job, JobStatus
from pipeline.domain.permissions import Action
from pipeline.domain.states import MOST_EXCEPTIONS, ExceptionReason
from pipeline.models import EXCEPTION_TEXT_LENGTH
from pipeline.pages.access import for_members, received_application
from pipeline.pages.company import consequences
from pipeline.pages.error_messages import attempt
from pipeline.pages.forms import LinesField, PlainForm
from pipeline.selectors.applications import SeenApplication
from pipeline.selectors.jobs import read_job
from pipeline.services.exceptions import move_ahead
from pipeline.wording.english import isolated
from pipeline.wording.exceptions import reason_choices


class ExceptionForm(PlainForm):
    """Reason for an exception, and what the people passed read about it."""

    reason = forms.ChoiceField(
        label=pgettext_lazy("label", "Reason"), widget=forms.RadioSelect, choices=reason_choices
    )
    text = LinesField(
        label=gettext_lazy("A sentence for the people passed"),
        max_length=EXCEPTION_TEXT_LENGTH,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=gettext_lazy(
            "They read it in an email and on their page. Name nobody, and say nothing about"
            " anyone’s health or life."
        ),
    )

    def clean_text(self) -> str:
        """Require a sentence where the reason alone says nothing."""
        text: str = self.cleaned_data["text"]
        if self.cleaned_data.get("reason") == ExceptionReason.OTHER and not text:
            raise forms.ValidationError(_("Say what the reason is."))
        return text


def is_exception_offered(seen: SeenApplication, job: Job) -> bool:
    """Tell whether a person can be moved to the front: they wait, and someone is ahead of them."""
    return (
        (seen.position or 0) > 1
        and job.status in (JobStatus.OPEN, JobStatus.PAUSED)
        and not job.awaits_draw
        and job.exception_count < MOST_EXCEPTIONS
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_members(Action.DECIDE)
def show(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show whom an exception passes, and that they are told; on POST, make it."""
    member, seen = received_application(request, application_id, Action.DECIDE)
    job = read_job(seen.application.job_id)
    if not is_exception_offered(seen, job):
        messages.info(request, _("This person cannot be moved to the front now."))
        return redirect("application", application_id=application_id)
    form = ExceptionForm(request.POST or None)
    promise = str(seen.position)
    is_kept = request.POST.get("promised", promise) == promise
    if form.is_valid() and is_kept:
        given = form.cleaned_data
        done = _("%(name)s is first in line now. Everyone passed gets an email.")
        attempt(
            request,
            lambda: move_ahead(
                application_id=application_id,
                reason=ExceptionReason(given["reason"]),
                text=given["text"],
                actor=member.actor,
            ),
            done=done % {"name": isolated(seen.application.name or seen.address)},
        )
        return redirect("application", application_id=application_id)
    if not is_kept:
        form.add_error(None, consequences.MOVED_ON)
    context = {
        "seen": seen,
        "application": seen.application,
        "job": job,
        "tab": "board",
        "form": form,
        "promise": promise,
        "passed": (seen.position or 1) - 1,
        "left": MOST_EXCEPTIONS - job.exception_count,
    }
    return render(request, "company/move_ahead.html", context, status=422 if form.errors else 200)
