"""Events of an application, a person or a job, and how positions changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext as _

from jobs.models import MAX_CAPACITY, ApiKey, User
from pipeline.domain.contests import OF_CONTESTS
from pipeline.domain.states import OF_ANSWERS, EventType
from pipeline.domain.verbs import OF_APPLICATIONS, WISHED
from pipeline.line import removed_logs
from pipeline.models import FOUND_BY_KIND, Application, ApplicationRow, Event, RemovedLog
from pipeline.selectors.pages import Page
from pipeline.wording.english import isolated
from pipeline.wording.waiting import PlaceChange

# Reads of a job's log for people: newest first, with each event's effects as a tree.


# How many effects are shown under an event.
TIMELINE_SHOWN = 50
# Limit up to which the effects of closing a job are counted. Other events never have more.
MOST_COUNTED = 10_000


@dataclass(slots=True)
class EventTree:
    """An event and the first of all that followed from it, also the effects of its effects."""

    event: Event
    children: list[Event] = field(default_factory=list)
    # The number of effects; above MOST_COUNTED it only means that there are more.
    total: int = 0

    @property
    def more(self) -> int:
        """Return the number of effects that are not among the children."""
        return self.total - len(self.children)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Filter of a log: one type of event, one application, the effects of one event, or none."""

    event: EventType | None = None
    application_id: UUID | None = None
    cause_seq: int | None = None

    def __bool__(self) -> bool:
        return any((self.event, self.application_id, self.cause_seq))


def read_event_trees(job_id: UUID, *, before: int | None, limit: int) -> Page[EventTree]:
    """Return a page of a job's log before a seq, newest first, in at most five queries.

    Pages are cut at events without a cause, so that each tree is whole. Raises LogArchived.
    """
    closing = _closing_tree_root(job_id)
    roots = _read_roots(job_id, closing, before, limit)
    trees = {event.seq: EventTree(event) for event in roots.rows}
    others = [e for e in roots.rows if closing is None or e.seq < closing.seq]
    if others:  # events after the closing have no effects
        _fill_event_trees(trees, _read_effects(job_id, others))
    if closing and closing.seq in trees:
        most = MOST_COUNTED + TIMELINE_SHOWN + 1
        by_closing = {
            "job": job_id,
            "cause": closing.seq,
            "most": most,
            # Decisions on people in review may lie in between.
            "looked_at": most + MAX_CAPACITY,
            "shown": TIMELINE_SHOWN,
        }
        _fill_event_trees(trees, Event.objects.raw(_BY_CLOSING, by_closing))
    return Page(list(trees.values()), roots.more)


def read_wanted_event_trees(
    job_id: UUID, wanted: Wanted, *, before: int | None, limit: int
) -> Page[EventTree]:
    """Return a page of the log that matches a filter, newest first, without trees.

    Takes at most five queries, none of which reads much more of the log than it returns. Raises
    LogArchived.
    """
    events = Event.objects.filter(job_id=job_id)
    if wanted.application_id:
        events = events.filter(application_id=wanted.application_id)
    if wanted.cause_seq:
        events = _effect_query(events, job_id, wanted.cause_seq)
    if wanted.event:
        events = _kind_query(events, job_id, wanted.event, before)
    page = _newest_event_trees(events, before, limit)
    if not page.rows:
        removed_logs.refuse(job_id)
    return Page([EventTree(event) for event in page.rows], page.more)


