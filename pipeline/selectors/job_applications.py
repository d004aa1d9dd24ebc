"""Lists of a job's applications, filtered and sorted, bounded however many there are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple
from uuid import UUID

from pipeline.domain.states import ActorKind, Outcome, Status
from pipeline.selectors import applications
from pipeline.selectors.applications import (
    SEEN_UNPLACED,
    SeenApplication,
    marked_candidate_sql,
    prepare_seen_applications,
    rarest_mark,
)
from pipeline.selectors.people import BEFORE_ALL, NamePlace, search_names
from tasks.sql.prepared import PreparedStatement

# How many applications are searched for one page, if a filter has no index of its own.
CANDIDATES = 5_000
# The number of applications up to which a total counts.
MOST_COUNTED = 10_000

# What the index of the list knows of an application: how it ended, else its status.
_LIVE = tuple(status.value for status in Status if status is not Status.INACTIVE)
_ENDED = tuple(outcome.value for outcome in Outcome)

_LOWEST, _HIGHEST = UUID(int=0), UUID(int=2**128 - 1)


class ReviewFilter(StrEnum):
    """State of a review, for filters."""

    OVERDUE = "overdue"


class ListOrder(NamedTuple):
    """Order of a list: by a time, then by id."""

    column: str
    descending: bool


ORDERS = {
    f"{'-' * descending}{column}": ListOrder(column, descending)
    for column in ("applied_at", "ended_at")
    for descending in (False, True)
}
USUAL_ORDER = "-applied_at"


class ListPlace(NamedTuple):
    """Place in a list: after this time and id."""

    moment: datetime
    id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedJobApplications:
    """Conditions that all applications of a list fulfil. A time range excludes its end."""

    status: Status | None = None
    outcome: Outcome | None = None
    applied_after: datetime | None = None
    applied_before: datetime | None = None
    ended_after: datetime | None = None
    ended_before: datetime | None = None
    min_decay_count: int | None = None
    verified: bool | None = None
    tag: str | None = None
    external_id: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    assignee: UUID | None = None
    # Only people in a cool-down.
    cooling: bool = False
    # Only people in review since then, or longer.
    in_review_since: datetime | None = None
    # By whom the application was made: the applicant or the company.
    source: ActorKind | None = None
    # The source of the link that led to it, in lower case; empty: no link did.
    came_from: str | None = None

    @property
    def states(self) -> list[str]:
        """Return the parts of the list's index that these conditions leave."""
        if self.in_review_since:
            return [Status.ACTIVE.value] if self.status in (None, Status.ACTIVE) else []
        states = _ENDED if self.status is Status.INACTIVE else (*_LIVE, *_ENDED)
        if self.status not in (None, Status.INACTIVE):
            states = (self.status.value,)
        return [each for each in states if self.outcome is None or each == self.outcome.value]

    def needs_search(self, order: ListOrder) -> bool:
        """Tell whether a condition is left that the index in this order does not know."""
        other_times = (
            (self.ended_after, self.ended_before)
            if order.column == "applied_at"
            else (self.applied_after, self.applied_before)
        )
        rest = (
            *(self.min_decay_count, self.verified, self.external_id, *other_times),
            *(self.tag, self.assignee, self.cooling or None, self.source, self.in_review_since),
            self.came_from,
        )
        return bool(self.metadata) or any(each is not None for each in rest)

    def parameters(self) -> dict[str, Any]:
        """Return the values of the conditions' parameters."""
        return {
            "states": self.states,
            "applied_after": self.applied_after,
            "applied_before": self.applied_before,
            "ended_after": self.ended_after,
            "ended_before": self.ended_before,
            "decays": self.min_decay_count,
            "verified": self.verified,
            "tag": self.tag,
            "external_id": self.external_id,
            "metadata": json.dumps(dict(self.metadata)) if self.metadata else None,
            "assignee": self.assignee,
            "cooling": self.cooling,
            "source": self.source,
            "came_from": self.came_from,
            "in_review_since": self.in_review_since,
        }


class ListedPage(NamedTuple):
    """A page of a list, and the place after which the next one starts; None on the last page.

    The page may be shorter than requested even if there is a next one.
    """

    rows: list[SeenApplication]
    next: ListPlace | NamePlace | None


