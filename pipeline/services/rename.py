"""Change of the name given with an application."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from applicants.models import ERASED, Applicant
from pipeline.domain.errors import ApplicationNotFound, IllegalMove
from pipeline.domain.states import Status
from pipeline.models import Application


@transaction.atomic(durable=True)
def rename(*, application_id: UUID, name: str) -> Application:
    """Change the name under which the company knows an application. The log holds no names.

    Whoever applied may have been a stranger to the address; its owner decides on the name. Raises
    IllegalMove when the application has ended, ApplicationNotFound.
    """
    found = Application.objects.filter(id=application_id).first()
    if found is None:
        raise ApplicationNotFound
    people = Applicant.objects.filter(id=found.applicant_id).exclude(email__startswith=ERASED)
    if not people.select_for_update(no_key=True).exists():  # an erasure waits, or was before
        raise ApplicationNotFound
    live = Application.objects.filter(id=application_id).exclude(status=Status.INACTIVE)
    if not live.update(name=name):
        raise IllegalMove(status=Status.INACTIVE, move="RENAME")
    found.name = name
    return found
