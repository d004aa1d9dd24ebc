"""Lock of a job, the only way into its line. Nothing is read or written before the row is locked.

`FOR NO KEY UPDATE` because `FOR UPDATE` deadlocks with the foreign keys' `FOR KEY SHARE`. A lock
that is not obtained within the session's `lock_timeout` raises django.db.OperationalError.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar
from uuid import UUID, uuid4

from django.db import transaction

from applicants.models import ERASED
from jobs.models import JobStatus
from jobs.policies import POLICY_FIELDS, Policy
from pipeline.domain.errors import ApplicantNotFound, ApplicationNotFound, JobNotFound, LineError
from pipeline.line import sql
from pipeline.line.locked_job import LockedJob
from pipeline.line.sources import DATABASE, attach_locked_row
from pipeline.line.sql import Row, fetch_in_one_trip
from pipeline.models import Application


@dataclass(frozen=True, slots=True)
class History:
    """A person's past at a job, and their time zone.

    `eligible_at` ends the last cool-down, which began with a pass if `passed_at` is set.

    `live` is the id of their live application, `unverified` the same if it is unverified, and
    `decided` that of one on which the company has decided.
    """

    live: UUID | None
    unverified: UUID | None
    decided: UUID | None
    misses: int
    eligible_at: datetime | None
    time_zone: str = ""
    passes: int = 0
    passed_at: datetime | None = None


@dataclass(slots=True)
class Person:
    """Person who applies to a job, with their history there."""

    id: UUID
    email: str
    history: History


class LockedPeople:
    """People who apply to a job, by id and by address, without erased people.

    None of them can be erased until the change ends.
    """

    def __init__(self, rows: list[Row]) -> None:
        self._people: dict[UUID | str, Person] = {}
        for applicant_id, email, *past in rows:
            if not email.startswith(ERASED):
                history = History(*past)
                person = Person(applicant_id, email, history)
                self._people[applicant_id] = self._people[email] = person

    def locked_person(self, id_or_address: UUID | str) -> Person:
        """Return the person with an id or address. Raises ApplicantNotFound, also if erased."""
        try:
            return self._people[id_or_address]
        except KeyError:
            raise ApplicantNotFound from None


def lock_job(job_id: UUID) -> LockedJob:
    """Lock a job. Raises JobNotFound."""
    rows, types = fetch_in_one_trip(
        sql.LOCK_JOB, sql.READ_WEBHOOK_TYPES, parameters={"job": job_id}
    )
    return _lock_row_as_job(rows, types)


def lock_job_of(
    application_id: UUID, *, lock_ms: int | None = None, hold_person: bool = False
) -> LockedJob:
    """Lock the job of an application, and read that application. Raises ApplicationNotFound.

    With `lock_ms`, the transaction waits for no lock longer than that. With `hold_person`, the
    applicant cannot be erased before the transaction ends.
    """
    *_, rows, types, found = fetch_in_one_trip(
        *([sql.LIMIT_LOCK_WAIT] if lock_ms is not None else []),
        *([sql.HOLD_PERSON_OF] if hold_person else []),
        sql.LOCK_JOB_OF,
        sql.READ_WEBHOOK_TYPES_OF,
        sql.READ_APPLICATION,
        parameters={"application": application_id, "lock_timeout": f"{lock_ms}ms"},
    )
    if not found:
        raise ApplicationNotFound
    job = _lock_row_as_job(rows, types)
    attach_locked_row(job, found[0])
    return job


def lock_job_for(
    job_id: UUID,
    *,
    applicant_ids: Collection[UUID] = (),
    emails: Collection[str] = (),
    application_ids: Collection[UUID] = (),
) -> tuple[LockedJob, LockedPeople]:
    """Lock a job and read people's histories there, by id or address.

    An unknown address becomes an applicant. Existing applications with the given ids are attached
    to the job. Raises JobNotFound.
    """
    values = {
        "job": job_id,
        "applicants": list(applicant_ids),
        "emails": list(emails),
        "new_ids": [uuid4() for _ in emails],
        "applications": list(application_ids),
    }
    before = [*([sql.MAKE_PEOPLE] if emails else []), sql.HOLD_PEOPLE]
    after = [sql.READ_APPLICATIONS] if application_ids else []
    texts = [*before, sql.LOCK_JOB, sql.READ_WEBHOOK_TYPES, sql.READ_PEOPLE, *after]
    found = dict(zip(texts, fetch_in_one_trip(*texts, parameters=values), strict=True))
    job = _lock_row_as_job(found[sql.LOCK_JOB], found[sql.READ_WEBHOOK_TYPES])
    for row in found.get(sql.READ_APPLICATIONS, ()):
        attach_locked_row(job, row)
    return job, LockedPeople(found[sql.READ_PEOPLE])


def lock_and_read_people(
    job: LockedJob, *, applicant_ids: Collection[UUID] = (), emails: Collection[str] = ()
) -> LockedPeople:
    """Read people's histories at a locked job, after a settlement that may have changed them."""
    values = {"job": job.id, "applicants": list(applicant_ids), "emails": list(emails)}
    (rows,) = fetch_in_one_trip(sql.READ_PEOPLE, parameters=values)
    return LockedPeople(rows)


