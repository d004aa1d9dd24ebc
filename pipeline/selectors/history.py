"""Reading a job's log as people read it: newest first, and what set what off as a tree."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import QuerySet

from jobs.models import ApiKey, User
from pipeline.models import Application, Event
from pipeline.selectors.reading import Page
from pipeline.states import EventType

SHOWN = 50
"""How many events are shown under the one that set them off."""
MOST_COUNTED = 10_000
"""How far the events that closing a job set off are counted; of others there are never more."""


@dataclass(slots=True)
class Tree:
    """An event and the first events that it set off; these never set off anything themselves."""

    event: Event
    children: list[Event] = field(default_factory=list)
    total: int = 0
    """How many it set off; above MOST_COUNTED it only says that there are more."""

    @property
    def more(self) -> int:
        """How many are not among the children."""
        return self.total - len(self.children)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a log to show: of one kind, about one application, set off by one event; or all."""

    event: EventType | None = None
    application_id: UUID | None = None
    cause_seq: int | None = None

    def __bool__(self) -> bool:
        return any((self.event, self.application_id, self.cause_seq))


def trees_of(job_id: UUID, *, before: int | None, limit: int) -> Page[Tree]:
    """A page of the log in front of a seq, newest first, in at most three queries.

    Paged by the events that nothing set off, so that each tree is whole.
    """
    roots = _newest(Event.objects.filter(job_id=job_id, cause_seq=None), before, limit)
    trees = {event.seq: Tree(event) for event in roots.rows}
    closings = [tree for tree in trees.values() if tree.event.event == EventType.JOB_CLOSED]
    others = [tree.event for tree in trees.values() if tree not in closings]
    if others:
        _hang(trees, _set_off_at_once(job_id, others))
    for closing in closings:
        _hang(trees, _set_off_by_closing(job_id, closing.event.seq))
    return Page(list(trees.values()), roots.more)


def some_of(job_id: UUID, wanted: Wanted, *, before: int | None, limit: int) -> Page[Tree]:
    """A page of what is wanted of the log, newest first, each event for itself, in one query."""
    events = Event.objects.filter(job_id=job_id)
    if wanted.event:
        events = events.filter(event=wanted.event.value)
    if wanted.application_id:
        events = events.filter(application_id=wanted.application_id)
    if wanted.cause_seq:
        events = events.filter(cause_seq=wanted.cause_seq, seq__gt=wanted.cause_seq)
    page = _newest(events, before, limit)
    return Page([Tree(event) for event in page.rows], page.more)


def names_of(application_ids: Iterable[UUID | None]) -> dict[UUID, str]:
    """The name that was given with each application, in one query."""
    wanted = {each for each in application_ids if each}
    if not wanted:
        return {}
    return dict(Application.objects.filter(id__in=wanted).values_list("id", "name"))


def applications_named(job_id: UUID, name: str, *, limit: int) -> list[Application]:
    """Applications to a job whose name holds that text in whatever case, newest first."""
    found = Application.objects.filter(job_id=job_id, name__icontains=name)
    return list(found.select_related("applicant").order_by("-id")[:limit])


def actors_of(ids: Collection[UUID]) -> dict[UUID, str]:
    """Who acted for a company: staff accounts by address, keys by name; in two queries."""
    if not ids:
        return {}
    people = User.objects.filter(id__in=ids).values_list("id", "email")
    keys = ApiKey.objects.filter(id__in=ids).values_list("id", "name")
    return dict(people) | {key_id: f"the API key “{name}”" for key_id, name in keys}


def _newest(events: QuerySet[Event], before: int | None, limit: int) -> Page[Event]:
    if before is not None:
        events = events.filter(seq__lt=before)
    return Page.cut(list(events.order_by("-seq")[: limit + 1]), limit)


def _hang(trees: dict[int, Tree], children: Iterable[Event]) -> None:
    for child in children:
        tree = trees[child.cause_seq or 0]
        tree.children.append(child)
        tree.total = child.total  # type: ignore[attr-defined]


_COLUMNS = ", ".join(f"e.{field.attname}" for field in Event._meta.concrete_fields)

_AT_ONCE = f"""
WITH bound AS (
    SELECT coalesce(min(seq), 9223372036854775807) AS seq FROM (
        SELECT seq FROM pipeline_event
        WHERE job_id = %(job)s AND seq > %(newest)s AND at > %(at)s ORDER BY seq LIMIT 1
    ) next_change
), caused AS (
    SELECT seq, row_number() OVER cause AS place,
           count(*) OVER (PARTITION BY cause_seq) AS total
    FROM pipeline_event
    WHERE job_id = %(job)s AND seq > %(oldest)s AND seq < (SELECT seq FROM bound)
      AND cause_seq = ANY(%(causes)s)
    WINDOW cause AS (PARTITION BY cause_seq ORDER BY seq)
)
SELECT {_COLUMNS}, caused.total
FROM caused JOIN pipeline_event e ON e.job_id = %(job)s AND e.seq = caused.seq
WHERE caused.place <= %(shown)s ORDER BY e.seq
"""  # noqa: S608
"""What some events set off. That happens in the same change, which has one time: so the log is
read only up to the first event of a later time."""

_BY_CLOSING = f"""
WITH caused AS (
    SELECT seq FROM pipeline_event
    WHERE job_id = %(job)s AND seq > %(cause)s AND cause_seq = %(cause)s
    ORDER BY seq LIMIT %(most)s
)
SELECT {_COLUMNS}, (SELECT count(*) FROM caused) AS total
FROM (SELECT seq FROM caused ORDER BY seq LIMIT %(shown)s) c
JOIN pipeline_event e ON e.job_id = %(job)s AND e.seq = c.seq ORDER BY e.seq
"""  # noqa: S608
"""Who was closed out, which the worker does in slices: the first of them, and how many, counted
only so far."""


def _set_off_at_once(job_id: UUID, causes: list[Event]) -> Iterable[Event]:
    newest, oldest = causes[0], causes[-1]
    values = {
        "job": job_id,
        "newest": newest.seq,
        "at": newest.at,
        "oldest": oldest.seq,
        "causes": [event.seq for event in causes],
        "shown": SHOWN,
    }
    return Event.objects.raw(_AT_ONCE, values)


def _set_off_by_closing(job_id: UUID, cause_seq: int) -> Iterable[Event]:
    most = MOST_COUNTED + SHOWN + 1
    values = {"job": job_id, "cause": cause_seq, "most": most, "shown": SHOWN}
    return Event.objects.raw(_BY_CLOSING, values)
