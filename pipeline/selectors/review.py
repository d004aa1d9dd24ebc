"""Reads for review: waiting decisions, contests and annotations."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from pipeline.domain.contests import CONTEST_WITHIN, CONTESTABLE, ContestReason
from pipeline.domain.permissions import Action
from pipeline.domain.states import EventType, Status
from pipeline.line.clock import read_company_clock
from pipeline.models import (
    Application,
    ApplicationAssignee,
    ApplicationLink,
    ApplicationNote,
    ApplicationRow,
    ApplicationTag,
    Contest,
    DecisionItem,
    Event,
    PendingDecision,
)
from pipeline.selectors.members import members_allowed
from pipeline.selectors.pages import Page
from pipeline.wording.events import CONTEST_REASON_WORDS

# Decisions of a job that its pages show, and that the list of them shows.
MOST_SHOWN, MOST_LISTED = 10, 200
# Those that are open, and for ten minutes those that were refused for a person.
_SHOWN = """
    job_id = %(job)s AND (finished_at IS NULL OR refused > 0 AND undone_by IS NULL
        AND finished_at > statement_timestamp() - interval '10 minutes')
"""

# A text that changes whenever other decisions are to be shown; empty if none are.
DECISIONS_STAMP = f"""
coalesce((SELECT string_agg(id::text || (finished_at IS NULL)::text, ' ' ORDER BY id)
          FROM pipeline_pendingdecision WHERE {_SHOWN}), '')
"""  # noqa: S608  a constant of this module

_OPEN = "FILTER (WHERE item.state IN ('WAITING', 'DECIDING'))"
_REFUSED = "FILTER (WHERE item.state = 'REFUSED')"
_DECISIONS = f"""
SELECT decision.id, decision.outcome, decision.reason, decision.text,
       coalesce(decision.close_job, false),
       decision.due_at,
       decision.finished_at,
       coalesce(nullif(decider.name, ''), decider.email, ''),
       coalesce((array_agg(person.name ORDER BY item.number) {_OPEN})[:3], '{{}}'),
       coalesce((array_agg(person.name ORDER BY item.number) {_REFUSED})[:3], '{{}}'),
       count(*) {_OPEN}, count(*) {_REFUSED}, count(*),
       count(*) FILTER (WHERE item.state IN ('WAITING', 'DECIDING')
                        AND person.status IN ('ACTIVE', 'PENDING_ACKNOWLEDGMENT')),
       statement_timestamp()
FROM (SELECT * FROM pipeline_pendingdecision
      WHERE {_SHOWN}
      ORDER BY (finished_at IS NULL) DESC, created_at DESC, id LIMIT %(most)s) decision
JOIN pipeline_decisionitem item ON item.decision_id = decision.id
JOIN pipeline_application person ON person.id = item.application_id
LEFT JOIN jobs_user decider ON decider.id = decision.decided_by
GROUP BY decision.id, decision.outcome, decision.reason, decision.text,
         decision.close_job, decision.due_at, decision.finished_at, decider.name, decider.email
ORDER BY decision.due_at, decision.id
"""  # noqa: S608  constants of this module


@dataclass(frozen=True, slots=True)
class ShownPendingDecision:
    """Decision for a job's pages: people for whom it waits, and people for whom it was refused."""

    id: UUID
    outcome: str
    reason: str
    text: str  # that the people will read; empty once it has reached them
    closes_job: bool  # if it fills the last position
    due_at: datetime
    finished_at: datetime | None
    decided_by: str
    waiting_names: list[str]  # the first three
    refused_names: list[str]  # the first three
    waiting: int
    refused: int
    total: int
    seats: int  # of the people for whom it waits: as many become free
    now: datetime

    @property
    def is_open(self) -> bool:
        """Tell whether it has not taken effect on everyone."""
        return self.finished_at is None


def shown_pending_decisions(job_id: UUID, *, most: int = MOST_SHOWN) -> list[ShownPendingDecision]:
    """Return the decisions that a job's pages show, latest due last, in one query.

    If there are many, the open ones come first, then the latest.
    """
    with connection.cursor() as cursor:
        cursor.execute(_DECISIONS, {"job": job_id, "most": most})
        return [ShownPendingDecision(*row) for row in cursor.fetchall()]


