"""A company's dead letters: read, and replayed under the same rules as starting new work."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection

from pipeline.selectors.pages import Page
from pipeline.work.start import check_type, ids_not_owned, read_limits
from pipeline.work.tasks import owned_tasks
from tasks import dead_letters
from tasks.control import find_task
from tasks.models import Status, Task

# Dead letters of a type are counted up to this number, and one more.
MOST_COUNTED = 1_000


def replay_company_dead_letter(
    *,
    company_id: UUID,
    task_id: UUID,
    actor: str,
    payload: dict[str, Any] | None = None,
    confirmed: bool = False,
    key_id: UUID | None = None,
) -> None:
    """Replay a dead letter of a company, with another payload if one is given.

    Raises what `dead_letters.edit_and_replay` of the engine raises, TypeNotAllowed, and
    InvalidPayload also for ids in the new payload that are not the company's.
    """
    key = find_task(task_id, owner_id=company_id).type.key
    check_type(key, read_limits(key_id))
    how: dict[str, Any] = {"actor": actor, "owner_id": company_id, "confirmed": confirmed}
    if payload is None:
        dead_letters.replay(task_id, **how)
        return
    if foreign := ids_not_owned(company_id, [(key, payload)]):
        raise foreign[0]
    dead_letters.edit_and_replay(task_id, payload, **how)


def replay_company_dead_letters(
    *,
    company_id: UUID,
    key: str,
    actor: str,
    limit: int = 100,
    confirmed: bool = False,
    key_id: UUID | None = None,
) -> int:
    """Replay the oldest dead letters of a type, and return their number.

    Raises UnknownType, TypeNotAllowed, ConfirmationNeeded.
    """
    check_type(key, read_limits(key_id))
    how: dict[str, Any] = {"actor": actor, "owner_id": company_id, "confirmed": confirmed}
    return dead_letters.replay_type(key, limit=limit, **how)


def read_dead_letters(
    company_id: UUID, *, type_key: str | None = None, after: UUID | None = None, limit: int
) -> Page[Task]:
    """Return a company's dead letters with their types, oldest first."""
    found = owned_tasks(company_id, type_key).filter(status=Status.DEAD).order_by("id")
    if after:
        found = found.filter(id__gt=after)
    return Page.cut(list(found[: limit + 1]), limit)


class DeadLettersOfType(NamedTuple):
    """A company's dead letters of a type: their number (up to MOST_COUNTED + 1) and the newest."""

    key: str
    is_sensitive: bool
    number: int
    newest_error: dict[str, str] | None
    newest_at: datetime


_DEAD = """
SELECT k.key, bool_or(k.sensitive), sum(d.count)::int,
       (array_agg(d.error ORDER BY d.at DESC))[1], max(d.at)
FROM tasks_tasktype k CROSS JOIN LATERAL (
    SELECT count(*) AS count, max(finished_at) AS at,
           (array_agg(errors -> -1 ORDER BY finished_at DESC))[1] AS error
    FROM (SELECT finished_at, errors FROM tasks_task
          WHERE status = 'DEAD' AND type_id = k.id AND owner_id = %(owner)s
          ORDER BY id DESC LIMIT %(most)s) newest) d
WHERE d.count > 0 GROUP BY k.key ORDER BY max(d.at) DESC
"""


def group_dead_letters(company_id: UUID) -> list[DeadLettersOfType]:
    """Return the company's dead letters by type, the type with the newest one first."""
    with connection.cursor() as cursor:
        cursor.execute(_DEAD, {"owner": company_id, "most": MOST_COUNTED + 1})
        rows = cursor.fetchall()
    return [
        DeadLettersOfType(key, sensitive, number, json.loads(error) if error else None, at)
        for key, sensitive, number, error, at in rows
    ]
