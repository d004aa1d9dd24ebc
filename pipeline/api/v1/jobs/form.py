"""Endpoint for the form of a job: its questions, and publishing others."""

from __future__ import annotations

from datetime import datetime
from typing import TypedDict
from uuid import UUID

from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from pipeline.api import parameters
from pipeline.api.auth import caller_of, own_job
from pipeline.api.endpoint import Endpoint, answer_read, read_body
from pipeline.api.openapi.parameters import FORM_VERSION
from pipeline.api.openapi.schemas import Tag, describes
from pipeline.api.parameters import refuse_parameter
from pipeline.api.problem_types import INVALID_TRANSITION
from pipeline.api.v1.fields import Shape
from pipeline.api.v1.jobs.questions import built_questions, declare_questions
from pipeline.api.v1.jobs.shapes import QuestionOut, questions_out
from pipeline.api.v1.outputs import Count
from pipeline.domain.permissions import Action
from pipeline.form.versions import MOST_VERSIONS, publish, questions_of
from pipeline.models import FormVersion


class FormIn(Shape):
    """The questions of a job, in their order. An empty list means that it asks none."""

    questions = declare_questions()


class FormOut(TypedDict):
    """A published version of a job's form. It never changes. Version 0 has no questions."""

    job_id: UUID
    version: Count
    is_current: bool
    questions: list[QuestionOut]
    published_at: datetime | None


class FormOfJob(Endpoint):
    """`/jobs/{id}/form`"""

    @describes(
        "get_form",
        Tag.JOBS,
        Action.READ_JOB,
        FormOut,
        parameters=(FORM_VERSION,),
        tagged=True,
        about="`GET /jobs/{id}` has the current questions for everyone.",
    )
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return the current form of a job, or an earlier version."""
        _caller, job = own_job(caller_of(request), job_id, Action.READ_JOB)
        version = parameters.integer(request, "version", low=0, high=MOST_VERSIONS)
        number = job.form_version if version is None else version
        return answer_read(request, _form_out(job_id, number, job.form_version))

    @describes(
        "publish_form",
        Tag.JOBS,
        Action.EDIT_FORM,
        FormOut,
        takes=(FormIn,),
        refuses=(INVALID_TRANSITION,),
        about="People who apply from now on answer this version; earlier answers stay with theirs."
        " The same questions again make no new version. A question without a `key` gets one from"
        " its label; keep a key, so that the answers of all versions can be found under it. A"
        " `must` refuses a person before the line, with its `refusal`, and never afterwards; it is"
        " public, and so is how many people it has refused.",
    )
    def post(self, request: Request, job_id: UUID) -> Response:
        """Publish the questions that people answer when they apply."""
        caller, _facts = own_job(caller_of(request), job_id, Action.EDIT_FORM)
        questions = built_questions(read_body(request, FormIn)["questions"])
        number = publish(job_id=job_id, questions=questions, actor=caller.actor)
        return Response(_form_out(job_id, number, number))


def _form_out(job_id: UUID, number: int, current: int) -> FormOut:
    try:
        questions = questions_of(job_id, number)
    except LookupError:
        refuse_parameter("version", _("The job has no such version of its form."))
    version = FormVersion.objects.filter(job_id=job_id, number=number)
    return {
        "job_id": job_id,
        "version": number,
        "is_current": number == current,
        "questions": questions_out(questions),
        "published_at": version.values_list("published_at", flat=True).first(),
    }
