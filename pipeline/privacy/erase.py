"""Erasure of a person: their data is removed, and the log stays verifiable."""

from __future__ import annotations

import logging
from contextlib import suppress
from uuid import UUID

from django.db import connection, transaction

from applicants import codes, mail
from applicants.models import ERASED, ERASED_NAME, Applicant, ApplicantToken, Device
from pipeline.annotations.write import forget_annotations
from pipeline.database.statement_time import lift_statement_time
from pipeline.domain.errors import ApplicantNotFound, IllegalMove
from pipeline.domain.states import Actor, ActorKind, Status
from pipeline.mail import dev_mailbox
from pipeline.models import (
    Application,
    ApplicationReference,
    ChangeKind,
    Contest,
    DecisionNote,
    PendingDecision,
    PortalToken,
)
from pipeline.privacy.erase_files import (
    erase_in_export_files,
    erase_in_import_files,
    hold_import_files_to_erase,
)
from pipeline.privacy.erase_tasks import erase_in_tasks
from pipeline.services.changes import record_application_changes
from pipeline.services.drop_contest import drop_contest
from pipeline.services.withdraw import withdraw

security = logging.getLogger("security")


def erase_person(*, applicant_id: UUID) -> int:
    """Withdraw all of a person's live applications, then remove their name and address everywhere.

    Their open contests end without an answer: nobody could read one.

    Returns the number of withdrawn applications, whose seats have then gone to the next in line.
    Repeating is harmless and continues an interrupted erasure: the person disappears only with the
    last commit and can repeat the request until then. Their sessions hold only the id, which then
    belongs to nobody. Raises ApplicantNotFound, and django.db.OperationalError or ClockMoving if a
    line was too busy. Must not be called inside a transaction.
    """
    person = Applicant.objects.filter(id=applicant_id).first()
    if person is None:
        raise ApplicantNotFound
    withdrawn = _withdraw_to_erase(person)
    while not _erase_traces_of_person(person):  # the person has applied somewhere meanwhile
        withdrawn += _withdraw_to_erase(person)
    dev_mailbox.forget_dev_mails(person.email)
    security.info("person.erased", extra={"applicant": str(applicant_id)})
    return withdrawn


def _withdraw_to_erase(person: Applicant) -> int:
    actor, withdrawn = Actor(ActorKind.APPLICANT, person.id), 0
    for application_id in _open_contests_to_erase(person):
        drop_contest(application_id=application_id, actor=actor)
    for application_id in _live_applications_to_erase(person):
        with suppress(IllegalMove):  # it has just ended in another way
            withdraw(application_id=application_id, actor=actor)
            withdrawn += 1
    return withdrawn


def _live_applications_to_erase(person: Applicant) -> list[UUID]:
    """Return the ids, sandboxes first: if one is busy, no live seat has been given up yet."""
    theirs = Application.objects.filter(applicant=person).exclude(status=Status.INACTIVE)
    return list(theirs.order_by("-job__is_test", "id").values_list("id", flat=True))


def _open_contests_to_erase(person: Applicant) -> list[UUID]:
    theirs = Contest.objects.filter(application__applicant=person, answer="")
    return list(theirs.order_by("id").values_list("application_id", flat=True))


@transaction.atomic(durable=True)
def _erase_traces_of_person(person: Applicant) -> bool:
    """Remove everything in one transaction, or nothing if there is a live application or a contest.

    Imports are blocked first. Then the row is deleted, which waits for running applications of the
    person; later ones find nobody (`pipeline.line.lock.lock_job_for`).
    """
    lift_statement_time()
    hold_import_files_to_erase()
    erased = {"email": f"{ERASED}{person.id}", "name": ERASED_NAME, "time_zone": ""}
    Applicant.objects.filter(id=person.id).update(**erased)
    if _live_applications_to_erase(person) or _open_contests_to_erase(person):
        transaction.set_rollback(True)
        return False
    theirs = Application.objects.filter(applicant=person)
    theirs.exclude(name=ERASED_NAME).update(name=ERASED_NAME)
    DecisionNote.objects.filter(application__applicant=person).delete()
    Contest.objects.filter(application__applicant=person).delete()
    about_them = PendingDecision.objects.filter(items__application__applicant=person)
    about_them.exclude(note="").update(note="")  # on others, too: it may name the person
    ApplicationReference.objects.filter(application__applicant=person).delete()
    application_ids = list(theirs.values_list("id", flat=True))
    forget_annotations(application_ids)
    if not person.email.startswith(ERASED):  # a repeated erasure changes nothing
        record_application_changes(ChangeKind.APPLICATION_ERASED, application_ids)
    ApplicantToken.objects.filter(applicant=person).delete()
    Device.objects.filter(applicant=person).delete()
    PortalToken.objects.filter(applicant=person).delete()
    codes.forget_code(person.email)
    mail.forget_private_emails(person.email)
    erase_in_import_files(person.email)
    erase_in_export_files(person.email, list(theirs.values_list("job_id", flat=True).distinct()))
    erase_in_tasks(person.email)
    _erase_answers(person, application_ids)
    return True


# Responses are kept for only a day, so searching them needs no index.
_REMOVE_ANSWERS = """
DELETE FROM pipeline_idempotencyrecord WHERE body IS NOT NULL AND EXISTS (
    SELECT FROM unnest(%(traces)s::bytea[]) trace WHERE position(trace IN body) > 0)
"""


def _erase_answers(person: Applicant, application_ids: list[UUID]) -> None:
    """Remove the kept responses that contain the person's address or one of the ids.

    Afterwards, a request repeated under its key is carried out again.
    """
    traces = [person.email, *map(str, [person.id, *application_ids])]
    with connection.cursor() as cursor:
        cursor.execute(_REMOVE_ANSWERS, {"traces": [trace.encode() for trace in traces]})
