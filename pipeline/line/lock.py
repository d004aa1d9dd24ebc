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
from pipeline.line.locked_job import LockedJob
from pipeline.line.sources import DATABASE, attach_locked_row
from pipeline.line.sql import APPLICATION_COLUMNS, HOT, TIME_ZONE
from pipeline.models import Application
from tasks.sql.prepared import PreparedStatement, Row, run_statements

# While a job's lock is held, every round trip makes all other changes to that job wait. So BEGIN
# and the first reads travel with the lock, and COMMIT with the write.


_hot = ", ".join(HOT)

_LOCKED = f"""
WITH locked AS MATERIALIZED (
    SELECT {_hot} FROM jobs_job WHERE {{which}}
)
SELECT {_hot}, clock_timestamp(){{more}} FROM locked
"""

# The types of webhooks that the company's endpoints want; `*` for an endpoint that wants all.
_WEBHOOK_TYPES = """
SELECT unnest(CASE WHEN hook.types = '{{}}' THEN '{{*}}' ELSE hook.types END)
FROM pipeline_webhookendpoint hook WHERE hook.is_active AND hook.company_id = {company}
"""

# Lock a job by its id. The clock is read after the lock, in the same round trip.
LOCK_JOB = PreparedStatement(_LOCKED.format(which="id = %(job)s FOR NO KEY UPDATE", more=""))

# Until the commit.
LIMIT_LOCK_WAIT = PreparedStatement("SELECT set_config('lock_timeout', %(lock_timeout)s, true)")

# Lock the job of an application. It never changes, so the snapshot may be older than the lock.
LOCK_JOB_OF = PreparedStatement(
    _LOCKED.format(
        which="id = (SELECT job_id FROM pipeline_application WHERE id = %(application)s)"
        " FOR NO KEY UPDATE",
        more="",
    )
)

# Those of a locked job's company. A separate statement, so that its snapshot is newer than the
# lock: an endpoint that was created while a change waited gets it.
READ_WEBHOOK_TYPES = PreparedStatement(
    _WEBHOOK_TYPES.format(company="(SELECT company_id FROM jobs_job WHERE id = %(job)s)")
)

READ_WEBHOOK_TYPES_OF = PreparedStatement(
    _WEBHOOK_TYPES.format(
        company="(SELECT company_id FROM jobs_job WHERE id ="
        " (SELECT job_id FROM pipeline_application WHERE id = %(application)s))"
    )
)

# Lock the job that has been due for longest among the unlocked ones.
#
# The clock is a sub-select so that the index scan stops there. A comparison with a volatile
# function would read every job that is due at any later time. It never waits, so its snapshot is
# new enough to read the types of webhooks too. Another statement would read the job again.
LOCK_DUE_JOB = PreparedStatement(
    _LOCKED.format(
        which="next_due_at <= (SELECT clock_timestamp()) AND id <> ALL(%(except)s::uuid[])"
        " ORDER BY next_due_at LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED",
        more=f", ARRAY({_WEBHOOK_TYPES.format(company='locked.company_id')})",
    )
)

# One application. A separate statement, so that its snapshot is newer than the lock.
_APPLICATION = f"SELECT {APPLICATION_COLUMNS}, {TIME_ZONE} FROM pipeline_application"
READ_APPLICATION = PreparedStatement(f"{_APPLICATION} WHERE id = %(application)s")

# Some of a job by their ids, its key compared by an expression (see READ_APPLICATION_TO).
READ_APPLICATIONS = PreparedStatement(
    f"{_APPLICATION} WHERE id = ANY(%(applications)s::uuid[]) AND (job_id = %(job)s) IS TRUE"
)

# Create applicants for unknown addresses, in sorted order, so that two transactions with the same
# new addresses cannot deadlock.
MAKE_PEOPLE = PreparedStatement("""
INSERT INTO applicants_applicant (id, email, name, created_at)
SELECT id, email, '', statement_timestamp()
FROM unnest(%(new_ids)s::uuid[], %(emails)s::text[]) AS wanted (id, email) ORDER BY email
ON CONFLICT (email) DO NOTHING
""")

# Protect people from erasure before the job is locked: waiting here for a running erasure does not
# hold up everyone else at the job.
HOLD_PEOPLE = PreparedStatement("""
SELECT FROM applicants_applicant
WHERE id = ANY(%(applicants)s::uuid[]) OR email = ANY(%(emails)s::text[]) FOR KEY SHARE
""")

HOLD_PERSON_OF = PreparedStatement("""
SELECT FROM applicants_applicant
WHERE id = (SELECT applicant_id FROM pipeline_application WHERE id = %(application)s) FOR KEY SHARE
""")