class AwaitedDecision(NamedTuple):
    """Decision on an application that has not taken effect: its id, outcome and time."""

    id: UUID
    outcome: str
    due_at: datetime


def read_awaited_decisions(
    *, job_id: UUID | None = None, application_ids: Collection[UUID] | None = None
) -> dict[UUID, AwaitedDecision]:
    """Return the applications to a job, or some, on which a decision is pending, in one query."""
    items = DecisionItem.objects.filter(state__in=["WAITING", "DECIDING"])
    if job_id:
        items = items.filter(decision__job_id=job_id, decision__finished_at=None)
    if application_ids is not None:
        items = items.filter(application_id__in=application_ids)
    about = ("decision_id", "decision__outcome", "decision__due_at")
    rows = items.values_list("application_id", *about)
    return {application_id: AwaitedDecision(*row) for application_id, *row in rows}


def read_pending_decision(decision_id: UUID) -> PendingDecision | None:
    """Return a decision with its job's company, or None."""
    return PendingDecision.objects.select_related("job").filter(id=decision_id).first()


def pending_decision_items(decision_id: UUID) -> list[DecisionItem]:
    """Return the people whom a decision is about, with their applications, in its order."""
    items = DecisionItem.objects.filter(decision_id=decision_id).select_related("application")
    return list(items.order_by("number"))


def find_pending_decision(application_id: UUID) -> PendingDecision | None:
    """Return the decision on an application that has not taken effect yet, in one query."""
    waiting = DecisionItem.objects.filter(
        application_id=application_id, state__in=["WAITING", "DECIDING"]
    )
    item = waiting.select_related("decision").first()
    return item.decision if item else None


class Neighbours(NamedTuple):
    """People before and after a person in the same list of a job's pipeline, if any."""

    before: UUID | None
    after: UUID | None
    number: int | None = None  # place in the list; None on the waitlist, where a position says it


# The columns of each list's order, from an index.
_LISTS = {
    Status.ACTIVE: ("status_since", "id"),
    Status.PENDING_ACKNOWLEDGMENT: ("acknowledge_by", "id"),
    Status.WAITLIST: ("ticket", "tie"),
}
_NEIGHBOUR = """(
    SELECT id FROM pipeline_application other
    WHERE other.job_id = %(job)s AND other.status = '{status}'
      AND ({first}, {second}) {beyond} (%(first)s, %(second)s) AND NOT EXISTS (
          SELECT FROM pipeline_decisionitem item
          WHERE item.application_id = other.id AND item.state IN ('WAITING', 'DECIDING'))
    ORDER BY {first} {direction}, {second} {direction} LIMIT 1)"""
_NUMBER = """(
    SELECT count(*) + 1 FROM pipeline_application other
    WHERE other.job_id = %(job)s AND other.status = '{status}'
      AND ({first}, {second}) < (%(first)s, %(second)s))"""


def find_neighbours(application: Application | ApplicationRow) -> Neighbours:
    """Return the people before and after one, without those on whom a decision is pending.

    In one query. A person whose application has ended has no neighbours.
    """
    columns = _LISTS.get(Status(application.status))
    if columns is None:
        return Neighbours(None, None)
    names = {"status": application.status, "first": columns[0], "second": columns[1]}
    before, after = (
        _NEIGHBOUR.format(**names, beyond=beyond, direction=direction)
        for beyond, direction in (("<", "DESC"), (">", "ASC"))
    )
    holds_seat = Status(application.status).holds_seat
    number = _NUMBER.format(**names) if holds_seat else "NULL"
    first, second = (getattr(application, column) for column in columns)
    with connection.cursor() as cursor:
        values = {"job": application.job_id, "first": first, "second": second}
        cursor.execute(f"SELECT {before}, {after}, {number}", values)
        return Neighbours(*cursor.fetchone())


# Reads of contests: requests to look again, and their answers.


class ContestState(StrEnum):
    """State of a contest, for filters. An overdue one is open, too."""

    OPEN = "OPEN"
    OVERDUE = "OVERDUE"
    ANSWERED = "ANSWERED"


