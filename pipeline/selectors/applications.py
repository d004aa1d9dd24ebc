"""Reads of applications as people see them: with position, job and the database's time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from applicants.models import ERASED
from pipeline.domain.errors import ApplicationNotFound
from pipeline.line.round_trips import fetch_in_one_trip
from pipeline.models import Application, ApplicationRow, Standing
from pipeline.selectors import sql
from pipeline.selectors.page import Page
from tasks.sql.prepared import PreparedStatement, run_prepared

# A place in front of every ticket and tie.
BEFORE_THE_FIRST = (0, 0)

J = TypeVar("J")

# The lengths for which a page's statement is prepared; the longest page of all has 200 rows and one
# more.
_PREPARED_LENGTHS = (11, 51, 201)


@dataclass(frozen=True, slots=True)
class SeenApplication:
    """An application with its job and position, as of `now`, the database's time."""

    application: Application | ApplicationRow
    company_id: UUID
    job_title: str
    email: str
    people_waiting: int
    max_decays: int | None
    # 1 is the next in line; None unless the application waits and is verified.
    position: int | None
    now: datetime  # by the clock of the job's company
    # What the company attached to it; None if it attached nothing.
    external_id: str | None = None
    metadata: dict[str, str] | None = None
    is_test: bool = False  # of a sandbox

    @property
    def address(self) -> str:
        """Return the email address; empty once the person is erased."""
        return "" if self.email.startswith(ERASED) else self.email


class ApplicationFacts(NamedTuple):
    """Facts of an application that decide who may act on it, and what its company attached."""

    id: UUID
    job_id: UUID
    company_id: UUID
    applicant_id: UUID
    job_title: str
    email: str
    external_id: str | None = None
    metadata: dict[str, str] | None = None
    is_test: bool = False  # of a sandbox


APPLICATION_FACTS = PreparedStatement(
    """
SELECT own.id, own.job_id, job.company_id, own.applicant_id, posting.title, person.email,
       reference.external_id, reference.metadata, job.is_test
FROM pipeline_application own
JOIN jobs_job job ON job.id = own.job_id
JOIN jobs_jobposting posting ON posting.job_id = own.job_id
JOIN applicants_applicant person ON person.id = own.applicant_id
LEFT JOIN pipeline_applicationreference reference ON reference.application_id = own.id
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
    """Return one application, in one query. Raises ApplicationNotFound."""
    rows = read_seen_applications(sql.ONE, application=application_id)
    if not rows:
        raise ApplicationNotFound
    return rows[0]


def seen_application_after_change(
    facts: ApplicationFacts, application: Application
) -> SeenApplication:
    """Complete an application that a service has just returned, in at most one query.

    The change already knows the rest. Only the position of a waiting person is counted, unless the
    change itself has done so.
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
        external_id=facts.external_id,
        metadata=facts.metadata,
        is_test=facts.is_test,
    )


def position_of_application_place(job_id: UUID, ticket: int, tie: int) -> int:
    """Return the position that a place in a job's line would have now, in one query."""
    place: Any = {"job": job_id, "ticket": ticket, "tie": tie}
    _, _, position, _ = fetch_in_one_trip(sql.STANDING, parameters=place)[0][0]
    return int(position)


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


class Front(NamedTuple):
    """Everyone who holds one of a job's seats, and the front of its waitlist."""

    active: list[SeenApplication]
    pending: list[SeenApplication]
    waitlist: Page[SeenApplication]


def front_applications_of(
    job_id: UUID, job: PreparedStatement[J], *, limit: int
) -> tuple[list[J], Front]:
    """Return the rows of a statement about a job, and its people, as of one instant in one trip.

    Active people come longest first, pending ones by deadline, the waitlist in order.
    """
    ticket, tie = BEFORE_THE_FIRST
    jobs, active, pending, waiting = run_prepared(
        [job, _ACTIVE, _PENDING, prepare_applications_page(sql.QUEUE, limit + 1)],
        {"job": job_id, "ticket": ticket, "tie": tie},
        snapshot=True,
    )
    return jobs, Front(active, pending, Page.cut(waiting, limit))


def queued_applications_of(
    job_id: UUID, *, after: tuple[int, int] = BEFORE_THE_FIRST, limit: int
) -> Page[SeenApplication]:
    """Return the waitlist of a job after a (ticket, tie), in order, in one query."""
    ticket, tie = after
    rows = read_applications_page(sql.QUEUE, job=job_id, ticket=ticket, tie=tie, most=limit + 1)
    return Page.cut(rows, limit)


def applications_by_id(ids: Collection[UUID]) -> dict[UUID | None, SeenApplication]:
    """Return some applications by id, without positions, in one query."""
    rows = read_seen_applications(sql.FOUND, applications=list(ids))
    return {seen.application.id: seen for seen in rows}


def application_with_external_id(company_id: UUID, external_id: str) -> list[SeenApplication]:
    """Return a company's application with its own id, in a list, or an empty one. One query."""
    return read_seen_applications(sql.ATTACHED, company=company_id, external_id=external_id)


def read_seen_applications(statement: str, **parameters: Any) -> list[SeenApplication]:
    """Return the applications that a statement of `selectors.sql` finds."""
    return _prepare_seen_applications(statement).all(**parameters)


def read_applications_page(
    statement: str, *, most: int, **parameters: Any
) -> list[SeenApplication]:
    """Return up to `most` applications that a statement of `selectors.sql` finds.

    The page length is part of the statement's text: otherwise PostgreSQL would plan for a tenth of
    the line and read whole tables. There are few lengths, so few texts are prepared.
    """
    return prepare_applications_page(statement, most).all(**parameters)[:most]


def prepare_applications_page(statement: str, most: int) -> PreparedStatement[SeenApplication]:
    """Return the statement that finds a page of at least `most` applications."""
    length = length_of_applications_page(most)
    return _prepare_seen_applications(statement.replace("%(most)s", str(length)))


def length_of_applications_page(most: int) -> int:
    """Return the length of the page that is read for at least `most` applications."""
    return next((each for each in _PREPARED_LENGTHS if each >= most), most)


@cache
def _prepare_seen_applications(text: str) -> PreparedStatement[SeenApplication]:
    return PreparedStatement(
        text, lambda *row: SeenApplication(ApplicationRow(*row[:_OWN]), *row[_OWN:])
    )


_OWN = len(ApplicationRow._fields)
_ACTIVE, _PENDING = _prepare_seen_applications(sql.ACTIVE), _prepare_seen_applications(sql.PENDING)
