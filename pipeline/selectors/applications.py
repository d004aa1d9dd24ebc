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
from jobs.review_clock import ReviewClock
from pipeline.database.instants import snapshot
from pipeline.domain.errors import ApplicationNotFound
from pipeline.domain.states import ActorKind, EventType, Status
from pipeline.line.sql import APPLICATION, count_people_ahead
from pipeline.models import (
    Application,
    ApplicationRow,
    DecisionNote,
    DecisionText,
    Event,
    Standing,
)
from pipeline.selectors.ageing import ReviewAge
from pipeline.selectors.jobs import REVIEW_HOURS
from pipeline.selectors.pages import Page
from tasks.sql.prepared import PreparedStatement, run_statements

# A place in front of every ticket and tie.
BEFORE_THE_FIRST = (-(2**63), 0)

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
    # The target of the job's reviews, and the hours in which its time runs, as they are stored.
    review_target_seconds: int | None = None
    working_hours: dict[str, Any] | None = None
    # Where it came from: None if directly, empty once the person is erased.
    source: str | None = None

    @property
    def review_since(self) -> datetime | None:
        """Return when the person took the seat; None unless they are in review."""
        row = self.application
        return row.status_since if row.status == Status.ACTIVE else None

    @property
    def review_age(self) -> ReviewAge | None:
        """Return how long the review has taken; None unless there is one, and a target."""
        clock = ReviewClock.read(self.review_target_seconds, self.working_hours)
        return ReviewAge.of(clock, self.review_since, self.now) if self.review_since else None

    @property
    def address(self) -> str:
        """Return the email address; empty once the person is erased."""
        return "" if self.email.startswith(ERASED) else self.email


# The source of an application, unless the person came directly.
CAME_FROM = (
    "(SELECT origin.source FROM pipeline_applicationsource origin WHERE origin.application_id = {})"
)

_columns = ", ".join(f"seen.{name}" for name in APPLICATION)

# The number of people in line, as everyone sees it.
_WAITING = "job.waitlist_count - job.unverified_count"

# The time by the job's own clock: ahead of the database's only in a sandbox.
_NOW = "statement_timestamp() + make_interval(secs => job.clock_offset_seconds)"

# Whether a job's order is still to be drawn by lot. Until then nobody has a position.
_AWAITS_DRAW = "(job.draw_at IS NOT NULL AND job.drawn_at IS NULL)"

_SEEN = f"""
SELECT {_columns},
       job.company_id, posting.title, person.email, {_WAITING}, job.max_decays,
       {{position}}, {_NOW}, reference.external_id, reference.metadata, job.is_test,
       posting.review_target_seconds, {REVIEW_HOURS}, {CAME_FROM.format("seen.id")}
FROM {{source}} seen
JOIN jobs_job job ON job.id = seen.job_id
JOIN jobs_jobposting posting ON posting.job_id = seen.job_id
JOIN applicants_applicant person ON person.id = seen.applicant_id
LEFT JOIN pipeline_applicationreference reference ON reference.application_id = seen.id
"""  # noqa: S608

_EACH_BY_ITSELF = _SEEN.format(
    source="pipeline_application",
    position=f"CASE WHEN seen.status = 'WAITLIST' AND seen.verify_by IS NULL AND NOT {_AWAITS_DRAW}"
    f" THEN {count_people_ahead('seen.ticket', 'seen.tie')} + 1 END",
)

_OWN = len(ApplicationRow._fields)


@cache
def prepare_seen_applications(text: str) -> PreparedStatement[SeenApplication]:
    """Return the statement, whose rows are applications as people see them; cached."""
    return PreparedStatement(
        text, lambda *row: SeenApplication(ApplicationRow(*row[:_OWN]), *row[_OWN:])
    )


# One application, with its position and its job's counters as of the same instant.
ONE = prepare_seen_applications(f"{_EACH_BY_ITSELF} WHERE seen.id = %(application)s")

# The application to which a company attached an id of its own.
ATTACHED = prepare_seen_applications(f"""
{_EACH_BY_ITSELF}
WHERE reference.company_id = %(company)s AND reference.external_id = %(external_id)s
""")

# A person's applications, newest first, to one company's jobs or to all.
OF_PERSON = f"""
{_EACH_BY_ITSELF}
WHERE seen.applicant_id = %(applicant)s
  AND CASE WHEN %(company)s::uuid IS NULL THEN NOT job.is_test
           ELSE job.company_id = %(company)s END
  AND (%(after)s::uuid IS NULL OR seen.id < %(after)s)
ORDER BY seen.id DESC LIMIT %(most)s
"""

# Applications of any source, without positions.
SEEN_UNPLACED = _SEEN.format(source="{source}", position="NULL::bigint")
_UNPLACED = SEEN_UNPLACED.format(source="pipeline_application")

