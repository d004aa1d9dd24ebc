"""Change of the name given with an application."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from pipeline.domain.errors import ApplicationNotFound, IllegalMove
from pipeline.domain.states import Status
from pipeline.models import Application, ChangeKind
from pipeline.services.changes import record_application_changes


@transaction.atomic
def rename(*, application_id: UUID, name: str) -> Application:
    """Change the name under which the company knows an application. The log holds no names.

    Someone else may have applied with the address, so its owner may correct the name. An erased
    person has no live application, so an erased name cannot return. Raises IllegalMove if the
    application has ended, ApplicationNotFound.
    """
    found = Application.objects.filter(id=application_id)
    if not found.exclude(status=Status.INACTIVE).update(name=name):
        if not found.exists():
            raise ApplicationNotFound
        raise IllegalMove(status=Status.INACTIVE, move="RENAME")
    record_application_changes(ChangeKind.APPLICATION_CHANGED, [application_id])
    return found.get()
