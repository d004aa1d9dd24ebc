"""Reads of applications as people see them: with position, job, and the database's time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from applicants.models import ERASED
from pipeline.domain.errors import ApplicationNotFound
from pipeline.line.round_trips import fetch_in_one_trip
from pipeline.line.sql import APPLICATION
from pipeline.models import Application, Standing
from pipeline.selectors import sql
from pipeline.selectors.paging import Page
from tasks.sql.prepared import PreparedStatement

# A place in front of every ticket and tie.
BEFORE_THE_FIRST = (0, 0)


@dataclass(frozen=True, slots=True)
class SeenApplication:
    """An application and what surrounds it, as of `now`, the database's time."""

    application: Application
    company_id: UUID
    job_title: str
    email: str
    people_waiting: int
    max_decays: int | None
    # 1 is the next in line; None when the application does not wait or is not verified.
    position: int | None
    now: datetime

    @property
    def address(self) -> str:
        """Return the email address; empty once the person is erased."""
        return "" if self.email.startswith(ERASED) else self.email


class ApplicationFacts(NamedTuple):
    """Facts of an application that never change and decide who may act on it."""

    id: UUID
    job_id: UUID
    company_id: UUID
    applicant_id: UUID
    job_title: str
    email: str


APPLICATION_FACTS = PreparedStatement(
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
    facts = APPLICATION_FACTS.first(application=application_id)
    if facts is None:
        raise ApplicationNotFound
    return facts


def read_application(application_id: UUID) -> SeenApplication:
    """One application, in one query. Raises ApplicationNotFound."""
    rows = read_seen_applications(sql.ONE, application=application_id)
    if not rows:
        raise ApplicationNotFound
    return rows[0]


def seen_application_after_change(
    facts: ApplicationFacts, application: Application
) -> SeenApplication:
    """Complete an application that a service has just returned; in one query if that is needed.

    A change knows the line as it left it. Only the position of somebody who waits is counted,
    unless the change itself has done it.
    """
    standing = application.standing
    waits = application.ticket is not None and application.is_verified
    if standing is None or (waits and standing.position is None):
        place = {"ticket": application.ticket, "tie": application.tie}
        ((waiting, max_decays, position, now),) = fetch_in_one_trip(
            sql.STANDING, parameters={"job": application.job_id, **place}
        )[0]
        standing = Standing(waiting, max_decays, position if waits else None, now)
    return SeenApplication(
        application=application,
        company_id=facts.company_id,
        job_title=facts.job_title,
        email=facts.email,
        people_waiting=standing.people_waiting,
        max_decays=standing.max_decays,
        position=standing.position if waits else None,
        now=standing.now,
    )


def applications_of(
    applicant_id: UUID, *, company_id: UUID | None = None, after: UUID | None, limit: int
) -> Page[SeenApplication]:
    """Return a person's applications, newest first, in one query.

    With a company, only applications to its jobs are returned.
    """
    whose = {"applicant": applicant_id, "company": company_id}
    return Page.cut(
        read_applications_page(sql.OF_PERSON, **whose, after=after, most=limit + 1), limit
    )


def active_applications_in(job_id: UUID) -> list[SeenApplication]:
    """Return the active applications of a job, longest first, in one query."""
    return read_seen_applications(sql.ACTIVE, job=job_id)


def pending_applications_in(job_id: UUID) -> list[SeenApplication]:
    """Return the applications with a seat on offer, by deadline, in one query."""
    return read_seen_applications(sql.PENDING, job=job_id)


def queued_applications_of(
    job_id: UUID, *, after: tuple[int, int] = BEFORE_THE_FIRST, limit: int
) -> Page[SeenApplication]:
    """Return the waitlist of a job after a (ticket, tie), in order, in one query."""
    ticket, tie = after
    rows = read_applications_page(sql.QUEUE, job=job_id, ticket=ticket, tie=tie, most=limit + 1)
    return Page.cut(rows, limit)


def read_seen_applications(statement: str, **parameters: Any) -> list[SeenApplication]:
    """Return the applications that one of the statements of `selectors.sql` finds."""
    (rows,) = fetch_in_one_trip(statement, parameters=parameters)
    return [_seen_application(row) for row in rows]


def read_applications_page(statement: str, **parameters: Any) -> list[SeenApplication]:
    """Return a page of applications that one of the statements of `selectors.sql` finds.

    It is planned for its own values: without the length of the page, PostgreSQL would prepare for a
    tenth of the line, and read whole tables.
    """
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [_seen_application(row) for row in cursor.fetchall()]


def _seen_application(row: tuple[Any, ...]) -> SeenApplication:
    own = len(APPLICATION)
    return SeenApplication(Application.from_db("default", APPLICATION, row[:own]), *row[own:])
