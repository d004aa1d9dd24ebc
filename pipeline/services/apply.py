"""Application to a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import transaction
from uuid_utils.compat import uuid7

from pipeline.domain.errors import LineError
from pipeline.domain.states import Actor
from pipeline.line.admission import admit
from pipeline.line.lock import LockedPeople, lock_and_read_people, lock_job_for
from pipeline.line.locked_job import LockedJob
from pipeline.line.settle import settle_due
from pipeline.line.turns import Turn, Turns
from pipeline.line.write import write
from pipeline.models import Application, ApplicationReference
from pipeline.services.references import lock_external_ids_of_references, write_reference


@dataclass(frozen=True, slots=True)
class Request:
    """Request of a person, known by an id or an address, to join a line."""

    person: UUID | str
    name: str
    actor: Actor
    verified: bool
    application_id: UUID | None
    reference: Mapping[str, Any] | None


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
) -> Application:
    """Admit a person to a job's line: to a seat if one is free for them, or else to the back.

    The person has an `applicant_id`, or an `email` as `checked_address` returns it. An unknown
    address becomes an applicant. Threads of this process that apply to the same job at once share a
    transaction (`pipeline.line.turns`).

    `verified`: the person has proved their address, or the company itself submits them. Anyone
    else only keeps a place in line. An unverified application with their address is taken over: it
    is verified, keeps its place, gets the new name and is returned. Misses of earlier applications
    still count.

    `application_id`: the id of the new application, derived from an Idempotency-Key. If the person
    already has an application with that id, it is returned and nothing else happens.

    `reference`: the company's own `external_id` and `metadata` for the application. Raises
    JobNotFound, ApplicantNotFound, JobNotOpen, DrawFull, AlreadyApplied, AlreadyDecided,
    ExternalIdTaken.
    """
    return _turns.take_turn(
        job_id, Request(applicant_id or email, name, actor, verified, application_id, reference)
    )


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
            people = lock_and_read_people(job, applicant_ids=ids, emails=emails)
        references = [request.reference for request in requests if request.reference]
        lock_external_ids_of_references(
            [each["external_id"] for each in references if each.get("external_id")]
        )
        for turn in turns:
            try:
                turn.result = _apply_one(job, people, turn.request)
            except LineError as error:
                turn.error = error
        if job.entries:
            write(job, commit=True)


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
    # A refusal undoes the reference, and nothing in the line: `admit` moves nobody before it.
    with transaction.atomic() if request.reference else nullcontext():
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
            application_id=application_id,
        )
    job.attach(application)
    unverified = None if application.is_verified else application.id
    person.history = replace(person.history, live=application.id, unverified=unverified)
    return application


_turns = Turns(_apply_all)
