"""Joining a line: applying, proving the address, references of a company."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol
from uuid import UUID

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Model
from django.utils.translation import gettext_lazy
from uuid_utils.compat import uuid7

from applicants import codes
from applicants.codes import IGNORE, Requester
from applicants.models import ERASED_NAME
from applicants.people import find_or_create_person
from jobs.models import JobStatus
from pipeline.domain.errors import (
    AlreadyApplied,
    AlreadyDecided,
    ApplicantNotFound,
    CameBeforeOpening,
    ExternalIdTaken,
    FormChanged,
    IllegalMove,
    JobNotOpen,
    LineError,
    PersonErased,
)
from pipeline.domain.states import Actor, ActorKind, EventType, Status
from pipeline.form.answers import Filled, attach_files, keep, logged, prepare
from pipeline.line.admission import admit, admit_verified
from pipeline.line.arrivals import current_arrival
from pipeline.line.handover import Turn
from pipeline.line.lock import (
    LockedPeople,
    line_transaction,
    lock_job_for,
    lock_job_of,
    read_people,
)
from pipeline.line.locked_job import LockedJob
from pipeline.line.settle import settle_due
from pipeline.line.turns import Turns
from pipeline.line.write import write
from pipeline.models import (
    Application,
    ApplicationReference,
    ChangeKind,
    Event,
    GivenAnswers,
    Reference,
)
from pipeline.selectors.jobs import JobFacts
from pipeline.services.changes import record_application_changes
from pipeline.services.reserved import claim_when_applying
from tasks.advisory_locks import EXTERNAL_IDS

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
        admit_verified(job, application, actor=actor)
        write(job, commit=True)
    return application


def verify_applications(applicant_id: UUID) -> int:
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


# A company's own id and texts on its jobs and applications.


# Always in the same order, whatever the order of the ids.
_HOLD = """
SELECT pg_advisory_xact_lock(%s, id)
FROM (SELECT DISTINCT hashtext(id) AS id FROM unnest(%s::text[]) id ORDER BY id) ordered
"""


@transaction.atomic(durable=True)
def change_application_reference(
    *, company_id: UUID, application_id: UUID, changes: Mapping[str, Any]
) -> None:
    """Change what the company attached to an application: `external_id`, `metadata` or both.

    Neither concerns the line, so this does not lock the job and logs nothing; copies learn of it
    as a change. Raises ExternalIdTaken, and PersonErased, since either may name the person.
    """
    if changes:
        # An erasure, also at the end of the retention, changes this row first: one of the two waits
        # for the other.
        held = Application.objects.select_for_update(no_key=True).only("name")
        if held.get(id=application_id).name == ERASED_NAME:
            raise PersonErased
        row = ApplicationReference(application_id=application_id, company_id=company_id, **changes)
        write_reference(row, changes)
        record_application_changes(ChangeKind.APPLICATION_CHANGED, [application_id])


def lock_external_ids(external_ids: Collection[str]) -> None:
    """Hold several ids until the transaction ends, before they are written in any order.

    Without this, two transactions that write the same two ids in opposite orders would each wait
    for the other.
    """
    if len(external_ids) > 1:
        with connection.cursor() as cursor:
            cursor.execute(_HOLD, [EXTERNAL_IDS, list(external_ids)])


def write_reference(row: Reference, named: Mapping[str, Any]) -> None:
    """Write a reference, or the named fields of one that exists already.

    The index on a company's ids decides, even between two simultaneous changes: the later one
    waits for the earlier one's commit. Raises ExternalIdTaken; the caller's transaction can
    continue.
    """
    rows: Any = row._meta.default_manager
    try:
        with transaction.atomic():
            rows.bulk_create(
                [row], update_conflicts=True, unique_fields=["pk"], update_fields=list(named)
            )
    except IntegrityError:
        same = {"company_id": row.company_id, "external_id": row.external_id}
        holder = rows.filter(**same).values_list("pk", flat=True).first()
        if holder is None:
            raise
        raise ExternalIdTaken(
            kind=row.kind, external_id=row.external_id, existing_id=holder
        ) from None


# Application to a job.


class Companion(Protocol):
    """Data that comes with an application, and is written beside it in the same statement."""

    def rows(self, application: Application, *, is_new: bool, at: datetime) -> Iterable[Model]:
        """Return the rows to write. `is_new`: else an unverified application is taken over."""


@dataclass(frozen=True, slots=True)
class Request:
    """Request of a person, known by an id or an address, to join a line."""

    person: UUID | str
    name: str
    actor: Actor
    verified: bool
    application_id: UUID | None
    reference: Mapping[str, Any] | None
    filled: Filled | None
    companions: Sequence[Companion] = ()
    group_code: str | None = None  # says that they belong to the job's group; empty without a code
    language: str = ""  # in which they apply; empty if unknown
    came_at: datetime | None = None  # at first, if it was refused because the site was full


def apply(
    *,
    job_id: UUID,
    applicant_id: UUID | None = None,
    email: str = "",
    name: str,
    actor: Actor,
    verified: bool = True,
    application_id: UUID | None = None,
    reference: Mapping[str, Any] | None = None,
    filled: Filled | None = None,
    companions: Sequence[Companion] = (),
    group_code: str | None = None,
    language: str = "",
) -> Application:
    """Admit a person to a job's line: to a seat if one is free for them, or else to the back.

    The person has an `applicant_id`, or an `email` as `checked_address` returns it. An unknown
    address becomes an applicant. Threads of this process that apply to the same job at once share a
    transaction (`pipeline.line.turns`), in the order in which their requests arrived.

    `verified`: the person has proved their address, or the company itself submits them. Anyone
    else only keeps a place in line. An unverified application with their address is taken over: it
    is verified, keeps its place, gets the new name and is returned. Misses of earlier applications
    still count.

    `application_id`: the id of the new application, derived from an Idempotency-Key. If the person
    already has an application with that id, it is returned and nothing else happens.

    `reference`: the company's own `external_id` and `metadata` for the application.

    `filled`: the answers to the job's form (`pipeline.form.answers.fill`); a company can submit
    people without any. `companions`: what is kept beside the application, such as where it came
    from. `group_code`: the person says that they belong to the group that the job reserves seats
    for, and enters its code, or none. `language`: in which they apply, for emails. Raises
    JobNotFound, ApplicantNotFound, JobNotOpen, DrawFull, AlreadyApplied, AlreadyDecided,
    ExternalIdTaken, FormChanged, and CameBeforeOpening if the request came first before the job
    took applications: it loses that place.
    """
    who = applicant_id or email
    kept = (reference, filled, companions, group_code, language)
    request = Request(who, name, actor, verified, application_id, *kept)
    return _take_turn(job_id, request)


def _take_turn(job_id: UUID, request: Request) -> Application:
    """Admit a person at their turn. A request that came too early loses its place."""
    arrival = current_arrival(job_id)
    if arrival and arrival.has_place:
        request = replace(request, came_at=datetime.fromtimestamp(arrival.came_at / 1e9, UTC))
    try:
        return _turns.take_turn(job_id, request)
    except CameBeforeOpening:
        if arrival:
            arrival.lose_place()
        raise


def _apply_all(job_id: UUID, turns: Sequence[Turn[Request, Application]]) -> None:
    """Admit people in the order of their turns, in one transaction that keeps its settlement."""
    requests = [turn.request for turn in turns]
    ids = {request.person for request in requests if isinstance(request.person, UUID)}
    emails = {request.person for request in requests if isinstance(request.person, str)}
    repeated = [request.application_id for request in requests if request.application_id]
    with transaction.atomic(durable=True):
        job, people = lock_job_for(
            job_id, applicant_ids=ids, emails=emails, application_ids=repeated
        )
        before = job.seq
        settle_due(job)
        if job.seq > before:
            people = read_people(job, applicant_ids=ids, emails=emails)
        opened_at = _read_opening(job) if any(request.came_at for request in requests) else None
        references = [request.reference for request in requests if request.reference]
        lock_external_ids([each["external_id"] for each in references if each.get("external_id")])
        for turn in turns:
            came_at = turn.request.came_at
            if came_at and opened_at and came_at < opened_at:
                turn.error = CameBeforeOpening()
                continue
            try:
                turn.result = _apply_one(job, people, turn.request)
            except LineError as error:
                turn.error = error
        if job.entries:
            write(job, commit=True)


def _read_opening(job: LockedJob) -> datetime | None:
    """Return when the job last began to take applications; None in a sandbox, by its own clock."""
    if job.is_test:
        return None
    opened = Event.objects.filter(
        job_id=job.id,
        application_id__isnull=True,
        event__in=(EventType.JOB_OPENED, EventType.JOB_RESUMED),
    )
    return opened.order_by("-seq").values_list("at", flat=True).first()


def _apply_one(job: LockedJob, people: LockedPeople, request: Request) -> Application:
    person = people.locked_person(request.person)
    earlier = job.people.get(request.application_id) if request.application_id else None
    if earlier and earlier.applicant_id != person.id:
        # One row would be written, and both people told that it is theirs.
        raise ValueError("two people were given one application id")
    if earlier:
        return earlier
    application_id = request.application_id or uuid7()
    taken_over = person.history.unverified if request.verified else None
    filled = request.filled
    is_checked = filled or request.actor.kind is not ActorKind.COMPANY
    if is_checked and job.form_version != (filled.current if filled else 0):
        raise FormChanged(form_version=job.form_version)
    given = filled and prepare_answers(job.id, taken_over, filled, new_id=application_id)
    # A refusal undoes the reference and the files, and nothing in the line: `admit` moves nobody
    # before it.
    has_files = filled and filled.files
    with transaction.atomic() if request.reference or has_files else nullcontext():
        if filled and given:
            attach_files(job.id, given.application_id, filled)
        if request.reference:
            row = ApplicationReference(
                application_id=taken_over or application_id,
                company_id=job.company_id,
                **request.reference,
            )
            write_reference(row, request.reference)
        application = admit(
            job,
            person.history,
            applicant_id=person.id,
            name=request.name,
            actor=request.actor,
            verified=request.verified,
            language=request.language,
            application_id=application_id,
            facts=logged(given) if given else {},
        )
    if given:
        keep(job, given)
    for companion in request.companions:
        job.beside.extend(companion.rows(application, is_new=taken_over is None, at=job.now))
    job.attach(application)
    _claim(job, application, request)
    unverified = None if application.is_verified else application.id
    person.history = replace(person.history, live=application.id, unverified=unverified)
    return application


def _claim(job: LockedJob, application: Application, request: Request) -> None:
    """Note that the person belongs to the job's group, if they say so and it is of use."""
    code, waits = request.group_code, application.status == Status.WAITLIST
    if code is not None and job.reserved_seats and waits:
        claim_when_applying(job, application, code, actor=request.actor)


