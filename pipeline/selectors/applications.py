"""Reads of applications as people see them: with position, job and the database's time."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from django.db.models import BooleanField, ExpressionWrapper, Q
from django.db.models.functions import Now

from applicants.models import ERASED
from jobs.models import Job
from pipeline.database.instants import one_instant
from pipeline.domain.errors import ApplicationNotFound
from pipeline.domain.states import EventType, Status
from pipeline.line.sql import fetch_in_one_trip
from pipeline.models import Application, ApplicationRow, DecisionNote, Event, Standing
from pipeline.selectors import sql
from pipeline.selectors.pages import Page
from tasks.sql.prepared import PreparedStatement, prepared_row, run_prepared

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


# Reads of a person's own applications.


# The most applications on one person's page, newest first.
MOST_APPLICATIONS = 100


class MyApplicationState(NamedTuple):
    """State of an application, which changes whenever the person's view of it may have changed."""

    application_id: UUID
    job_id: UUID
    job_seq: int
    posting_version: int
    status: str
    is_late: bool | None
    is_cooling: bool | None
    is_deferring: bool | None
    is_accepting: bool | None

    @property
    def is_live(self) -> bool:
        """Return True unless the application has ended."""
        return self.status != Status.INACTIVE


@dataclass(frozen=True, slots=True)
class Mine:
    """An application and its job, with posting and company."""

    seen: SeenApplication
    job: Job

    @property
    def lacks_events(self) -> bool:
        """Tell whether its events are in the archive alone. The job was read with its record."""
        return hasattr(self.job, "removed_log")


@dataclass(frozen=True, slots=True)
class EventOfJob:
    """An event of a person's application, and its job's title."""

    event: Event
    job: Job


def my_application_states(applicant_id: UUID) -> list[MyApplicationState]:
    """Return the state of a person's newest applications, in one query."""
    rows = Application.objects.filter(applicant_id=applicant_id, job__is_test=False).order_by("-id")
    columns = ("id", "job_id", "job__seq", "job__posting__version", "status")
    facts = rows.annotate(
        late=ExpressionWrapper(Q(acknowledge_by__lte=Now()), BooleanField()),
        cooling=ExpressionWrapper(Q(eligible_at__gt=Now()), BooleanField()),
        deferring=ExpressionWrapper(Q(not_before__gt=Now()), BooleanField()),
        accepting=ExpressionWrapper(Q(accept_until__gt=Now()), BooleanField()),
    )
    found = facts.values_list(*columns, "late", "cooling", "deferring", "accepting")
    return [MyApplicationState(*row) for row in found[:MOST_APPLICATIONS]]


def my_applications(applicant_id: UUID, *, events: int) -> tuple[list[Mine], list[EventOfJob]]:
    """Return a person's latest applications and events, both newest first.

    At most `events` events. All as of one instant, in three queries.
    """
    with one_instant():
        seen = applications_of(applicant_id, after=None, limit=MOST_APPLICATIONS).rows
        applications = [each.application for each in seen]
        jobs = Job.objects.select_related("posting", "company", "removed_log").in_bulk(
            {each.job_id for each in applications}
        )
        last = Event.objects.filter(application_id__in=[each.id for each in applications])
        newest = list(last.order_by("-at", "-job_id", "-seq")[:events])
    mine = [Mine(each, jobs[each.application.job_id]) for each in seen]
    return mine, [EventOfJob(event, jobs[event.job_id]) for event in newest]


def my_live_application(applicant_id: UUID, job_id: UUID) -> UUID | None:
    """Return the id of a person's live application to a job, if there is one, in one query."""
    theirs = Application.objects.filter(applicant_id=applicant_id, job_id=job_id)
    return theirs.exclude(status=Status.INACTIVE).values_list("id", flat=True).first()


def my_latest_name(applicant_id: UUID) -> str:
    """Return the name that a person last gave when applying, or an empty string, in one query."""
    theirs = Application.objects.filter(applicant_id=applicant_id, job__is_test=False)
    theirs = theirs.order_by("-id")
    return theirs.values_list("name", flat=True).first() or ""