class ShownContest(NamedTuple):
    """Contest with what its page and lists say about it."""

    row: Contest
    is_overdue: bool
    reason: str

    @classmethod
    def of_contest(cls, row: Contest, now: datetime) -> ShownContest:
        """Describe a contest at a time of the company's clock."""
        reason = str(CONTEST_REASON_WORDS[ContestReason(row.reason)]) if row.reason else ""
        return cls(row, row.is_overdue(now), reason)


def shown_contests(application_id: UUID, now: datetime) -> list[ShownContest]:
    """Return the contests of an application as pages show them, newest first."""
    return [ShownContest.of_contest(row, now) for row in read_application_contests(application_id)]


def read_application_contests(application_id: UUID) -> list[Contest]:
    """Return the contests of an application, newest first."""
    return list(Contest.objects.filter(application_id=application_id).order_by("-seq"))


def read_company_contests(
    company_id: UUID,
    *,
    state: ContestState | None = None,
    application_id: UUID | None = None,
    among: Collection[UUID] | None = None,
    after: tuple[datetime, UUID] | None = None,
    limit: int,
) -> Page[Contest]:
    """Return a page of the contests of a company or of one application to it, newest first.

    `after`: the time and id of the last contest of the page before. `among`: only of these jobs.
    """
    rows = Contest.objects.filter(company_id=company_id).order_by("-asked_at", "-id")
    if among is not None:
        rows = rows.filter(job_id__in=among)
    if application_id:
        rows = rows.filter(application_id=application_id)
    if state is ContestState.ANSWERED:
        rows = rows.exclude(answer="")
    elif state:
        rows = rows.filter(answer="")
    if state is ContestState.OVERDUE:
        rows = rows.filter(answer_by__lte=read_company_clock(company_id).now)
    if after:
        asked_at, last_id = after
        rows = rows.filter(Q(asked_at__lt=asked_at) | Q(asked_at=asked_at, id__lt=last_id))
    wanted = rows.select_related("application__applicant", "job__posting")
    return Page.cut(list(wanted[: limit + 1]), limit)


def open_company_contests(company_id: UUID) -> QuerySet[Contest]:
    """Return a company's contests without an answer, the most urgent first."""
    return Contest.objects.filter(company_id=company_id, answer="").order_by("answer_by", "id")


def contests_cache_tag(contests: Collection[Contest], now: datetime) -> str:
    """Return a text that changes whenever one of these contests does, or becomes overdue."""
    return ",".join(f"{each.id.hex[-8:]}{each.answer}{each.is_overdue(now):d}" for each in contests)


def contest_deadline(
    application: Application | ApplicationRow, contests: Collection[Contest], now: datetime
) -> datetime | None:
    """Return until when the owner can ask to look again; None if they cannot."""
    ended = application.ended_at
    if application.outcome not in CONTESTABLE or not application.is_verified or ended is None:
        return None
    until: datetime = ended + CONTEST_WITHIN
    # One that was made since the application ended concerns this decision.
    is_contested = any(each.asked_at >= ended for each in contests)
    return None if is_contested or until <= now else until


def contest_decider(contest: Contest) -> UUID | None:
    """Return the member or key whose decision is contested; None for a missed deadline."""
    end = Event.objects.filter(job_id=contest.job_id, seq=contest.contested_seq)
    return end.values_list("actor_id", flat=True).first()


def read_contest_texts(rows: QuerySet[Application]) -> dict[UUID, list[dict[str, Any]]]:
    """Return what both sides wrote about ends of some applications, oldest first, in one query."""
    names = ("text", "asked_at", "answer_by", "answered_at", "answer", "reason", "answer_text")
    written: dict[UUID, list[dict[str, Any]]] = {}
    for each in Contest.objects.filter(application__in=rows.values("id")).order_by("seq"):
        about = {name: getattr(each, name) or None for name in names}
        written.setdefault(each.application_id, []).append(about)
    return written


def contestable_end(application_id: UUID) -> Event | None:
    """Return the event that last ended an application."""
    ends = (EventType.LAPSED, EventType.REMOVED)
    events = Event.objects.filter(application_id=application_id, event__in=ends)
    return events.order_by("-seq").first()


