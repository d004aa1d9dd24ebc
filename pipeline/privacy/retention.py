"""End of retention: ended applications lose their personal data, job by job."""

from __future__ import annotations

import logging
from datetime import timedelta
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import DurationField, Exists, ExpressionWrapper, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Coalesce, Now

from applicants.models import ERASED, ERASED_NAME, Applicant, ApplicantToken
from jobs.models import Retention
from pipeline.domain.states import Status
from pipeline.line.lock import lock_job
from pipeline.models import Application, DecisionNote
from pipeline.privacy.erase import erase

security = logging.getLogger("security")

BATCH = 200
_DAY = Value(timedelta(days=1), output_field=DurationField())


def end_retention() -> int:
    """Erase personal data of a batch of applications that ended too long ago; say how many.

    Each is left to nobody: an erased applicant of its own. The log stays as it is. A person with no
    other application and no token in use is erased too. A job under legal hold is left alone. Must
    not be called inside a transaction.
    """
    due = list(_due().order_by("ended_at").values_list("job_id", "id", "applicant_id")[:BATCH])
    for job_id in {row[0] for row in due}:
        _forget(job_id, [row[1] for row in due if row[0] == job_id])
    for person_id in {row[2] for row in due}:
        if _is_unknown(person_id):
            erase(applicant_id=person_id)
    return len(due)


def _due() -> QuerySet[Application]:
    usual = Value(Retention.USUAL_DAYS)
    kept = ExpressionWrapper(
        Coalesce("job__retention__keep_days", usual) * _DAY, output_field=DurationField()
    )
    ended = Application.objects.filter(status=Status.INACTIVE).exclude(name=ERASED_NAME)
    held = Q(job__retention__legal_hold=True)
    # The first condition is for the index; the second is the job's own.
    least = Now() - timedelta(days=Retention.LEAST_DAYS)
    return ended.filter(~held | Q(job__retention=None), ended_at__lt=least).filter(
        ended_at__lt=Now() - kept
    )


@transaction.atomic(durable=True)
def _forget(job_id: UUID, application_ids: list[UUID]) -> None:
    """Cut applications off from their people, under the job's lock; a hold since then counts."""
    lock_job(job_id)
    for row in _due().filter(job_id=job_id, id__in=application_ids):
        nobody = uuid4()
        Applicant.objects.create(id=nobody, email=f"{ERASED}{nobody}", name=ERASED_NAME)
        Application.objects.filter(id=row.id).update(applicant_id=nobody, name=ERASED_NAME)
        DecisionNote.objects.filter(application_id=row.id).delete()
        ids = {"job": str(job_id), "application": str(row.id)}
        security.info("application.erased", extra=ids)


def _is_unknown(person_id: UUID) -> bool:
    """Return whether nothing else needs a person: no application, no token that still works."""
    applications = Application.objects.filter(applicant_id=OuterRef("id"))
    tokens = ApplicantToken.objects.filter(
        applicant_id=OuterRef("id"), revoked_at=None, expires_at__gt=Now()
    )
    people = Applicant.objects.filter(~Exists(applications), ~Exists(tokens), id=person_id)
    return people.exclude(email__startswith=ERASED).exists()