def my_current_offer(application_id: UUID) -> int | None:
    """Return the seq of the event that made an application's last offer, or None.

    This takes one query.
    """
    offers = Event.objects.filter(
        application_id=application_id,
        event__in=(EventType.PROMOTED, EventType.APPLIED),
        to_status=Status.PENDING_ACKNOWLEDGMENT,
    )
    return offers.order_by("-seq").values_list("seq", flat=True).first()


def was_my_offer_passed(application_id: UUID, offer: int) -> bool:
    """Tell whether an application's offer, given by the seq of its event, ended by a pass."""
    later = Event.objects.filter(
        application_id=application_id, seq__gt=offer, from_status=Status.PENDING_ACKNOWLEDGMENT
    ).exclude(event=EventType.DEADLINE_EXTENDED)
    return later.order_by("seq").values_list("event", flat=True).first() == EventType.PASSED


def my_last_events(application_id: UUID, *, most: int) -> Page[Event]:
    """Return an application's last events, newest first, in one query."""
    events = Event.objects.filter(application_id=application_id).order_by("-seq")
    return Page.cut(list(events[: most + 1]), most)


# Applications to a job with a tag or an assignee, by the indexes of tags and assignees.


# The most marked applications that are read for a list. If there are more, the list's own index
# finds a page quickly, because the mark is frequent in it.
MOST_MARKED = 5_000

# The ids of the marked applications, by the parameter that names the mark.
_MARKS = {
    "tag": "SELECT application_id FROM pipeline_applicationtag"
    " WHERE job_id = %(job)s AND word = %(tag)s::text",
    "assignee": "SELECT application_id FROM pipeline_applicationassignee"
    " WHERE job_id = %(job)s AND user_id = %(assignee)s::uuid",
}

# An array, so that the planner, which does not know how few they are, looks each of them up instead
# of joining them with the whole table.
_CANDIDATE = """
    SELECT own.* FROM pipeline_application own
    WHERE own.id = ANY(ARRAY({marks}))
      AND coalesce(own.outcome, own.status) = ANY(%(states)s::text[])
      AND (own.{column}, own.id) {beyond} (%(moment)s::timestamptz, %(id)s::uuid)
"""


def rarest_mark(job_id: UUID, **values: Any) -> str:
    """Return the mark that few applications have, "tag" or "assignee"; "" if there is none.

    `values` may hold other conditions too, and None for a mark that is not a condition.
    """
    found = []
    for mark in _MARKS:
        if values.get(mark) is not None:
            [count] = _marked_count_statement(mark).first(job=job_id, **{mark: values[mark]}) or [0]
            found.append((count, mark))
    count, rarest = min(found, default=(0, ""))
    return rarest if count <= MOST_MARKED else ""


def marked_candidate_sql(mark: str, *, column: str, beyond: str) -> str:
    """Return the statement for all applications with a mark after a place in a list."""
    return _CANDIDATE.format(marks=_MARKS[mark], column=column, beyond=beyond)


@cache
def _marked_count_statement(mark: str) -> PreparedStatement[Any]:
    text = f"SELECT count(*) FROM ({_MARKS[mark]} LIMIT {MOST_MARKED + 1}) marked"  # noqa: S608  constants
    return PreparedStatement(text, prepared_row)


# Reads of companies' decisions on applications.


class Decision(NamedTuple):
    """A company's decision: the log holds the code of its reason, but not its note."""

    outcome: str
    reason: str | None
    note: str | None
    actor_kind: str
    actor_id: UUID | None
    seq: int
    at: datetime


def decisions_on(application_ids: Collection[UUID]) -> dict[UUID, Decision]:
    """Return the last decision on each application that has one, in two queries."""
    kept = DecisionNote.objects.filter(application_id__in=application_ids)
    notes = {(note.application_id, note.seq): note.text for note in kept}
    events = Event.objects.filter(application_id__in=application_ids, event=EventType.REMOVED)
    return {
        event.application_id: Decision(
            outcome=str(event.outcome),
            reason=event.data.get("reason"),
            note=notes.get((event.application_id, event.seq)),
            actor_kind=event.actor_kind,
            actor_id=event.actor_id,
            seq=event.seq,
            at=event.at,
        )
        for event in events.order_by("seq")
        if event.application_id
    }
