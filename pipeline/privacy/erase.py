"""Erasure of a person: their data is removed, and the log stays verifiable."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import chain
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from applicants import codes, mail
from applicants.models import ERASED, ERASED_NAME, Applicant, ApplicantToken, Device
from pipeline.attachments import uploads
from pipeline.attachments.reads import read_files_of_person
from pipeline.consents import agreements
from pipeline.correspondence import threads
from pipeline.database import statement_time
from pipeline.domain.errors import ApplicantNotFound, IllegalMove
from pipeline.domain.states import Actor, ActorKind, Status
from pipeline.equality import answers as equality
from pipeline.files import stored
from pipeline.files.imports.reading import (
    read_file,
    read_unread_rows,
    unread_file_may_hold,
    unread_runs,
)
from pipeline.files.imports.rows import ImportRow, Refusal, decode_part
from pipeline.files.stored import hold_writes
from pipeline.form import answers
from pipeline.mail import dev_mailbox
from pipeline.models import (
    Application,
    ApplicationReference,
    ChangeKind,
    Contest,
    DecisionNote,
    DecisionText,
    GroupClaim,
    ImportRefusal,
    ImportRun,
    LineException,
    PendingDecision,
    PortalToken,
    StoredFile,
    StoredPart,
)
from pipeline.review.annotations import forget_annotations
from pipeline.services.changes import record_application_changes
from pipeline.services.contests import drop_contest
from pipeline.services.leaving import withdraw
from pipeline.sources import origin

security = logging.getLogger("security")


# Erasure of a person from files that are kept for companies, and from refused import rows.


# How many bytes of unread files a download searches, in about a second. If a file may match, all of
# its rows are read, in two or three seconds.
MOST_UNREAD_BYTES = 32 * 2**20

# The parts that may contain an address, in any case. No line, and so no address, is split between
# two parts. Files are kept for only a few days, so searching them needs no index.
_PARTS = """
SELECT part.id FROM pipeline_storedpart part JOIN pipeline_storedfile file ON file.id = part.file_id
WHERE file.purpose = %(purpose)s AND part.number >= 0
  AND (%(jobs)s::uuid[] IS NULL OR file.job_id = ANY(%(jobs)s))
  AND EXISTS (SELECT FROM unnest(%(spellings)s::text[]) spelling
              WHERE position(spelling IN lower(convert_from(part.data, 'UTF8'))) > 0)
