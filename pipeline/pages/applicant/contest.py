"""Page on which an applicant asks the company to look again at how an application ended."""

from __future__ import annotations

from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from pipeline.domain.contests import TEXT_LENGTH
from pipeline.domain.states import Actor, ActorKind
from pipeline.pages.access import for_signed_in_applicants, own_application
from pipeline.pages.applicant.application_card import ApplicationCard
from pipeline.pages.error_messages import attempt
from pipeline.pages.forms import LinesField, PlainForm
from pipeline.selectors.jobs import read_job
from pipeline.selectors.review import contest_deadline, read_application_contests
from pipeline.services.contests import contest

ASKED = "Sent. The company will look again, and we will email you its answer."
NOT_NOW = "You cannot ask the company to look again at this application."


class ContestForm(PlainForm):
    """Form for information that the company should have when it looks again."""

    text = LinesField(
        label="What should the company know?",
        max_length=TEXT_LENGTH,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text="Say what is wrong, or what the company could not know. Only the company and you"
        f" can read this. At most {TEXT_LENGTH:,} characters.",
    )


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in_applicants
def submit(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Show the form; on POST, send the text to the company."""
    person, seen = own_application(request, application_id)
    contests = read_application_contests(application_id)
    until = contest_deadline(seen.application, contests, seen.now)
    if until is None:
        messages.info(request, NOT_NOW)
        return redirect("my_application", application_id)
    form = ContestForm(request.POST or None)
    if form.is_valid():
        actor, text = Actor(ActorKind.APPLICANT, person.id), form.cleaned_data["text"]
        attempt(
            request,
            lambda: contest(application_id=application_id, text=text, actor=actor),
            done=ASKED,
        )
        return redirect("my_application", application_id)
    context = {
        "card": ApplicationCard.of(seen, read_job(seen.application.job_id)),
        "form": form,
        "until": until,
        "days": settings.CONTEST_DAYS,
    }
    return render(request, "applicant/contest.html", context, status=422 if form.errors else 200)
