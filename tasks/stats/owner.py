"""The numbers of one owner's tasks, whose cost does not grow with what it has finished.

What is pending is counted up to 100,000 and what has ended up to 10,000 of each status: a number
that has reached its bound means "so many or more".
"""

from __future__ import annotations

from uuid import UUID

from django.db import connection

MOST_PENDING, MOST_ENDED = 100_000, 10_000

_PENDING = """(SELECT type_id, priority, run_after FROM tasks_task
 WHERE owner_id = %(owner)s AND status = 'PENDING' LIMIT %(most)s) t"""

_COUNTS = """
SELECT s.status, (SELECT count(*) FROM (
    SELECT FROM tasks_task t WHERE t.owner_id = %(owner)s AND t.status = s.status LIMIT s.most) t)
FROM (VALUES ('PENDING', %(pending)s), ('RUNNING', %(pending)s), ('CANCELLING', %(pending)s),
             ('SUCCEEDED', %(ended)s), ('CANCELLED', %(ended)s), ('DEAD', %(ended)s),
             ('DISCARDED', %(ended)s)) s(status, most)
"""


def own_depth(owner_id: UUID) -> dict[tuple[str, int], int]:
    """How many tasks of an owner are pending, by type (key@version) and priority."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT k.key || '@' || k.version, t.priority, count(*) FROM {_PENDING}"
            " JOIN tasks_tasktype k ON k.id = t.type_id GROUP BY 1, 2",
            {"owner": owner_id, "most": MOST_PENDING},
        )
        return {(name, priority): count for name, priority, count in cursor.fetchall()}


def own_counts(owner_id: UUID) -> dict[str, int]:
    """How many tasks of an owner stand in each status, 0 included; see above for the bounds."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, {"owner": owner_id, "pending": MOST_PENDING, "ended": MOST_ENDED})
        return dict(cursor.fetchall())


def own_oldest_age_seconds(owner_id: UUID) -> dict[int, float]:
    """How long the oldest due task of an owner has waited, by priority."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT priority, extract(epoch FROM statement_timestamp() - min(run_after))::float8"
            f" FROM {_PENDING} WHERE run_after <= statement_timestamp() GROUP BY 1",
            {"owner": owner_id, "most": MOST_PENDING},
        )
        return dict(cursor.fetchall())