ORDER BY part.id
"""

_REFUSALS = """
SELECT id FROM pipeline_importrefusal WHERE position(%(address)s IN lower(email || ' ' || name)) > 0
"""


def hold_import_files() -> None:
    """Wait for running import batches, and block the next ones.

    So nobody is imported from a row that was read before the erasure. Call this first in a
    transaction, because a batch also locks its import first.
    """
    going_on = ImportRun.objects.filter(finished_at=None).order_by("file_id")
    list(going_on.select_for_update().values_list("file_id"))


def blank_import_rows(address: str) -> None:
    """Blank every imported row with an address, given in its normal form.

    This affects waiting and refused rows. A waiting row will then be refused, because an erased
    person is not imported.
    """
    unread = unread_runs().order_by("file_id").select_related("file")
    for run in unread.select_for_update(of=("self",)):
        if unread_file_may_hold(run, address):
            read_file(run)  # rows can be blanked individually
    pattern = _erased_file_pattern(address)
    for part in StoredPart.objects.filter(
        id__in=_find_file_parts(address, StoredFile.Purpose.IMPORT)
    ):
        rows = [
            ImportRow(row.number, "", "", Refusal.ERASED)
            if pattern.search(f"{row.email} {row.name}".lower())
            else row
            for row in decode_part(bytes(part.data))
        ]
        data = b"".join(row.as_line() for row in rows)
        StoredPart.objects.filter(id=part.id).update(data=data)
    for refusal in ImportRefusal.objects.filter(
        id__in=_read_file_part_ids(_REFUSALS, {"address": address})
    ):
        if pattern.search(f"{refusal.email} {refusal.name}".lower()):
            same = ImportRefusal.objects.filter(id=refusal.id)
            same.update(name="", email="", external_id="", answers=None, reason=Refusal.ERASED)
    for file in StoredFile.objects.filter(name__icontains=address):
        StoredFile.objects.filter(id=file.id).update(name="people.csv")


def find_import_rows(address: str) -> tuple[list[dict[str, Any]], int]:
    """Return the imported rows with an address that companies still keep, for the person.

    This includes MOST_UNREAD_BYTES of files that no worker has read yet. Also returns the number of
    unread files that were not searched. Files wait only seconds, unless no worker runs.
    """
    parts = StoredPart.objects.filter(id__in=_find_file_parts(address, StoredFile.Purpose.IMPORT))
    files: list[Iterable[ImportRow]] = [
        decode_part(bytes(part.data)) for part in parts.order_by("id")
    ]
    left, not_searched = MOST_UNREAD_BYTES, 0
    for run in unread_runs().select_related("file"):
        left -= run.file.size_bytes
        if left < 0:
            not_searched += 1
        elif unread_file_may_hold(run, address):
            files.append(read_unread_rows(run))
    refused = ImportRefusal.objects.filter(
        id__in=_read_file_part_ids(_REFUSALS, {"address": address})
    )
    rows: Iterable[ImportRow | ImportRefusal] = chain(
        chain.from_iterable(files), refused.order_by("id")
    )
    pattern = _erased_file_pattern(address)
    own = [
        {"name": row.name, "email": row.email} | ({"answers": row.answers} if row.answers else {})
        for row in rows
        if pattern.search(f"{row.email} {row.name}".lower())
    ]
    return own, not_searched


def remove_export_files(address: str, job_ids: Collection[UUID]) -> None:
    """Remove these jobs' files that contain an address, and all that are being written now.

    A writer notices this and starts again; a removed file can be made again. No new one begins
    before this transaction ends.
    """
    hold_writes()
    exports = StoredFile.objects.filter(purpose=StoredFile.Purpose.EXPORT, job_id__in=job_ids)
    stored.remove(exports.filter(is_complete=False))
    pattern = _erased_file_pattern(address)
    for part_id in _find_file_parts(address, StoredFile.Purpose.EXPORT, job_ids):
        part = StoredPart.objects.filter(id=part_id).first()
        if part is not None and pattern.search(bytes(part.data).decode().lower()):
            stored.remove(exports.filter(id=part.file_id))


def _erased_file_pattern(address: str) -> re.Pattern[str]:
    """Return a pattern that matches the address itself, but not a longer one that contains it."""
    spellings = "|".join(re.escape(spelling) for spelling in _erased_file_spellings(address))
    before, after = r"(?<![\w.!#$%&'*+/=?^`{|}~-])", r"(?![\w-]|\.\w)"
    return re.compile(f"{before}(?:{spellings}){after}")


def _erased_file_spellings(address: str) -> list[str]:
    """Return the spellings of an address in a file: plain, in JSON, in CSV."""
    in_json = json.dumps(address, ensure_ascii=False)[1:-1]
    return list(dict.fromkeys([address, in_json, address.replace('"', '""')]))


def _find_file_parts(
    address: str, purpose: StoredFile.Purpose, job_ids: Collection[UUID] | None = None
) -> list[int]:
    jobs = None if job_ids is None else list(job_ids)
    return _read_file_part_ids(
        _PARTS,
        {
            "purpose": purpose.value,
            "jobs": jobs,
            "spellings": _erased_file_spellings(address),
        },
    )


def _read_file_part_ids(statement: str, parameters: dict[str, object]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)  # type: ignore[arg-type]  # lists are arrays
        return [row[0] for row in cursor.fetchall()]


# Erasure of an address from background work, where a company may have written it.


# The columns that may contain an address, by table, and whether they hold JSON.
PLACES: dict[str, dict[str, bool]] = {
    "tasks_task": {
        **dict.fromkeys(("payload", "result", "errors", "progress"), True),
        "idempotency_key": False,
    },
    "tasks_taskevent": {"data": True},
    "tasks_taskact": {"data": True},
    "tasks_schedule": {"name": False, "payload": True},
}
ERASED_WORD = "erased"


def blank_task_payloads(address: str) -> None:
    """Replace an address, given in its normal form, in any case in tasks, schedules and their log.

    Finished tasks are kept for only a few days, so searching them needs no index.
    """
    in_json = json.dumps(address, ensure_ascii=False)[1:-1]
    before, after = r"(?<![\w.!#$%&'*+/=?^`{|}~-])", r"(?![\w-]|\.\w)"
    values = {
        "pattern": f"{before}{re.escape(in_json)}{after}",
        "word": in_json,
        "erased": ERASED_WORD,
    }
    with connection.cursor() as cursor:
        for table, columns in PLACES.items():
            changed = "regexp_replace({0}::text, %(pattern)s, %(erased)s, 'gi'){1}"
            changes = ", ".join(
                f"{name} = {changed.format(name, '::jsonb' if is_json else '')}"
                for name, is_json in columns.items()
            )
            found = " OR ".join(
                f"position(%(word)s IN lower({name}::text)) > 0" for name in columns
            )
            cursor.execute(f"UPDATE {table} SET {changes} WHERE {found}", values)  # noqa: S608 -- of names that stand above


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
    withdrawn = _withdraw_all(person)
    while not _remove_traces(person):  # the person has applied somewhere meanwhile
        withdrawn += _withdraw_all(person)
    dev_mailbox.forget(person.email)
    security.info("person.erased", extra={"applicant": str(applicant_id)})
    return withdrawn


def _withdraw_all(person: Applicant) -> int:
    actor, withdrawn = Actor(ActorKind.APPLICANT, person.id), 0
    for application_id in _open_contests(person):
        drop_contest(application_id=application_id, actor=actor)
    for application_id in _live_applications(person):
        with suppress(IllegalMove):  # it has just ended in another way
            withdraw(application_id=application_id, actor=actor)
            withdrawn += 1
    return withdrawn


def _live_applications(person: Applicant) -> list[UUID]:
    """Return the ids, sandboxes first: if one is busy, no live seat has been given up yet."""
    theirs = Application.objects.filter(applicant=person).exclude(status=Status.INACTIVE)
    return list(theirs.order_by("-job__is_test", "id").values_list("id", flat=True))


def _open_contests(person: Applicant) -> list[UUID]:
    theirs = Contest.objects.filter(application__applicant=person, answer="")
    return list(theirs.order_by("id").values_list("application_id", flat=True))


@transaction.atomic(durable=True)
def _remove_traces(person: Applicant) -> bool:
    """Remove everything in one transaction, or nothing if there is a live application or a contest.

    Imports are blocked first. Then the row is deleted, which waits for running applications of the
    person; later ones find nobody (`pipeline.line.lock.lock_job_for`).
    """
    statement_time.lift()
    hold_import_files()
    erased = {"email": f"{ERASED}{person.id}", "name": ERASED_NAME}
    erased |= {"time_zone": "", "language": "", "chosen_language": ""}
    Applicant.objects.filter(id=person.id).update(**erased)
    if _live_applications(person) or _open_contests(person):
        transaction.set_rollback(True)
        return False
    theirs = Application.objects.filter(applicant=person)
    theirs.exclude(name=ERASED_NAME).update(name=ERASED_NAME, language="")
    DecisionNote.objects.filter(application__applicant=person).delete()
    DecisionText.objects.filter(application__applicant=person).delete()
    Contest.objects.filter(application__applicant=person).delete()
    LineException.objects.filter(application__applicant=person).update(text="")
    GroupClaim.objects.filter(application__applicant=person).delete()
    theirs.filter(is_member=True).update(is_member=False)
    about_them = PendingDecision.objects.filter(items__application__applicant=person)
    about_them.exclude(note="", text="").update(note="", text="")  # they may name the person
    ApplicationReference.objects.filter(application__applicant=person).delete()
    application_ids = list(theirs.values_list("id", flat=True))
    files = read_files_of_person(person.id, application_ids).values()
    file_ids = [file.id for file in chain.from_iterable(files)]
    forget_annotations(application_ids)
    answers.forget(application_ids)
    origin.forget(application_ids)
    agreements.forget(application_ids)
    equality.forget(application_ids)
    message_ids = threads.forget(application_ids)
    uploads.forget_of_applications(application_ids)
    uploads.forget_of_person(person.id)
    if not person.email.startswith(ERASED):  # a repeated erasure changes nothing
        record_application_changes(ChangeKind.APPLICATION_ERASED, application_ids)
    ApplicantToken.objects.filter(applicant=person).delete()
    Device.objects.filter(applicant=person).delete()
    PortalToken.objects.filter(applicant=person).delete()
    codes.forget(person.email)
    mail.forget_private_emails(person.email)
    blank_import_rows(person.email)
    remove_export_files(person.email, list(theirs.values_list("job_id", flat=True).distinct()))
    blank_task_payloads(person.email)
    _remove_answers(person, [*application_ids, *file_ids, *message_ids])
    return True


# Responses are kept for only a day, so searching them needs no index.
_REMOVE_ANSWERS = """
DELETE FROM pipeline_idempotencyrecord WHERE body IS NOT NULL AND EXISTS (
    SELECT FROM unnest(%(traces)s::bytea[]) trace WHERE position(trace IN body) > 0)
"""


def _remove_answers(person: Applicant, ids: list[UUID]) -> None:
    """Remove the kept responses that contain the person's address or one of the ids.

    Afterwards, a request repeated under its key is carried out again.
    """
    traces = [person.email, *map(str, [person.id, *ids])]
    with connection.cursor() as cursor:
        cursor.execute(_REMOVE_ANSWERS, {"traces": [trace.encode() for trace in traces]})