def prepare_answers(
    job_id: UUID, taken_over: UUID | None, filled: Filled, *, new_id: UUID | None = None
) -> GivenAnswers:
    """Return answers for a new application, or the next ones of the one that is taken over."""
    if taken_over is None:
        return prepare(job_id, new_id or uuid7(), filled)
    earlier = GivenAnswers.objects.filter(application_id=taken_over)
    return prepare(job_id, taken_over, filled, number=1 + earlier.count())


_turns = Turns(_apply_all, kind="apply")


# Application to a job with an address that is not proved yet.


SUBJECT = gettext_lazy("Your code for “{title}”")
APPLIED = gettext_lazy(
    "Thank you for applying for “{title}”. Your application waits 24 hours for a code, this or a"
    " newer one, and then ends. You get a new one where you applied, or by signing in with this"
    " address. Once you enter one, your place counts from when you applied, and we can offer you a"
    " seat."
)
NOT_YOU = gettext_lazy(
    "If it was not you, ignore this email. The application holds no seat, ends within 24 hours and"
    " does not count against you. To end it at once, sign in with this address and withdraw it."
)
APPLIED_BEFORE = gettext_lazy(
    "You have already applied for “{title}” with this address. That application keeps its place."
    " Enter the code where you applied to see it."
)
DECIDED_BEFORE = gettext_lazy(
    "Someone, probably you, applied for “{title}” with this address. The company has already"
    " decided on an earlier application, so only the company can add you again. Enter the code"
    " where you applied to see that application."
)


