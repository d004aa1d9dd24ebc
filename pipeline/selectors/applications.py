"""Reading applications as people see them: with position, job, and the database's time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from applicants.models import ERASED
from pipeline.domain.errors import ApplicationNotFound
from pipeline.line.sql import APPLICATION
from pipeline.models import Application
from pipeline.selectors import sql
from pipeline.selectors.paging import Page

BEFORE_THE_FIRST = (0, 0)
"""A place in front of every ticket and tie."""


@dataclass(frozen=True, slots=True)
class Seen:
    """An application and what surrounds it, as of `now`, the database's time."""

    application: Application
    company_id: UUID
    job_title: str
    email: str
    people_waiting: int
    max_decays: int | None
    position: int | None
    """1 is the next in line; None when the application does not wait."""
    now: datetime

    @property
    def address(self) -> str:
        """The mail address; empty once the person is erased, of whom only a placeholder is left."""
        return "" if self.email.startswith(ERASED) else self.email


class ApplicationFacts(NamedTuple):
    """What decides who may do what with an application, and what never changes about it."""

    id: UUID
    job_id: UUID
    company_id: UUID
    applicant_id: UUID
    job_title: str
    email: str


_FACTS = Statement(
    """
SELECT own.id, own.job_id, job.company_id, own.applicant_id, posting.title, person.email
FROM pipeline_application own
JOIN jobs_job job ON job.id = own.job_id
JOIN jobs_jobposting posting ON posting.job_id = own.job_id
JOIN applicants_applicant person ON person.id = own.applicant_id
WHERE own.id = %(application)s
""",
    ApplicationFacts,
)


def application_facts(application_id: UUID) -> ApplicationFacts:
    """Return the facts of an application, in one query. Raises ApplicationNotFound."""
    facts = _FACTS.first(application=application_id)
    if facts is None:
        raise ApplicationNotFound
    return facts


def read_application(application_id: UUID) -> Seen:
    """One application, in one query. Raises ApplicationNotFound."""
    rows = read_seen(sql.ONE, application=application_id)
    if not rows:
        raise ApplicationNotFound
    return rows[0]


def seen_after_change(facts: ApplicationFacts, application: Application) -> Seen:
    """An application as a service has just returned it, with what surrounds it, in one query."""
    with connection.cursor() as cursor:
        place = {"ticket": application.ticket, "tie": application.tie}
        cursor.execute(sql.STANDING, {"job": application.job_id, **place})
        waiting, max_decays, position, now = cursor.fetchone()
    if application.ticket is None:
        position = None
    return Seen(
        application=application,
        company_id=facts.company_id,
        job_title=facts.job_title,
        email=facts.email,
        people_waiting=waiting,
        max_decays=max_decays,
        position=position,
        now=now,
    )


def applications_of(
    applicant_id: UUID, *, company_id: UUID | None = None, after: UUID | None, limit: int
) -> Page[Seen]:
    """A person's applications, newest first, in one query; with a company, only to its jobs."""
    whose = {"applicant": applicant_id, "company": company_id}
    return Page.cut(read_seen(sql.OF_PERSON, **whose, after=after, most=limit + 1), limit)


def active_in(job_id: UUID) -> list[Seen]:
    """Who is active in a job, longest first, in one query."""
    return read_seen(sql.ACTIVE, job=job_id)


def pending_in(job_id: UUID) -> list[Seen]:
    """Who has a seat on offer in a job, by deadline, in one query."""
    return read_seen(sql.PENDING, job=job_id)


def queue_of(job_id: UUID, *, after: tuple[int, int] = BEFORE_THE_FIRST, limit: int) -> Page[Seen]:
    """Who waits in a job's line behind a (ticket, tie), in order, in one query."""
    ticket, tie = after
    rows = read_seen(sql.QUEUE, job=job_id, ticket=ticket, tie=tie, most=limit + 1)
    return Page.cut(rows, limit)


def read_seen(statement: str, **parameters: Any) -> list[Seen]:
    """The applications that one of the statements of `selectors.sql` finds."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [_seen(row) for row in cursor.fetchall()]


def _seen(row: tuple[Any, ...]) -> Seen:
    own = len(APPLICATION)
    return Seen(Application.from_db("default", APPLICATION, row[:own]), *row[own:])