# Some applications, unordered and without positions, which take long to count in long lines.
FOUND = prepare_seen_applications(f"{_UNPLACED} WHERE seen.id = ANY(%(applications)s::uuid[])")

# Active people of a job, longest first: at most as many as it has seats.
ACTIVE = prepare_seen_applications(f"""
{_UNPLACED}
WHERE seen.job_id = %(job)s AND seen.status = 'ACTIVE' ORDER BY seen.status_since, seen.id
""")

# People with an offered seat in a job, by deadline.
PENDING = prepare_seen_applications(f"""
{_UNPLACED}
WHERE seen.job_id = %(job)s AND seen.status = 'PENDING_ACKNOWLEDGMENT'
ORDER BY seen.acknowledge_by, seen.id
""")

# A page of the waitlist after a place. Only the first row's position is counted. Before a draw by
# lot it is not, and so nobody's position is known.
QUEUE = """
WITH page AS MATERIALIZED (
    SELECT * FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST'
      AND ticket >= greatest(%(ticket)s, (SELECT head_ticket FROM jobs_job WHERE id = %(job)s))
      AND (ticket, tie) > (%(ticket)s, %(tie)s)
    ORDER BY ticket, tie LIMIT %(most)s
), before AS MATERIALIZED (
    SELECT {ahead} AS people
    FROM (SELECT ticket, tie FROM page ORDER BY ticket, tie LIMIT 1) first, jobs_job job
    WHERE job.id = %(job)s AND NOT {awaits_draw}
)
{seen} ORDER BY seen.ticket, seen.tie
""".format(  # noqa: S608
    ahead=count_people_ahead("first.ticket", "first.tie"),
    awaits_draw=_AWAITS_DRAW,
    seen=_SEEN.format(
        source="page",
        position="CASE WHEN seen.verify_by IS NULL THEN (SELECT people FROM before)"
        " + count(*) FILTER (WHERE seen.verify_by IS NULL) OVER (ORDER BY seen.ticket, seen.tie)"
        " END",
    ),
)

# The data that the row of an application that was just changed lacks.
STANDING = PreparedStatement(f"""
SELECT {_WAITING}, job.max_decays,
       CASE WHEN NOT {_AWAITS_DRAW}
            THEN {count_people_ahead("%(ticket)s::bigint", "%(tie)s::bigint")} + 1 END, {_NOW}
FROM jobs_job job WHERE job.id = %(job)s
""")  # noqa: S608


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
    review_target_seconds: int | None = None
    working_hours: dict[str, Any] | None = None
    status: str = ""
    source: str | None = None


APPLICATION_FACTS = PreparedStatement(
    f"""
SELECT own.id, own.job_id, job.company_id, own.applicant_id, posting.title, person.email,
       reference.external_id, reference.metadata, job.is_test,
       posting.review_target_seconds, {REVIEW_HOURS}, own.status, {CAME_FROM.format("own.id")}
FROM pipeline_application own
JOIN jobs_job job ON job.id = own.job_id
JOIN jobs_jobposting posting ON posting.job_id = own.job_id
JOIN applicants_applicant person ON person.id = own.applicant_id
LEFT JOIN pipeline_applicationreference reference ON reference.application_id = own.id
WHERE own.id = %(application)s
""",  # noqa: S608  a constant
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
    found = ONE.first(application=application_id)
    if found is None:
        raise ApplicationNotFound
    return found


def see_changed(facts: ApplicationFacts, application: Application) -> SeenApplication:
    """Complete an application that a service has just returned, in at most one query.

    The change already knows the rest. Only the position of a waiting person is counted, unless the
    change itself has done so.
    """
    standing = application.standing
    waits = application.ticket is not None and application.is_verified
    if standing is None or (waits and standing.position is None):
        place = {"ticket": application.ticket, "tie": application.tie}
        [(waiting, max_decays, position, now)] = STANDING.all(job=application.job_id, **place)
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
        review_target_seconds=facts.review_target_seconds,
        working_hours=facts.working_hours,
        source=facts.source,
    )


def find_position(job_id: UUID, ticket: int, tie: int) -> int:
    """Return the position that a place in a job's line would have now, in one query."""
    [(_, _, position, _)] = STANDING.all(job=job_id, ticket=ticket, tie=tie)
    return int(position)


def read_person(
    applicant_id: UUID, *, company_id: UUID | None = None, after: UUID | None, limit: int
) -> Page[SeenApplication]:
    """Return a person's applications, newest first, in one query.

    With a company, only applications to its jobs are returned.
    """
    whose = {"applicant": applicant_id, "company": company_id}
    return Page.cut(read_page(OF_PERSON, **whose, after=after, most=limit + 1), limit)


class Front(NamedTuple):
    """Everyone who holds one of a job's seats, and the front of its waitlist."""

    active: list[SeenApplication]
    pending: list[SeenApplication]
    waitlist: Page[SeenApplication]


