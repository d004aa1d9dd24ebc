"""Events of tasks in order and without a gap, for readers that pass them on.

The ids of events are drawn before their transactions commit, so a reader that remembers only the
last id would miss what commits late. `events_since` therefore gives an event only when every
transaction that was under way when its id was drawn has ended: usually within milliseconds, or as
long as the longest writing transaction lasts.
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
    """Position of a reader, to be stored with whatever it writes.

    Events up to `after` have been read. All up to `settled` can be, once the transactions that are
    older than `settles_at`, a transaction's number, have ended.
    """

    after: int = 0
    settled: int = 0
    settles_at: int = 0


def newest_event_position() -> Position:
    """Return the position from which only later events are read."""
    newest, next_transaction, _ = _event_clock()
    return Position(newest, newest, next_transaction)


def events_since(
    position: Position, *, kinds: Collection[str] = LIFECYCLE, limit: int = 1_000
) -> tuple[list[TaskEvent], Position]:
    """Return the next events of these kinds, in order, and the position to go on from.

    A reader that goes on from the returned position gets each event exactly once. An empty list
    means that nothing has settled yet: ask again in a moment.
    """
    newest, next_transaction, oldest_transaction = _event_clock()
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


def _event_clock() -> tuple[int, int, int]:
    """Return the newest id drawn, and the numbers of the next and the oldest open transaction.

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