class Total(NamedTuple):
    """The number of applications in a list, at most MOST_COUNTED; `exact` if it is all of them."""

    people: int
    exact: bool


_CONDITIONS = """
    own.applied_at >= coalesce(%(applied_after)s::timestamptz, '-infinity')
    AND own.applied_at < coalesce(%(applied_before)s::timestamptz, 'infinity')
    AND (%(ended_after)s::timestamptz IS NULL OR own.ended_at >= %(ended_after)s::timestamptz)
    AND (%(ended_before)s::timestamptz IS NULL OR own.ended_at < %(ended_before)s::timestamptz)
    AND (%(decays)s::int IS NULL OR own.decay_count >= %(decays)s::int)
    AND (%(verified)s::bool IS NULL OR (own.verify_by IS NULL) = %(verified)s::bool)
    AND (%(tag)s::text IS NULL OR EXISTS (
        SELECT FROM pipeline_applicationtag tagged
        WHERE tagged.application_id = own.id AND tagged.word = %(tag)s::text))
    AND (%(external_id)s::text IS NULL AND %(metadata)s::jsonb IS NULL OR EXISTS (
        SELECT FROM pipeline_applicationreference attached WHERE attached.application_id = own.id
          AND (%(external_id)s::text IS NULL OR attached.external_id = %(external_id)s::text)
          AND (%(metadata)s::jsonb IS NULL OR attached.metadata @> %(metadata)s::jsonb)))
    AND (%(assignee)s::uuid IS NULL OR EXISTS (
        SELECT FROM pipeline_applicationassignee assigned
        WHERE assigned.application_id = own.id AND assigned.user_id = %(assignee)s::uuid))
    AND (%(in_review_since)s::timestamptz IS NULL
         OR own.status_since <= %(in_review_since)s::timestamptz)
    AND (NOT %(cooling)s::bool
         OR own.status = 'WAITLIST' AND own.eligible_at > statement_timestamp() + make_interval(
            secs => (SELECT clock_offset_seconds FROM jobs_job WHERE id = own.job_id)))
    AND (%(source)s::text IS NULL OR %(source)s::text = (
        SELECT actor_kind FROM pipeline_event applied WHERE applied.application_id = own.id
        ORDER BY applied.seq LIMIT 1))
    AND (%(came_from)s::text IS NULL OR CASE WHEN %(came_from)s::text = '' THEN NOT EXISTS (
        SELECT FROM pipeline_applicationsource link WHERE link.application_id = own.id)
        ELSE EXISTS (SELECT FROM pipeline_applicationsource link
            WHERE link.application_id = own.id AND link.source = %(came_from)s::text) END)
"""

# The first applications after a place, read from the index: a few for each state, then merged.
_CANDIDATE = """
    SELECT found.* FROM unnest(%(states)s::text[]) AS state CROSS JOIN LATERAL (
        SELECT * FROM pipeline_application own
        WHERE own.job_id = %(job)s AND coalesce(own.outcome, own.status) = state{ended}
          AND (own.{column}, own.id) {beyond} (%(moment)s::timestamptz, %(id)s::uuid)
          AND own.{column} >= coalesce(%({name}_after)s::timestamptz, '-infinity')
          AND own.{column} < coalesce(%({name}_before)s::timestamptz, 'infinity')
        ORDER BY own.{column} {direction}, own.id {direction} LIMIT {candidates}
    ) found ORDER BY found.{column} {direction}, found.id {direction} LIMIT {candidates}
"""

_PAGE = (
    """
WITH candidate AS MATERIALIZED ({candidate}), page AS MATERIALIZED (
    SELECT own.* FROM candidate own WHERE {conditions}
    ORDER BY own.{column} {direction}, own.id {direction} LIMIT {most}
)
"""  # noqa: S608  column names
    + SEEN_UNPLACED.format(source="page")
    + " ORDER BY seen.{column} {direction}, seen.id {direction}"
)

# The last candidate, if there are as many as are searched for one page.
_EDGE = """
SELECT {column}, id FROM ({candidate}) candidate
ORDER BY {column} {direction}, id {direction} OFFSET {candidates} - 1 LIMIT 1
"""

