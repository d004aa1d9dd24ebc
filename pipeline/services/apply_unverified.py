"""Application to a job with an address that is not proved yet."""

from __future__ import annotations

from uuid import UUID

from applicants.codes import IGNORE, Requester, send_code
from applicants.people import find_or_create_applicant
from jobs.models import JobStatus
from pipeline.domain.errors import AlreadyApplied, AlreadyDecided, ApplicantNotFound, JobNotOpen
from pipeline.domain.states import Actor, ActorKind
from pipeline.selectors.jobs import JobFacts
from pipeline.services.apply import apply

SUBJECT = "Your code for “{title}”"
APPLIED = (
    "Someone, probably you, applied for “{title}” with this address. Enter the code where"
    " you applied, or sign in with this address. Your place in line is safe, but we can’t offer"
    " you a seat until you verify this address. If you don’t do so within 24 hours, the"
    " application ends."
)
NOT_YOU = (
    "If it was not you, ignore this email. The application holds no seat and ends on its own "
    "within 24 hours. It does not count if you apply to this job yourself. To end it at once, sign"
    " in with this address and withdraw it."
)
APPLIED_BEFORE = (
    "Someone, probably you, applied for “{title}” with this address. This address already has "
    "an open application, which keeps its place. Enter the code where you applied to"
    " see it."
)
DECIDED_BEFORE = (
    "Someone, probably you, applied for “{title}” with this address. The company has decided on an"
    " earlier application from it, so only the company can add you again. Enter the code where you"
    " applied to see that application."
)


def apply_unverified(
    *,
    job: JobFacts,
    name: str,
    email: str,
    requester: Requester,
    application_id: UUID | None = None,
) -> None:
    """Admit a person whose address is not proved to a job's line, and email a code to the address.

    Even if a seat is free, the application waits until the person proves the address. Only the
    email mentions an earlier application. `application_id` as in `apply`, `requester` as in
    `send_code`. Raises JobNotOpen, DrawFull, JobNotFound.
    """
    if job.status != JobStatus.OPEN:
        raise JobNotOpen(status=job.status)  # before any of the person's data is stored
    person = find_or_create_applicant(email)
    about, if_not_you = APPLIED, NOT_YOU
    try:
        apply(
            job_id=job.id,
            applicant_id=person.id,
            name=name,
            actor=Actor(ActorKind.APPLICANT, person.id),
            verified=False,
            application_id=application_id,
        )
    except AlreadyApplied:
        about, if_not_you = APPLIED_BEFORE, IGNORE
    except AlreadyDecided:
        about, if_not_you = DECIDED_BEFORE, IGNORE
    except ApplicantNotFound:  # erased meanwhile; the address now belongs to a new person
        apply_unverified(
            job=job, name=name, email=email, requester=requester, application_id=application_id
        )
        return
    send_code(
        person.email,
        by=requester,
        subject=SUBJECT.format(title=job.title),
        about=about.format(title=job.title),
        if_not_you=if_not_you,
    )