# People by id or address, each with their history at this job, which may be empty: the live
# application, the unverified live one, a decided one, misses, end of the last cool-down; their time
# zone; passes, and the pass that began that cool-down. None of them can be erased before this
# change commits. A decision on a never verified application does not count, since someone else may
# have used the address; its misses are copies of earlier ones.
READ_PEOPLE = PreparedStatement("""
WITH people AS MATERIALIZED (
    SELECT id, email, time_zone FROM applicants_applicant
    WHERE id = ANY(%(applicants)s::uuid[]) OR email = ANY(%(emails)s::text[]) FOR KEY SHARE
)
SELECT people.id,
       people.email,
       (array_agg(past.id) FILTER (WHERE status <> 'INACTIVE'))[1],
       (array_agg(past.id) FILTER (WHERE status = 'WAITLIST' AND verify_by IS NOT NULL))[1],
       (array_agg(past.id) FILTER (WHERE outcome IN ('REJECTED', 'HIRED')
                                   AND verify_by IS NULL))[1],
       coalesce(max(decay_count) FILTER (WHERE verify_by IS NULL), 0),
       max(eligible_at) FILTER (WHERE verify_by IS NULL),
       people.time_zone,
       coalesce(max(passes_used) FILTER (WHERE verify_by IS NULL), 0),
       (array_agg(passed_at ORDER BY eligible_at DESC)
           FILTER (WHERE verify_by IS NULL AND eligible_at IS NOT NULL))[1]
FROM people
LEFT JOIN pipeline_application past ON past.applicant_id = people.id AND past.job_id = %(job)s
GROUP BY people.id, people.email, people.time_zone
""")


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
    rows, types = run_statements([LOCK_JOB, READ_WEBHOOK_TYPES], {"job": job_id})
    return _build_job(rows, types)


def lock_job_of(
    application_id: UUID, *, lock_ms: int | None = None, hold_person: bool = False
) -> LockedJob:
    """Lock the job of an application, and read that application. Raises ApplicationNotFound.

    With `lock_ms`, the transaction waits for no lock longer than that. With `hold_person`, the
    applicant cannot be erased before the transaction ends.
    """
    before = [LIMIT_LOCK_WAIT] if lock_ms is not None else []
    before += [HOLD_PERSON_OF] if hold_person else []
    *_, rows, types, found = run_statements(
        [*before, LOCK_JOB_OF, READ_WEBHOOK_TYPES_OF, READ_APPLICATION],
        {"application": application_id, "lock_timeout": f"{lock_ms}ms"},
    )
    if not found:
        raise ApplicationNotFound
    job = _build_job(rows, types)
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
    before = [*([MAKE_PEOPLE] if emails else []), HOLD_PEOPLE]
    after = [READ_APPLICATIONS] if application_ids else []
    statements = [*before, LOCK_JOB, READ_WEBHOOK_TYPES, READ_PEOPLE, *after]
    rows, types, people, *found = run_statements(statements, values)[len(before) :]
    job = _build_job(rows, types)
    for row in found[0] if found else ():
        attach_locked_row(job, row)
    return job, LockedPeople(people)


def read_people(
    job: LockedJob, *, applicant_ids: Collection[UUID] = (), emails: Collection[str] = ()
) -> LockedPeople:
    """Read people's histories at a locked job, after a settlement that may have changed them."""
    who = {"applicants": list(applicant_ids), "emails": list(emails)}
    return LockedPeople(READ_PEOPLE.all(job=job.id, **who))


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
    for row in READ_APPLICATIONS.all(applications=list(application_ids), job=job.id):
        attach_locked_row(job, row)


def lock_due_job(*, skip: Collection[UUID] = ()) -> LockedJob | None:
    """Lock the unlocked job that has been due for longest, if there is one."""
    rows = LOCK_DUE_JOB.all(**{"except": list(skip)})
    return _build_job(rows, [(each,) for each in rows[0][-1]]) if rows else None


def _build_job(rows: list[Row], webhook_types: list[Row]) -> LockedJob:
    if not rows:
        raise JobNotFound
    row = rows[0]
    hot = dict(zip(HOT, row, strict=False))
    policy = _cached_policy(*[hot.pop(name) for name in POLICY_FIELDS])
    hot["status"] = JobStatus(hot["status"])
    ahead = timedelta(seconds=hot["clock_offset_seconds"])
    if ahead and hot["next_due_at"]:
        hot["next_due_at"] += ahead
    return LockedJob(
        **hot,
        policy=policy,
        webhook_types=[each for (each,) in webhook_types],
        now=max(row[len(HOT)] + ahead, hot["last_event_at"]),
        announced_due_at=hot["next_due_at"],
        source=DATABASE,
    )


@lru_cache(maxsize=1_024)
def _cached_policy(*values: Any) -> Policy:
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
