"""Forms of the demo's jobs, and the answers of its people. All of it is made up."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

from django.db import transaction

from jobs.models import Job
from pipeline.attachments import uploads
from pipeline.attachments.samples import make_cv
from pipeline.attachments.uploads import holder_of
from pipeline.form.answers import Filled, fill
from pipeline.form.questions import Kind, Question, build_question
from pipeline.form.versions import questions_of
from pipeline.models import Application


def _question(kind: Kind, key: str, label: str, **more: Any) -> Question:
    described = {"kind": kind, "key": key, "label": label, "choices": []} | more
    return build_question(described)


LICENCE = _question(
    Kind.YES_NO,
    "boat_licence",
    "Have you a licence to drive a work boat?",
    must={"answer": True, "refusal": "You bring boats to the slip yourself, with a licence."},
)
YARD = (
    LICENCE,
    _question(
        Kind.NUMBER,
        "years",
        "Experience with wooden boats",
        unit="years",
        minimum=0,
        maximum=60,
        required=True,
        in_summary=True,
    ),
    _question(
        Kind.CHOICE,
        "shift",
        "Which shift suits you?",
        choices=["Early", "Late", "Either"],
        in_summary=True,
    ),
    _question(
        Kind.CHOICES,
        "skills",
        "What have you done before?",
        choices=["Planking", "Caulking", "Rigging", "Engines"],
        other=True,
    ),
    _question(
        Kind.LONG_TEXT,
        "boat",
        "Tell us about a boat you worked on",
        help="A few sentences are enough.",
        searchable=True,
    ),
)
BOATS = (
    "A 12 metre ketch whose deck leaked. We recaulked it plank by plank over one winter.",
    "My uncle’s dinghy: new ribs, new thwarts, and two summers on the lake.",
    "The harbour’s old tender. I kept her engine and her paint going for three years.",
    "A replica of a fishing smack, as one of forty volunteers.",
)


def fill_for(job_id: UUID, name: str) -> Filled | None:
    """Return the answers of a person to a demo job's form, the same at each start."""
    job = Job.objects.get(id=job_id)
    if not job.form_version:
        return None
    chance = Random(f"{name} answers")  # noqa: S311  no secret
    skills = [
        each for each in ("Planking", "Caulking", "Rigging", "Engines") if chance.random() < 0.5
    ]
    given: dict[str, Any] = {
        "boat_licence": True,
        "years": chance.randint(0, 25),
        "shift": chance.choice(["Early", "Late", "Either"]),
        "skills": skills,
    }
    if chance.random() < 0.8:
        given["boat"] = chance.choice(BOATS)
    asked = {each.key for each in questions_of(job_id, job.form_version)}
    return fill(job, {key: answer for key, answer in given.items() if key in asked})


def add_cv(application: Application, company_id: UUID, title: str) -> None:
    """Add a CV to an application, as a PDF."""
    name = application.name
    content, holder = make_cv(name, title), holder_of("person", application.applicant_id)
    row = uploads.add(
        company_id=company_id,
        job_id=application.job_id,
        holder=holder,
        name=f"CV {name}.pdf",
        size_bytes=len(content),
        content=[content],
    )
    with transaction.atomic():
        uploads.attach(
            [row.id],
            job_id=application.job_id,
            application_id=application.id,
            question_id=None,
            holder=holder,
        )
