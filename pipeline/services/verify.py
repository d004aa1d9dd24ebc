"""Verification of applications whose person has proved the address."""

from __future__ import annotations

import logging
from uuid import UUID

from django.db import OperationalError

from pipeline.domain.errors import IllegalMove
from pipeline.domain.states import Actor, ActorKind, Status
from pipeline.line.admission import admit_as_verified
from pipeline.line.lock import lock_job_of
from pipeline.line.settle import settle_due
from pipeline.line.transaction import line_transaction
from pipeline.line.write import write
from pipeline.models import Application

logger = logging.getLogger(__name__)

# The largest number of applications that one proof of an address verifies, newest first.
MOST_AT_ONCE = 100


@line_transaction
def verify(*, application_id: UUID, actor: Actor) -> Application:
    """Make an application eligible at its current place.

    A free seat is offered before this returns.

    Verifying twice is harmless. Raises IllegalMove if the application has ended unverified,
    ApplicationNotFound.
    """
    job = lock_job_of(application_id)
    settle_due(job)
    application = job.application(application_id)
    if not application.is_verified:
        admit_as_verified(job, application, actor=actor)
        write(job, commit=True)
    return application


def verify_applications_of(applicant_id: UUID) -> int:
    """Verify the applications of a person who has just proved the address, and return the number.

    Applications in lines that are too busy are skipped. The person can verify them on their pages.
    """
    theirs = Application.objects.filter(applicant_id=applicant_id, status=Status.WAITLIST)
    unverified = theirs.filter(verify_by__isnull=False).order_by("-id")
    verified = 0
    for application_id in list(unverified.values_list("id", flat=True)[:MOST_AT_ONCE]):
        try:
            verify(application_id=application_id, actor=Actor(ActorKind.APPLICANT, applicant_id))
            verified += 1
        except IllegalMove:  # it has just ended
            continue
        except OperationalError:
            logger.warning("Application %s was not verified: its line is busy", application_id)
    return verified
