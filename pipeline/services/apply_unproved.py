"""Applying to a job with an address that nobody has proved yet."""

from __future__ import annotations

from uuid import UUID

from applicants.codes import send_code
from applicants.services import find_or_create_applicant
from jobs.models import JobStatus
from pipeline.errors import AlreadyApplied, AlreadyDecided, JobNotOpen
from pipeline.selectors.jobs import JobFacts
from pipeline.services.apply import apply
from pipeline.states import Actor, ActorKind

APPLIED = (
    "Somebody, probably you, applied to “{title}” with this address. Sign in with the code to"
    " confirm that it was you and to see where you stand; a seat that is on offer to you has to be"
    " acknowledged there before its deadline."
)
APPLIED_BEFORE = (
    "Somebody, probably you, applied to “{title}” with this address, from which there already is a"
    " live application: that one stands, and keeps its place. Sign in with the code to see it."
)
DECIDED_BEFORE = (
    "Somebody, probably you, applied to “{title}” with this address. The company has decided on an"
    " earlier application from it, so only the company can add you again. Sign in with the code to"
    " see that application."
)


def apply_unproved(
    *, job: JobFacts, name: str, email: str, application_id: UUID | None = None
) -> None:
    """Take somebody into a job's line who only says who they are, and mail a code to the address.

    A seat that is free is only offered: it is acknowledged by who has proved the address. Whether
    there was an application before shows nowhere but in the mail. `application_id` as in `apply`.
    Raises JobNotOpen, JobNotFound.
    """
    if job.status != JobStatus.OPEN:
        raise JobNotOpen(status=job.status)  # before anything of the person is kept
    person = find_or_create_applicant(email)
    actor = Actor(ActorKind.APPLICANT, person.id)
    about = APPLIED
    try:
        apply(
            job_id=job.id,
            applicant_id=person.id,
            name=name,
            actor=actor,
            verified=False,
            application_id=application_id,
        )
    except AlreadyApplied:
        about = APPLIED_BEFORE
    except AlreadyDecided:
        about = DECIDED_BEFORE
    send_code(person.email, about=about.format(title=job.title))