def read_names(application_ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """Return the name given with each application, in one query."""
    wanted = {each for each in application_ids if each}
    if not wanted:
        return {}
    return dict(Application.objects.filter(id__in=wanted).values_list("id", "name"))


def read_actors(ids: Collection[UUID]) -> dict[UUID, str]:
    """Return staff accounts by name, or else address, and keys by name, in two queries."""
    if not ids:
        return {}
    people = {each.id: each.shown_name for each in User.objects.filter(id__in=ids)}
    keys = ApiKey.objects.filter(id__in=ids).values_list("id", "name")
    words = _("the API key “%(name)s”")
    return people | {key_id: words % {"name": isolated(name)} for key_id, name in keys}


def _closing_tree_root(job_id: UUID) -> Event | None:
    """Return the event that closed a job, if it is closed: the last event of the job itself."""
    last = Event.objects.filter(job_id=job_id, application_id=None).order_by("-seq").first()
    if last is None:
        removed_logs.refuse(job_id)
    return last if last and last.event == EventType.JOB_CLOSED else None


def _read_roots(job_id: UUID, closing: Event | None, before: int | None, limit: int) -> Page[Event]:
    """Read events without a cause. After a closing, the releases it caused are skipped.

    A reinstatement counts as one: its miss or removal may be long past.
    """
    own_root = Q(cause_seq=None) | Q(event=EventType.REINSTATED)
    events = Event.objects.filter(own_root, job_id=job_id)
    if closing is None or (before is not None and before <= closing.seq + 1):
        return _newest_event_trees(events, before, limit)
    own = Event.objects.filter(job_id=job_id, event__in=FOUND_BY_KIND, at__gte=closing.at)
    own = own.annotate(place=F("seq") + 0).filter(place__gt=closing.seq, cause_seq=None)
    if before is not None:
        own = own.filter(place__lt=before)
    rows: list[Event] = list(own.order_by("-place")[: limit + 1])
    rows += _newest_event_trees(events, closing.seq + 1, limit + 1 - len(rows)).rows
    return Page.cut(rows, limit)


def _read_effects(job_id: UUID, roots: list[Event]) -> Iterable[Event]:
    """Read the first effects of each event of a page, newest first."""
    change = {
        "job": job_id,
        "newest": roots[0].seq,
        "at": roots[0].at,
        "oldest": roots[-1].seq,
        "roots": [event.seq for event in roots],
        "shown": TIMELINE_SHOWN,
    }
    return Event.objects.raw(_AT_ONCE, change)


def _effect_query(events: QuerySet[Event], job_id: UUID, cause_seq: int) -> QuerySet[Event]:
    """Read the effects of one event, and their effects.

    They have its time, except those of a closing, and a place that was given back later.
    """
    events = events.filter(seq__gt=cause_seq)
    cause = Event.objects.filter(job_id=job_id, seq=cause_seq).first()
    if cause is None:
        return events.none()
    if cause.event == EventType.JOB_CLOSED:
        return events.filter(cause_seq=cause_seq)
    later = Event.objects.filter(job_id=job_id, seq__gt=cause_seq, at__gt=cause.at)
    end = later.order_by("seq").values_list("seq", flat=True).first()
    at_once = Q(seq__lt=end) if end else Q()
    passed = Event.objects.filter(at_once, job_id=job_id, seq__gt=cause_seq, event=EventType.PASSED)
    passes = passed.exclude(cause_seq=None).order_by("seq").values_list("seq", "cause_seq")
    causes = {cause_seq}
    for seq, cause_of_pass in passes:  # in the order of the log, so that a cause comes first
        causes |= {seq} if cause_of_pass in causes else set()
    if end and cause.event in (EventType.DECAYED, EventType.LAPSED, EventType.REMOVED):
        about = Event.objects.filter(application_id=cause.application_id, seq__gt=cause_seq)
        given_back = about.filter(event=EventType.REINSTATED, cause_seq=cause_seq)
        at_once |= Q(seq__in=list(given_back.values_list("seq", flat=True)))
    return events.filter(at_once, cause_seq__in=causes)


def _kind_query(
    events: QuerySet[Event], job_id: UUID, kind: EventType, before: int | None
) -> QuerySet[Event]:
    """Read events of one type by their index, or in the part of the log that can have any."""
    events = events.filter(event=kind.value)
    if kind in FOUND_BY_KIND:
        if before is not None:
            earlier = Event.objects.filter(job_id=job_id, seq__lt=before).order_by("-seq")
            last = earlier.values_list("at", flat=True).first()
            events = events.filter(at__lte=last) if last else events.none()
        return events.order_by("-at", "-seq")  # `at` never decreases, so the order is that of `seq`
    if kind not in OF_APPLICATIONS:
        return events.filter(application_id=None)
    closing = _closing_tree_root(job_id)
    if kind is EventType.CLOSED_OUT:
        return events.filter(seq__gt=closing.seq) if closing else events.none()
    return events.filter(seq__lt=closing.seq) if closing else events


def _newest_event_trees(events: QuerySet[Event], before: int | None, limit: int) -> Page[Event]:
    if before is not None:
        events = events.filter(seq__lt=before)
    if not events.ordered:
        events = events.order_by("-seq")
    return Page.cut(list(events[: limit + 1]), limit)


def _fill_event_trees(trees: dict[int, EventTree], children: Iterable[Event]) -> None:
    for child in children:
        tree = trees[child.root_seq]  # type: ignore[attr-defined]  # the statement adds it
        tree.children.append(child)
        tree.total = child.total  # type: ignore[attr-defined]  # and this


_COLUMNS = ", ".join(f"e.{field.attname}" for field in Event._meta.concrete_fields)

# The effects of some events. They belong to the same change, which has one time, so the log is read
# only up to the first event with a later time. The only effects that have effects themselves are
# passed turns: the seat goes to the next in line.
_AT_ONCE = f"""
WITH RECURSIVE bound AS (
    SELECT coalesce(min(seq), 9223372036854775807) AS seq FROM (
        SELECT seq FROM pipeline_event
        WHERE job_id = %(job)s AND seq > %(newest)s AND at > %(at)s ORDER BY seq LIMIT 1
    ) next_change
), passes AS MATERIALIZED (
    SELECT seq, cause_seq FROM pipeline_event
    WHERE job_id = %(job)s AND seq > %(oldest)s AND seq < (SELECT seq FROM bound)
      AND event = 'PASSED' AND cause_seq IS NOT NULL
), causes AS (
    SELECT seq, seq AS root_seq FROM unnest(%(roots)s::bigint[]) AS root (seq)
    UNION ALL
    SELECT passes.seq, root_seq FROM causes JOIN passes ON passes.cause_seq = causes.seq
), caused AS (
    SELECT e.seq, root_seq, row_number() OVER effects AS place,
           count(*) OVER (PARTITION BY root_seq) AS total
    FROM pipeline_event e JOIN causes ON causes.seq = e.cause_seq
    WHERE e.job_id = %(job)s AND e.seq > %(oldest)s AND e.seq < (SELECT seq FROM bound)
      AND e.event <> 'REINSTATED'
    WINDOW effects AS (PARTITION BY root_seq ORDER BY e.seq)
)
SELECT {_COLUMNS}, caused.root_seq, caused.total
FROM caused JOIN pipeline_event e ON e.job_id = %(job)s AND e.seq = caused.seq
WHERE caused.place <= %(shown)s ORDER BY e.seq
"""  # noqa: S608

# The people who were closed out, in batches, by the worker: the first of them, and their number,
# counted only so far.
_BY_CLOSING = f"""
WITH caused AS (
    SELECT seq FROM (
        SELECT seq, cause_seq FROM pipeline_event WHERE job_id = %(job)s AND seq > %(cause)s
        ORDER BY seq LIMIT %(looked_at)s
    ) behind WHERE cause_seq = %(cause)s ORDER BY seq LIMIT %(most)s
)
SELECT {_COLUMNS}, e.cause_seq AS root_seq, (SELECT count(*) FROM caused) AS total
FROM (SELECT seq FROM caused ORDER BY seq LIMIT %(shown)s) c
JOIN pipeline_event e ON e.job_id = %(job)s AND e.seq = c.seq ORDER BY e.seq
"""  # noqa: S608


class TimelineMoment(NamedTuple):
    """Place in a person's timeline: after this event. Across jobs, only time gives an order."""

    at: datetime
    job_id: UUID
    seq: int


def read_application_events(application_id: UUID, *, after_seq: int, limit: int) -> Page[Event]:
    """Return an application's events after a seq, oldest first, in one query.

    Raises LogArchived.
    """
    events = Event.objects.filter(application_id=application_id, seq__gt=after_seq)
    rows = list(events.order_by("seq")[: limit + 1])
    if not rows and not after_seq:
        removed_logs.refuse(Application.objects.values_list("job_id").get(id=application_id)[0])
    return Page.cut(rows, limit)


def lacks_events(applicant_id: UUID, *, company_id: UUID) -> bool:
    """Tell whether logs of a person's jobs at a company were removed. Takes one query."""
    theirs = Application.objects.filter(applicant_id=applicant_id, job__company_id=company_id)
    return RemovedLog.objects.filter(job__in=theirs.values("job_id")).exists()


def read_person_events(
    applicant_id: UUID, *, company_id: UUID | None = None, after: TimelineMoment | None, limit: int
) -> Page[Event]:
    """Return a person's events after a moment, oldest first, in one query.

    With a company, only events at its jobs are returned. Events of logs that were removed to the
    archive are left out.

    The order is (`at`, job, `seq`), which within one job is that of `seq`.
    """
    theirs = Application.objects.filter(applicant_id=applicant_id)
    if company_id:
        theirs = theirs.filter(job__company_id=company_id)
    events = Event.objects.filter(application_id__in=theirs.values("id"))
    if after:
        at, job_id, seq = after
        same_job = Q(job_id__gt=job_id) | Q(job_id=job_id, seq__gt=seq)
        events = events.filter(Q(at__gt=at) | Q(same_job, at=at))
    return Page.cut(list(events.order_by("at", "job_id", "seq")[: limit + 1]), limit)


# Reads of a job's log.


_OF_JOBS = frozenset(
    {
        EventType.JOB_CREATED,
        EventType.JOB_OPENED,
        EventType.JOB_PAUSED,
        EventType.JOB_RESUMED,
        EventType.JOB_CLOSED,
        EventType.CAPACITY_CHANGED,
        EventType.POLICY_CHANGED,
        EventType.POSITIONS_CHANGED,
        EventType.DATES_CHANGED,
        EventType.RESERVE_CHANGED,
        EventType.SEATS_KEPT,
        EventType.CLOCK_ADVANCED,
        EventType.DRAWN,
    }
)


def read_job_events(
    job_id: UUID,
    *,
    after_seq: int,
    limit: int,
    application_id: UUID | None = None,
    event: EventType | None = None,
) -> Page[Event]:
    """Return a job's log after a seq, oldest first, in one query.

    The events can be limited to one application or one type. Raises LogArchived.
    """
    events = Event.objects.filter(job_id=job_id, seq__gt=after_seq)
    if application_id:
        events = events.filter(application_id=application_id)
    if event:
        events = events.filter(event=event.value)
    if event in _OF_JOBS:  # few among many, with an index of their own
        events = events.filter(application_id=None)
    rows = list(events.order_by("seq")[: limit + 1])
    if not rows:
        removed_logs.refuse(job_id)
    return Page.cut(rows, limit)


# Read of the reason why a person's place in line last changed.


# How many of a job's last events are searched for the cause, however long the line is.
LOOKED_AT = 200

# The events that moved a place in line, newest first: someone ahead left or was offered a seat,
# someone joined ahead or came back to a former place ahead, or the person joined (the tie of their
# place is that event's seq).
_READ = """
WITH recent AS MATERIALIZED (
    SELECT application_id, seq, cause_seq, event, from_status, to_status, at,
           (data->>'ticket')::bigint AS ticket, (data->>'tie')::bigint AS tie
    FROM pipeline_event
    WHERE job_id = %(job)s AND seq >= %(tie)s
      AND (event <> 'PLACED' OR application_id = %(application)s)  -- a draw places all at once
      AND seq > (SELECT seq FROM jobs_job WHERE id = %(job)s) - %(most)s
)
SELECT recent.event, recent.at, recent.application_id = %(application)s, recent.seq,
       recent.cause_seq
FROM recent
LEFT JOIN LATERAL (
    SELECT (data->>'ticket')::bigint AS ticket, (data->>'tie')::bigint AS tie
    FROM pipeline_event before
    WHERE before.application_id = recent.application_id AND before.seq < recent.seq
      AND before.to_status = 'WAITLIST'
    ORDER BY before.seq DESC LIMIT 1
) stood ON recent.from_status = 'WAITLIST'
WHERE recent.event <> ALL(%(in_place)s::text[])
  AND (recent.application_id = %(application)s
   OR (recent.event NOT IN ('REINSTATED', 'PASSED', 'MOVED_AHEAD')
       AND (stood.ticket, stood.tie) < (%(ticket)s, %(tie)s))
   OR (recent.to_status = 'WAITLIST' AND (recent.ticket, recent.tie) < (%(ticket)s, %(tie)s)
       AND (recent.event NOT IN ('REINSTATED', 'PASSED', 'MOVED_AHEAD')
            OR ((stood.ticket, stood.tie) < (%(ticket)s, %(tie)s)) IS NOT TRUE)))
ORDER BY recent.seq DESC
"""

_LEFT = (EventType.WITHDRAWN, EventType.REMOVED, EventType.CLOSED_OUT)
_CAME = (EventType.VERIFIED, EventType.REINSTATED, EventType.PASSED)


class _MovedPosition(NamedTuple):
    event: EventType
    at: datetime
    own: bool
    seq: int
    cause_seq: int | None

    @property
    def kind(self) -> tuple[object, ...]:
        """Return the key of events that are reported together.

        It hides how other people left the line.
        """
        return (EventType.REMOVED if self.event in _LEFT else self.event, self.at, self.own)


def last_position_change(
    application: Application | ApplicationRow,
) -> PlaceChange | None:
    """Return the last change of a person's place, in one query of at most LOOKED_AT events.

    Returns None if the application does not wait, or if none of these events moved it.
    """
    if application.ticket is None:
        return None
    values: dict[str, Any] = {
        "job": application.job_id,
        "application": application.id,
        "ticket": application.ticket,
        "tie": application.tie,
        "most": LOOKED_AT,
        "in_place": [*WISHED, *OF_CONTESTS, *OF_ANSWERS],
    }
    with connection.cursor() as cursor:
        cursor.execute(_READ, values)
        found = [_MovedPosition(EventType(event), *row) for event, *row in cursor.fetchall()]
    # People who get a place ahead and are offered a seat at the same moment have moved nobody.
    came = {move.seq for move in found if move.event in _CAME and not move.own}
    passing = came & {move.cause_seq for move in found if move.event is EventType.PROMOTED}
    moves = [move for move in found if not passing & {move.seq, move.cause_seq}]
    if not moves:
        return None
    last = next((move for move in moves if move.own and move.at == moves[0].at), moves[0])
    together = [move for move in moves if move.kind == last.kind]
    return PlaceChange(last.event, last.at, len(together), last.own)
