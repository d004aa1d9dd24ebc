"""Application to a job with an address that is not proved yet."""

from __future__ import annotations

from uuid import UUID

from applicants.codes import IGNORE, send_code
from applicants.services import find_or_create_applicant
from jobs.models import JobStatus
from pipeline.domain.errors import AlreadyApplied, AlreadyDecided, ApplicantNotFound, JobNotOpen
from pipeline.domain.states import Actor, ActorKind
from pipeline.selectors.jobs import JobFacts
from pipeline.services.apply import apply

APPLIED = (
    "This address was used, probably by you, to apply to “{title}”. Sign in with the code to"
    " confirm that it was you and to see where you stand. If you are offered a seat, confirm it"
    " there before its deadline."
)
NOT_YOU = (
    "If it was not you: nobody can take a seat in your name without the code or a link from an"
    " email to you. To withdraw the application, sign in with the code. If it stays, it misses its"
    " deadlines, and its misses count if you apply to this job yourself."
)
APPLIED_BEFORE = (
    "This address was used, probably by you, to apply to “{title}”. There already is a live"
    " application from it, which keeps its place. Sign in with the code to see it."
)
DECIDED_BEFORE = (
    "This address was used, probably by you, to apply to “{title}”. The company has decided on an"
    " earlier application from it, so only the company can add you again. Sign in with the code to"
    " see that application."
)


def apply_unverified(
    *, job: JobFacts, name: str, email: str, application_id: UUID | None = None
) -> None:
    """Admit a person whose address is not proved to a job's line, and email a code to the address.

    A free seat is only offered: the person confirms it after proving the address. An earlier
    application shows nowhere but in the email. `application_id` as in `apply`.
    Raises JobNotOpen, JobNotFound.
    """
    if job.status != JobStatus.OPEN:
        raise JobNotOpen(status=job.status)  # before anything of the person is kept
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
    except ApplicantNotFound:  # erased since they were found: the address is now a new person's
        apply_unverified(job=job, name=name, email=email, application_id=application_id)
        return
    send_code(person.email, about=about.format(title=job.title), if_not_you=if_not_you)
