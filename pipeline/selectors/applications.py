"""Reads of applications as people see them: with position, job, and the database's time."""

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

# A place in front of every ticket and tie.
BEFORE_THE_FIRST = (0, 0)


@dataclass(frozen=True, slots=True)
class Seen:
    """An application and what surrounds it, as of `now`, the database's time."""

    application: Application
    company_id: UUID
    job_title: str
    email: str
    people_waiting: int
    max_decays: int | None
    # 1 is the next in line; None when the application does not wait.
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


def application_facts(application_id: UUID) -> ApplicationFacts:
    """Return the facts of an application, in one query. Raises ApplicationNotFound."""
    columns = ("id", "job_id", "job__company_id", "applicant_id", "job__posting__title")
    rows = Application.objects.filter(id=application_id)
    row = rows.values_list(*columns, "applicant__email").first()
    if row is None:
        raise ApplicationNotFound
    return ApplicationFacts(*row)


def read_application(application_id: UUID) -> Seen:
    """One application, in one query. Raises ApplicationNotFound."""
    rows = read_seen(sql.ONE, application=application_id)
    if not rows:
        raise ApplicationNotFound
    return rows[0]


def seen_after_change(facts: ApplicationFacts, application: Application) -> Seen:
    """Return an application as a service has just returned it, with what surrounds it.

    This takes one query.
    """
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
    """Return a person's applications, newest first, in one query.

    With a company, only applications to its jobs are returned.
    """
    whose = {"applicant": applicant_id, "company": company_id}
    return Page.cut(read_seen(sql.OF_PERSON, **whose, after=after, most=limit + 1), limit)


def active_in(job_id: UUID) -> list[Seen]:
    """Return the active applications of a job, longest first, in one query."""
    return read_seen(sql.ACTIVE, job=job_id)


def pending_in(job_id: UUID) -> list[Seen]:
    """Return the applications with a seat on offer, by deadline, in one query."""
    return read_seen(sql.PENDING, job=job_id)


def queue_of(job_id: UUID, *, after: tuple[int, int] = BEFORE_THE_FIRST, limit: int) -> Page[Seen]:
    """Return the waitlist of a job after a (ticket, tie), in order, in one query."""
    ticket, tie = after
    rows = read_seen(sql.QUEUE, job=job_id, ticket=ticket, tie=tie, most=limit + 1)
    return Page.cut(rows, limit)


def read_seen(statement: str, **parameters: Any) -> list[Seen]:
    """Return the applications that one of the statements of `selectors.sql` finds."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows = cursor.fetchall()
    own = len(APPLICATION)
    return [
        Seen(Application.from_db("default", APPLICATION, row[:own]), *row[own:]) for row in rows
    ]
