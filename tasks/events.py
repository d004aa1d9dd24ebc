"""What happened to tasks, in order and without a gap: for whoever has to tell others of it.

The ids of events are drawn before their transactions commit, so a reader that remembers only the
last id would miss what commits late. `since` therefore gives an event only when every transaction
that was under way when its id was drawn has ended: usually within milliseconds, or as long as the
longest writing transaction lasts.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection

from tasks.models import EventKind, TaskEvent

# `started` and `failed` leave a task under way; the others end it, until a replay.
LIFECYCLE = frozenset(
    {
        EventKind.STARTED,
        EventKind.SUCCEEDED,
        EventKind.FAILED,
        EventKind.CANCELLED,
        EventKind.DEAD,
        EventKind.DISCARDED,
    }
)


@dataclass(frozen=True)
class Position:
    """How far a reader is; to be kept with whatever it writes.

    Events up to `after` have been read. All up to `settled` can be, once the transactions that are
    older than `settles_at`, a transaction's number, have ended.
    """

    after: int = 0
    settled: int = 0
    settles_at: int = 0


def now() -> Position:
    """A position from which only what happens from now on is read."""
    newest, next_transaction, _ = _clock()
    return Position(newest, newest, next_transaction)


def since(
    position: Position, *, kinds: Collection[str] = LIFECYCLE, limit: int = 1_000
) -> tuple[list[TaskEvent], Position]:
    """The next events of these kinds with their tasks' ids, in order, and where to go on.

    Each comes exactly once to who goes on from the position that came with it. An empty list says
    that nothing has settled yet: ask again in a moment.
    """
    newest, next_transaction, oldest_transaction = _clock()
    if oldest_transaction < position.settles_at:
        return [], position
    readable = position.settled
    found = list(
        TaskEvent.objects.filter(id__gt=position.after, id__lte=readable, kind__in=kinds).order_by(
            "id"
        )[:limit]
    )
    if len(found) == limit:
        return found, Position(found[-1].id, readable, position.settles_at)
    return found, Position(readable, max(newest, readable), next_transaction)


def _clock() -> tuple[int, int, int]:
    """The newest id drawn, the number of the next transaction, and of the oldest under way.

    The statement reads the sequence before the snapshot of the transactions is looked at; every
    statement that appends an event of the lifecycle has changed its task, and so has its number,
    before it draws the event's id.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM tasks_taskevent_id_seq"
        )
        [newest] = cursor.fetchone()
        cursor.execute(
            "SELECT pg_snapshot_xmax(s)::text::bigint, pg_snapshot_xmin(s)::text::bigint"
            " FROM pg_current_snapshot() s"
        )
        next_transaction, oldest = cursor.fetchone()
    return newest, next_transaction, oldest
