"""Answers on the page of an application, and one more question to a person in review."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from applicants.forms import NameField
from pipeline.domain.errors import FurtherQuestionNotFound, LineError
from pipeline.domain.permissions import Action
from pipeline.domain.states import Status
from pipeline.form import later
from pipeline.form.answers import read_given, replaced_files, show
from pipeline.form.questions import HELP_LENGTH, QUESTION_LENGTH, Kind, Question, build_question
from pipeline.models import Attachment, FurtherQuestion
from pipeline.pages.access import Member, for_members, received_application
from pipeline.pages.error_messages import explain_refusal
from pipeline.pages.forms import PlainForm
from pipeline.selectors.applications import SeenApplication

USUAL_DAYS = 3
KINDS = {
    Kind.LONG_TEXT: pgettext_lazy("kind of answer", "Text"),
    Kind.YES_NO: gettext_lazy("Yes or no"),
    Kind.NUMBER: pgettext_lazy("kind of answer", "Number"),
    Kind.DATE: pgettext_lazy("kind of answer", "Date"),
    Kind.LINK: pgettext_lazy("kind of answer", "Link"),
    Kind.PHONE: gettext_lazy("Phone number"),
}


class FurtherQuestionForm(PlainForm):
    """One more question to a person, and how long they have."""

    label = NameField(label=pgettext_lazy("label", "Question"), max_length=QUESTION_LENGTH)
    help = forms.CharField(
        label=gettext_lazy("Help below the question"), required=False, max_length=HELP_LENGTH
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind of answer"),
        choices=[(kind.value, words) for kind, words in KINDS.items()],
    )
    days = forms.IntegerField(
        label=gettext_lazy("Days to answer"),
        min_value=1,
        max_value=later.ANSWER_WITHIN.days - 1,
        initial=USUAL_DAYS,
    )


class ShownFurther(NamedTuple):
    """Further question with its answer as pages show it."""

    row: FurtherQuestion
    question: Question
    text: str
    is_overdue: bool


def read_context(
    member: Member, seen: SeenApplication, files: Sequence[Attachment]
) -> dict[str, Any]:
    """Return what the page of an application shows of its answers, in two queries."""
    application = seen.application
    asked = later.read_further(application.id)
    further = []
    for row in asked:
        question = later.question_in(row)
        text = question.show(row.answer)
        further.append(ShownFurther(row, question, text, row.is_overdue(seen.now)))
    may_ask = member.may(Action.ASK_QUESTION)
    is_open = any(row.is_open for row in asked)
    given = read_given(application.id)
    return {
        "given": [show(application.job_id, row, files) for row in given],
        "replaced": replaced_files(files, given[0].answers if given else None),
        "further": further,
        "may_ask": may_ask and application.status == Status.ACTIVE and not is_open,
        "may_withdraw_question": may_ask,
    }


@require_http_methods(["GET", "POST"])
@for_members(Action.ASK_QUESTION)
def ask(request: HttpRequest, application_id: UUID) -> HttpResponse:
    """Ask a person in review one more question; the person is emailed."""
    member, seen = received_application(request, application_id, Action.ASK_QUESTION)
    form = FurtherQuestionForm(request.POST or None)
    if form.is_valid():
        given = form.cleaned_data
        question = build_question(given | {"key": "further", "required": True})
        try:
            later.ask(
                application_id=application_id,
                question=question,
                answer_by=seen.now + timedelta(days=given["days"]),
                actor=member.actor,
            )
        except LineError as error:
            form.add_error(None, explain_refusal(error))
        else:
            messages.success(request, _("The question is on its way to the person."))
            return redirect("application", application_id=application_id)
    context = {"seen": seen, "application": seen.application, "form": form}
    status = 422 if request.method == "POST" else 200
    return render(request, "company/ask_question.html", context, status=status)


@require_POST
@for_members(Action.ASK_QUESTION)
def withdraw(request: HttpRequest, application_id: UUID, question_id: UUID) -> HttpResponse:
    """Withdraw a question that is still open."""
    received_application(request, application_id, Action.ASK_QUESTION)
    try:
        later.withdraw_question(application_id=application_id, question_id=question_id)
    except FurtherQuestionNotFound as error:
        messages.error(request, explain_refusal(error))
    else:
        messages.success(request, _("The question is withdrawn."))
    return redirect("application", application_id=application_id)