def read_locked_application(job: LockedJob, application_id: UUID) -> Application:
    """Return an application of a locked job, reading it if necessary.

    Raises ApplicationNotFound.
    """
    if known := job.people.get(application_id):
        return known
    found = job.source.application(job, application_id)
    if found is None:
        raise ApplicationNotFound
    return job.attach(*found)


def read_locked_applications(job: LockedJob, application_ids: Collection[UUID]) -> None:
    """Read some applications of a locked job, and attach them to it."""
    values = {"job": job.id, "applications": list(application_ids)}
    (rows,) = fetch_in_one_trip(sql.READ_APPLICATIONS, parameters=values)
    for row in rows:
        attach_locked_row(job, row)


def lock_due_job(*, skip: Collection[UUID] = ()) -> LockedJob | None:
    """Lock the unlocked job that has been due for longest, if there is one."""
    (rows,) = fetch_in_one_trip(sql.LOCK_DUE_JOB, parameters={"except": list(skip)})
    return _lock_row_as_job(rows, [(each,) for each in rows[0][-1]]) if rows else None


def _lock_row_as_job(rows: list[Row], webhook_types: list[Row]) -> LockedJob:
    if not rows:
        raise JobNotFound
    row = rows[0]
    hot = dict(zip(sql.HOT, row, strict=False))
    policy = _lock_row_as_policy(*[hot.pop(name) for name in POLICY_FIELDS])
    hot["status"] = JobStatus(hot["status"])
    ahead = timedelta(seconds=hot["clock_offset_seconds"])
    if ahead and hot["next_due_at"]:
        hot["next_due_at"] += ahead
    return LockedJob(
        **hot,
        policy=policy,
        webhook_types=[each for (each,) in webhook_types],
        now=max(row[len(sql.HOT)] + ahead, hot["last_event_at"]),
        announced_due_at=hot["next_due_at"],
        source=DATABASE,
    )


@lru_cache(maxsize=1_024)
def _lock_row_as_policy(*values: Any) -> Policy:
    """Return the policy, cached: policies are few and frozen, so each is validated once."""
    return Policy(**dict(zip(POLICY_FIELDS, values, strict=True)))


# Transaction of a service, which keeps the settlement even if the service then refuses.


P = ParamSpec("P")
T = TypeVar("T")


def line_transaction(service: Callable[P, T]) -> Callable[P, T]:
    """Run a service in its own transaction. It must not be called inside another one.

    A refusal (LineError) is raised after the commit. A service writes its own change last, so this
    commit holds only the settlement. Any other error rolls back.
    """

    @wraps(service)
    def run_in_transaction(*args: P.args, **kwargs: P.kwargs) -> T:
        with transaction.atomic(durable=True):
            try:
                return service(*args, **kwargs)
            except LineError as error:
                refusal = error
        raise refusal

    return run_in_transaction