def read_front(job_id: UUID, job: PreparedStatement[J], *, limit: int) -> tuple[list[J], Front]:
    """Return the rows of a statement about a job, and its people, as of one instant in one trip.

    Active people come longest first, pending ones by deadline, the waitlist in order.
    """
    ticket, tie = BEFORE_THE_FIRST
    jobs, active, pending, waiting = run_statements(
        [job, ACTIVE, PENDING, prepare_page(QUEUE, limit + 1)],
        {"job": job_id, "ticket": ticket, "tie": tie},
        snapshot=True,
    )
    return jobs, Front(active, pending, Page.cut(waiting, limit))


def read_queue(
    job_id: UUID, *, after: tuple[int, int] = BEFORE_THE_FIRST, limit: int
) -> Page[SeenApplication]:
    """Return the waitlist of a job after a (ticket, tie), in order, in one query."""
    ticket, tie = after
    rows = read_page(QUEUE, job=job_id, ticket=ticket, tie=tie, most=limit + 1)
    return Page.cut(rows, limit)


def find_many(ids: Collection[UUID]) -> dict[UUID | None, SeenApplication]:
    """Return some applications by id, without positions, in one query."""
    return {seen.application.id: seen for seen in FOUND.all(applications=list(ids))}


def find_external_id(company_id: UUID, external_id: str) -> list[SeenApplication]:
    """Return a company's application with its own id, in a list, or an empty one. One query."""
    return ATTACHED.all(company=company_id, external_id=external_id)


def read_page(statement: str, *, most: int, **parameters: Any) -> list[SeenApplication]:
    """Return up to `most` applications that a statement finds.

    The page length is part of the statement's text: otherwise PostgreSQL would plan for a tenth of
    the line and read whole tables. There are few lengths, so few texts are prepared.
    """
    return prepare_page(statement, most).all(**parameters)[:most]


def prepare_page(statement: str, most: int) -> PreparedStatement[SeenApplication]:
    """Return the statement that finds a page of at least `most` applications."""
    length = page_length(most)
    return prepare_seen_applications(statement.replace("%(most)s", str(length)))


def page_length(most: int) -> int:
    """Return the length of the page that is read for at least `most` applications."""
    return next((each for each in _PREPARED_LENGTHS if each >= most), most)


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


def read_my_states(applicant_id: UUID) -> list[MyApplicationState]:
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


def read_mine(applicant_id: UUID, *, events: int) -> tuple[list[Mine], list[EventOfJob]]:
    """Return a person's latest applications and events, both newest first.

    At most `events` events. All as of one instant, in three queries.
    """
    with snapshot():
        seen = read_person(applicant_id, after=None, limit=MOST_APPLICATIONS).rows
        applications = [each.application for each in seen]
        jobs = Job.objects.select_related("posting", "company", "removed_log").in_bulk(
            {each.job_id for each in applications}
        )
        last = Event.objects.filter(application_id__in=[each.id for each in applications])
        newest = list(last.order_by("-at", "-job_id", "-seq")[:events])
    mine = [Mine(each, jobs[each.application.job_id]) for each in seen]
    return mine, [EventOfJob(event, jobs[event.job_id]) for event in newest]


def find_live(applicant_id: UUID, job_id: UUID) -> UUID | None:
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


def count_extensions(application: Application | ApplicationRow, by: ActorKind | None = None) -> int:
    """Count how often the deadline of an application's open offer was extended, or by whom.

    This takes two queries, or none if it was not.
    """
    if not application.deadline_extended:
        return 0
    extensions = Event.objects.filter(
        application_id=application.id,
        event=EventType.DEADLINE_EXTENDED,
        seq__gt=my_current_offer(application.id) or 0,
    )
    return (extensions.filter(actor_kind=by) if by else extensions).count()


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
    return PreparedStatement(text)


# Reads of companies' decisions on applications.


class Decision(NamedTuple):
    """A company's decision: the log holds the code of its reason, but not its note and text.

    The person reads the text, but not the note.
    """

    outcome: str
    reason: str | None
    note: str | None
    text: str | None
    actor_kind: str
    actor_id: UUID | None
    seq: int
    at: datetime


def last_decisions(application_ids: Collection[UUID]) -> dict[UUID, Decision]:
    """Return the last decision on each application that has one, in two queries."""
    kept = DecisionNote.objects.filter(application_id__in=application_ids)
    notes = {(note.application_id, note.seq): note.text for note in kept}
    events = Event.objects.filter(application_id__in=application_ids, event=EventType.REMOVED)
    events = events.annotate(text=DecisionText.of_event())
    return {
        event.application_id: Decision(
            outcome=str(event.outcome),
            reason=event.data.get("reason"),
            note=notes.get((event.application_id, event.seq)),
            text=event.text,
            actor_kind=event.actor_kind,
            actor_id=event.actor_id,
            seq=event.seq,
            at=event.at,
        )
        for event in events.order_by("seq")
        if event.application_id
    }
