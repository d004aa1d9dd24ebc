"""Erasure of a person: their data goes, the log stays and stays provable."""

from __future__ import annotations

import logging
from contextlib import suppress
from uuid import UUID

from django.db import connection, transaction

from applicants import codes
from applicants.models import ERASED, ERASED_NAME, Applicant, ApplicantToken
from pipeline.database.statement_time import lift_statement_time
from pipeline.domain.errors import ApplicantNotFound, IllegalMove
from pipeline.domain.states import Actor, ActorKind, Status
from pipeline.mail import dev_mailbox
from pipeline.models import Application, DecisionNote
from pipeline.privacy.erase_files import erase_in_exports, erase_in_imports, hold_imports_to_erase
from pipeline.privacy.erase_tasks import erase_in_tasks
from pipeline.services.withdraw import withdraw

security = logging.getLogger("security")


def erase_person(*, applicant_id: UUID) -> int:
    """Withdraw all that a person has in any line, then remove name and address everywhere.

    Says how many applications were withdrawn; their seats are with the next in line by then. Once
    more is harmless, and goes on where an interrupted one stopped: the person is only gone with
    the last commit of it, and can ask again until then. Sessions that stand for the person hold
    only the id, and stand for nobody afterwards. Raises ApplicantNotFound, and
    django.db.OperationalError when a line was too busy. Must not be called inside a transaction.
    """
    person = Applicant.objects.filter(id=applicant_id).first()
    if person is None:
        raise ApplicantNotFound
    withdrawn = _leave_lines_to_erase(person)
    while not _erase_traces(person):  # they have applied somewhere meanwhile
        withdrawn += _leave_lines_to_erase(person)
    dev_mailbox.forget(person.email)
    security.info("person.erased", extra={"applicant": str(applicant_id)})
    return withdrawn


def _leave_lines_to_erase(person: Applicant) -> int:
    withdrawn = 0
    for application_id in _live_applications_to_erase(person):
        with suppress(IllegalMove):  # it has just ended in another way
            withdraw(application_id=application_id, actor=Actor(ActorKind.APPLICANT, person.id))
            withdrawn += 1
    return withdrawn


def _live_applications_to_erase(person: Applicant) -> list[UUID]:
    theirs = Application.objects.filter(applicant=person).exclude(status=Status.INACTIVE)
    return list(theirs.order_by("id").values_list("id", flat=True))


@transaction.atomic(durable=True)
def _erase_traces(person: Applicant) -> bool:
    """Remove everything in one transaction, or nothing if they have a live application.

    Imports are held up before anything else. Then the row goes: who is applying for the person is
    waited for, and who comes later finds nobody (`pipeline.line.lock.lock_job_for`).
    """
    lift_statement_time()
    hold_imports_to_erase()
    Applicant.objects.filter(id=person.id).update(email=f"{ERASED}{person.id}", name=ERASED_NAME)
    if _live_applications_to_erase(person):
        transaction.set_rollback(True)
        return False
    theirs = Application.objects.filter(applicant=person)
    theirs.exclude(name=ERASED_NAME).update(name=ERASED_NAME)
    DecisionNote.objects.filter(application__applicant=person).delete()
    ApplicantToken.objects.filter(applicant=person).delete()
    codes.forget_code(person.email)
    erase_in_imports(person.email)
    erase_in_exports(person.email, list(theirs.values_list("job_id", flat=True).distinct()))
    erase_in_tasks(person.email)
    _erase_answers(person, list(theirs.values_list("id", flat=True)))
    return True


# Answers are kept for a day only, so that looking through them takes no index.
_REMOVE_ANSWERS = """
DELETE FROM pipeline_idempotencyrecord WHERE body IS NOT NULL AND EXISTS (
    SELECT FROM unnest(%(traces)s::bytea[]) trace WHERE position(trace IN body) > 0)
"""


def _erase_answers(person: Applicant, application_ids: list[UUID]) -> None:
    """Remove the kept answers with the person's address or one of the ids.

    A request that is repeated under its key is then carried out again.
    """
    traces = [person.email, *map(str, [person.id, *application_ids])]
    with connection.cursor() as cursor:
        cursor.execute(_REMOVE_ANSWERS, {"traces": [trace.encode() for trace in traces]})