def apply_unverified(
    *,
    job: JobFacts,
    name: str,
    email: str,
    requester: Requester,
    application_id: UUID | None = None,
    filled: Filled | None = None,
    companions: Sequence[Companion] = (),
    group_code: str | None = None,
    language: str = "",
) -> None:
    """Admit a person whose address is not proved to a job's line, and email a code to the address.

    Even if a seat is free, the application waits until the person proves the address. Only the
    email mentions an earlier application. `application_id`, `filled`, `companions` and `language`
    as in `apply`, `requester` as in `codes.send`. Raises JobNotOpen, DrawFull, JobNotFound,
    FormChanged.
    """
    if job.status != JobStatus.OPEN:
        raise JobNotOpen(status=job.status)  # before any of the person's data is stored
    person = find_or_create_person(email)
    about, if_not_you = str(APPLIED), str(NOT_YOU)
    how: dict[str, Any] = {
        "name": name,
        "application_id": application_id,
        "filled": filled,
        "companions": companions,
        "group_code": group_code,
        "language": language,
    }
    try:
        actor = Actor(ActorKind.APPLICANT, person.id)
        apply(job_id=job.id, applicant_id=person.id, actor=actor, verified=False, **how)
    except AlreadyApplied:
        about, if_not_you = str(APPLIED_BEFORE), str(IGNORE)
    except AlreadyDecided:
        about, if_not_you = str(DECIDED_BEFORE), str(IGNORE)
    except ApplicantNotFound:  # erased meanwhile; the address now belongs to a new person
        apply_unverified(job=job, email=email, requester=requester, **how)
        return
    codes.send(
        person.email,
        by=requester,
        subject=SUBJECT.format(title=job.title),
        about=about.format(title=job.title),
        if_not_you=if_not_you,
    )