_TOTAL = """
SELECT count(*) FILTER (WHERE {conditions}), count(*) FROM ({candidate}) own
"""

_MATCHING = f"""
SELECT own.id FROM pipeline_application own
WHERE own.id = ANY(%(ids)s::uuid[]) AND coalesce(own.outcome, own.status) = ANY(%(states)s::text[])
  AND {_CONDITIONS}
"""  # noqa: S608  constants of this module


def list_page(
    job_id: UUID,
    filters: WantedJobApplications,
    *,
    order: ListOrder,
    after: ListPlace | None,
    limit: int,
) -> ListedPage:
    """Return a page of a job's applications, without positions, in one to three queries.

    At most CANDIDATES applications are searched, so a page may be short although others follow.
    """
    values = filters.parameters() | _listed_place_values(job_id, order, after)
    mark = rarest_mark(job_id, **values)
    most = applications.page_length(limit + 1)
    page, edge = list_statements(order, most, filters.needs_search(order), mark)
    rows = prepare_seen_applications(page).all(**values)
    if len(rows) > limit:
        last = rows[limit - 1].application
        return ListedPage(rows[:limit], ListPlace(getattr(last, order.column), last.id))
    if not edge:
        return ListedPage(rows, None)
    found = _prepare(edge).first(**values)
    return ListedPage(rows, ListPlace(*found) if found else None)


def search_page(
    company_id: UUID,
    job_id: UUID,
    search: str,
    filters: WantedJobApplications,
    *,
    after: NamePlace | None,
    limit: int,
) -> ListedPage:
    """Return a page of a job's applications by name, in the order of the matched words.

    In three queries. A page may be short although others follow.
    """
    found = search_names(company_id, search, job_id=job_id, after=after or BEFORE_ALL, limit=limit)
    ids = [each.application.id for each in found.rows]
    rows = _prepare(_MATCHING).all(ids=ids, **filters.parameters())
    matching = {id_ for (id_,) in rows}
    return ListedPage([row for row in found.rows if row.application.id in matching], found.next)


def count(job_id: UUID, filters: WantedJobApplications, order: ListOrder) -> Total:
    """Return the number of applications that a list in this order has in all, in few queries.

    Beyond MOST_COUNTED, only the newest are searched: that many at least.
    """
    order = order._replace(descending=True)
    values = filters.parameters() | _listed_place_values(job_id, order, None)
    candidate = _listed_candidate_sql(order, MOST_COUNTED + 1, rarest_mark(job_id, **values))
    statement = _TOTAL.format(candidate=candidate, conditions=_CONDITIONS)
    [(count, searched)] = _prepare(statement).all(**values)
    return Total(min(count, MOST_COUNTED), exact=searched <= MOST_COUNTED)


@cache
def list_statements(order: ListOrder, most: int, searches: bool, mark: str = "") -> tuple[str, str]:
    """Return the statements for a page and, if a search may end early, for where it ended."""
    candidates = CANDIDATES if searches else most
    values = {
        "candidate": _listed_candidate_sql(order, candidates, mark),
        "conditions": _CONDITIONS,
        "column": order.column,
        "direction": "DESC" if order.descending else "ASC",
        "candidates": candidates,
        "most": most,
    }
    return _PAGE.format(**values), _EDGE.format(**values) if searches and not mark else ""


def _listed_candidate_sql(order: ListOrder, candidates: int, mark: str) -> str:
    beyond = "<" if order.descending else ">"
    if mark:
        return marked_candidate_sql(mark, column=order.column, beyond=beyond)
    return _CANDIDATE.format(
        column=order.column,
        name=order.column.removesuffix("_at"),
        direction="DESC" if order.descending else "ASC",
        beyond=beyond,
        ended=" AND own.status = 'INACTIVE'" if order.column == "ended_at" else "",
        candidates=candidates,
    )


@cache
def _prepare(text: str) -> PreparedStatement[Any]:
    return PreparedStatement(text)


def _listed_place_values(job_id: UUID, order: ListOrder, after: ListPlace | None) -> dict[str, Any]:
    start = ("infinity", _HIGHEST) if order.descending else ("-infinity", _LOWEST)
    moment, id_ = (after.moment.isoformat(), after.id) if after else start
    return {"job": job_id, "moment": moment, "id": id_}
