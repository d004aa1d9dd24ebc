"""Numbers of one owner's tasks. Their cost does not grow with the number of finished tasks.

Pending tasks are counted up to 100,000, ended ones up to 10,000 per status. A number at its limit
means "this many or more".
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


def owner_depth(owner_id: UUID) -> dict[tuple[str, int], int]:
    """Count an owner's pending tasks, by type (key@version) and priority."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT k.key || '@' || k.version, t.priority, count(*) FROM {_PENDING}"
            " JOIN tasks_tasktype k ON k.id = t.type_id GROUP BY 1, 2",
            {"owner": owner_id, "most": MOST_PENDING},
        )
        return {(name, priority): count for name, priority, count in cursor.fetchall()}


def owner_counts(owner_id: UUID) -> dict[str, int]:
    """Count an owner's tasks in each status, including zeros, up to the limits of this module."""
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS, {"owner": owner_id, "pending": MOST_PENDING, "ended": MOST_ENDED})
        return dict(cursor.fetchall())


def owner_oldest_age_seconds(owner_id: UUID) -> dict[int, float]:
    """Return how long an owner's oldest due task of each priority has waited, in seconds."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT priority, extract(epoch FROM statement_timestamp() - min(run_after))::float8"
            f" FROM {_PENDING} WHERE run_after <= statement_timestamp() GROUP BY 1",
            {"owner": owner_id, "most": MOST_PENDING},
        )
        return dict(cursor.fetchall())
