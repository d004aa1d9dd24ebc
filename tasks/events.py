"""Task events in order and without gaps, for readers that forward them.

An event draws its id before its transaction commits, so a reader that remembers only the last id
would miss events that commit late. `read_since` therefore returns an event only after every
transaction that was open when its id was drawn has ended. That usually takes milliseconds, and at
most as long as the longest writing transaction.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db import connection

from tasks.models import EventKind, TaskEvent

# After `started` and `failed` the task continues; the others end it, until a replay.
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
    """Position of a reader, to be stored together with the data it writes.

    Events up to `after` have been read. Events up to `settled` can be read once all transactions
    numbered below `settles_at` have ended.
    """

    after: int = 0
    settled: int = 0
    settles_at: int = 0


def newest_position() -> Position:
    """Return the position behind the newest event."""
    newest, next_transaction, _ = _clock()
    return Position(newest, newest, next_transaction)


def read_since(
    position: Position, *, kinds: Collection[str] = LIFECYCLE, limit: int = 1_000
) -> tuple[list[TaskEvent], Position]:
    """Return the next events of these kinds, in order, and the position to continue from.

    A reader that continues from the returned position gets each event exactly once. An empty list
    means that no further event has settled yet: ask again in a moment.
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
    """Return the newest id drawn, and the numbers of the next and the oldest open transaction.

    The order matters: the sequence is read before the snapshot of open transactions. A statement
    that appends a lifecycle event changes its task first, so its transaction already has a number
    when the event's id is drawn.
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
