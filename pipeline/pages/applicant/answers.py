"""Answers of the signed-in applicant after applying: changed while waiting, or asked for."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from jobs.models import Job, JobStatus
from pipeline.attachments.reads import read_attachments
from pipeline.domain.errors import AnswersNotChangeable, FormChanged, IllegalMove, LineError
from pipeline.domain.states import Actor, ActorKind, Status
from pipeline.form import later
from pipeline.form.answers import (
    files_beside,
    read_given,
    replaced_files,
    show,
    show_answers,
)
from pipeline.form.questions import Answers
from pipeline.form.versions import questions_of
from pipeline.models import Application, ApplicationRow, Attachment
from pipeline.pages.access import for_signed_in_applicants, own_application
from pipeline.pages.answer_forms import add_questions, answers_in, later_answers_in
from pipeline.pages.applicant.application_card import ApplicationCard
from pipeline.pages.applicant.apply import CHANGED, shown_version
from pipeline.pages.attachments import holder_of_browser
from pipeline.pages.error_messages import attempt, explain_refusal
from pipeline.selectors.jobs import read_job


def read_context(card: ApplicationCard, job: Job, files: list[Attachment]) -> dict[str, Any]:
    """Return what the page of an application shows of its answers, in two queries."""
    application = card.seen.application
    rows = read_given(application.id)
    latest = rows[0].answers if rows else None
    further = later.read_further(application.id)
    asked = next((row for row in further if row.is_open), None)
    questions = [(row, later.question_in(row)) for row in further if row.answered_at]
    return {
        "answered": show(job.id, rows[0], files) if rows else None,
        "replaced": replaced_files(files, latest),
        "has_files": bool(files),
        "files": files_beside(files, latest),
        "may_change_answers": _may_change(application, job),
        "asked": asked,
        "is_overdue": bool(asked and asked.is_overdue(card.seen.now)),
        "further_answers": [
            answer
            for row, question in questions
            for answer in show_answers([question], {question.key: row.answer})
        ],
    }


def _may_change(application: Application | ApplicationRow, job: Job) -> bool:
    waits = application.status == Status.WAITLIST and application.is_verified
    return bool(waits and job.form_version and job.status != JobStatus.CLOSED)


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in_applicants
def change(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Show the job's questions with the answers so far, and keep others while the person waits."""
    person, seen = own_application(request, application_id)
    job = read_job(seen.application.job_id)
    if not _may_change(seen.application, job):
        messages.info(request, _("Your answers can no longer be changed here."))
        return redirect("my_application", application_id)
    rows, files = read_given(application_id), read_attachments(application_id)
    earlier = rows[0].answers if rows else {}
    form = _change_form(request, job, earlier, files)
    if request.method == "POST" and form.is_valid():
        actor = Actor(ActorKind.APPLICANT, person.id)
        try:
            filled = later.fill_later(
                job,
                later_answers_in(form),
                number=shown_version(request),
                holder=holder_of_browser(request),
            )
            later.change_answers(application_id=application_id, filled=filled, actor=actor)
        except FormChanged:
            job = read_job(job.id)
            form = _change_form(request, job, earlier, files)
            form.is_valid()
            form.add_error(None, str(CHANGED))
        except (IllegalMove, AnswersNotChangeable) as error:
            messages.error(request, explain_refusal(error))
            return redirect("my_application", application_id)
        except LineError as error:  # of a file
            form.add_error(None, explain_refusal(error))
        else:
            messages.success(request, _("Your answers are saved. Your place stays the same."))
            return redirect("my_application", application_id)
    context = {
        "application": seen.application,
        "job": job,
        "form": form,
        "form_version": job.form_version,
        "title": _("Change my answers"),
        "about": _(
            "The company sees these answers, and when you gave earlier ones. A file that you"
            " replace stays with the earlier answers."
        ),
        "button": _("Save my answers"),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "applicant/answers.html", context, status=status)


def _change_form(
    request: HttpRequest, job: Job, earlier: Answers, files: list[Attachment]
) -> forms.Form:
    is_sent = request.method == "POST"
    form = forms.Form(request.POST, request.FILES) if is_sent else forms.Form()
    questions = questions_of(job.id, job.form_version)
    add_questions(form, questions, earlier, sent_to=(request, job), attached=files)
    return form


@require_http_methods(["GET", "HEAD", "POST"])
@for_signed_in_applicants
def answer_further(request: HttpRequest, application_id: UUID) -> HttpResponseBase:
    """Show the further question of the company, and send the answer."""
    person, seen = own_application(request, application_id)
    found = later.open_question(application_id)
    if found is None or seen.application.status != Status.ACTIVE:
        messages.info(request, _("There is no open question. You may have answered it already."))
        return redirect("my_application", application_id)
    asked, question = found
    form = forms.Form(request.POST or None)
    add_questions(form, [question])
    if request.method == "POST" and form.is_valid():
        actor = Actor(ActorKind.APPLICANT, person.id)
        given = answers_in(form)[question.key]

        def answer_question() -> object:
            return later.answer(
                application_id=application_id, question_id=asked.id, given=given, actor=actor
            )

        attempt(request, answer_question, done=_("Your answer is sent."))
        return redirect("my_application", application_id)
    context = {
        "application": seen.application,
        "job": read_job(seen.application.job_id),
        "form": form,
        "form_version": 0,
        "title": _("A further question"),
        "about": _("Only the company reads your answer. You cannot change it afterwards."),
        "answer_by": asked.answer_by,
        "button": _("Send my answer"),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "applicant/answers.html", context, status=status)