# Reads of notes, tags, links and assignees of applications.


# Tags that a filter offers.
MOST_TAGS_OFFERED = 100


@dataclass(slots=True)
class Annotations:
    """Notes, newest first, tags, links and the assignee of an application."""

    notes: list[ApplicationNote] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    links: list[ApplicationLink] = field(default_factory=list)
    assignee: str = ""
    assignee_id: UUID | None = None

    @property
    def stamp(self) -> str:
        """Return a text that changes whenever any annotation does."""
        ids = [note.id for note in self.notes], [link.id for link in self.links]
        return f"{ids}{self.tags}{self.assignee_id}"

    def for_the_person(self) -> dict[str, Any]:
        """Return notes, tags and links as the applicant may see them, without members' names."""
        return {
            "notes": [
                {
                    "text": note.text,
                    "written_at": note.written_at,
                    "colleagues_told": len(note.mentions.all()),
                }
                for note in self.notes
            ],
            "tags": self.tags,
            "links": [{"label": link.label, "url": link.url} for link in self.links],
        }


def read_annotations(application_ids: Collection[UUID]) -> dict[UUID, Annotations]:
    """Return the annotations of each application, in four queries, or five if there are notes."""
    condition: dict[str, Any] = {"application_id__in": list(application_ids)}
    found = {application_id: Annotations() for application_id in application_ids}
    for note in (
        ApplicationNote.objects.filter(**condition)
        .select_related("author")
        .prefetch_related("mentions__user")
        .order_by("-id")
    ):
        found[note.application_id].notes.append(note)
    for row_id, word in _read_annotation_tags(condition):
        found[row_id].tags.append(word)
    for link in ApplicationLink.objects.filter(**condition).order_by("id"):
        found[link.application_id].links.append(link)
    for assigned in _annotation_assignees_still_members(condition).select_related("user"):
        found[assigned.application_id].assignee = assigned.user.shown_name
        found[assigned.application_id].assignee_id = assigned.user_id
    return found


def read_row_annotations(application_ids: Collection[UUID]) -> dict[UUID, Annotations]:
    """Return only the tags and the assignee of each application in a list, in two queries."""
    condition: dict[str, Any] = {"application_id__in": list(application_ids)}
    found = {application_id: Annotations() for application_id in application_ids}
    for row_id, word in _read_annotation_tags(condition):
        found[row_id].tags.append(word)
    for row_id, name, email in _annotation_assignees_still_members(condition).values_list(
        "application_id", "user__name", "user__email"
    ):
        found[row_id].assignee = name or email
    return found


def _read_annotation_tags(condition: dict[str, Any]) -> Iterable[tuple[UUID, str]]:
    tags = ApplicationTag.objects.filter(**condition).order_by("word")
    return tags.values_list("application_id", "word")


def _annotation_assignees_still_members(condition: dict[str, Any]) -> QuerySet[ApplicationAssignee]:
    """Return the assignees who may still see the job."""
    team = members_allowed(
        Action.READ_JOB,
        company_id=OuterRef("job__company_id"),
        job_id=OuterRef(OuterRef("job_id")),
    )
    theirs = team.filter(user_id=OuterRef("user_id"))
    return ApplicationAssignee.objects.filter(Exists(theirs), **condition)


# Goes from each tag to the next one in the index, past all applications that have it.
_TAGS_IN_JOB = """
WITH RECURSIVE tag (word) AS (
    (SELECT word FROM pipeline_applicationtag WHERE job_id = %(job)s ORDER BY word LIMIT 1)
    UNION ALL
    SELECT (SELECT word FROM pipeline_applicationtag
            WHERE job_id = %(job)s AND word > tag.word ORDER BY word LIMIT 1)
    FROM tag WHERE tag.word IS NOT NULL
)
SELECT word FROM tag WHERE word IS NOT NULL LIMIT %(most)s
"""


def read_job_tags(job_id: UUID) -> list[str]:
    """Return the first tags that a job's applications have, in one query that reads only these."""
    with connection.cursor() as cursor:
        cursor.execute(_TAGS_IN_JOB, {"job": job_id, "most": MOST_TAGS_OFFERED})
        return [word for (word,) in cursor.fetchall()]
