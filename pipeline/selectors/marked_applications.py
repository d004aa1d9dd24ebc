"""Applications to a job with a tag or an assignee, by the indexes of tags and assignees."""

from __future__ import annotations

from functools import cache
from typing import Any
from uuid import UUID

from tasks.sql.prepared import PreparedStatement, prepared_row

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
