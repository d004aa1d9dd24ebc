"""Positions of one application over time, from its job's log."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection

from pipeline.domain.states import EventType
from pipeline.line.removed_logs import refuse_removed_log
from pipeline.models import Application, ApplicationRow

# A longer log is not read for one person's picture.
MOST_EVENTS = 50_000


class PositionStep(NamedTuple):
    """Position from a time on; None while the application does not wait, or is not verified.

    `event` is the application's own event at that time, empty if another person's change moved it.
    `took_back`: it cancelled the wish to pass a turn.
    """

    seq: int
    at: datetime
    position: int | None
    event: str
    took_back: bool = False


class LoggedPlace(NamedTuple):
    """Place of an application after one of its events; None outside the waitlist."""

    seq: int
    at: datetime
    application_id: UUID
    event: str
    place: tuple[int, int] | None
    took_back: bool = False


_READ = """
SELECT seq, at, application_id, event,
       to_status = 'WAITLIST' AND data ->> 'verify_by' IS NULL,
       (data ->> 'ticket')::bigint, (data ->> 'tie')::bigint,
       event = 'PASS_ASKED' AND data ->> 'pass_next' IS NULL
FROM pipeline_event
WHERE job_id = %(job)s AND application_id IS NOT NULL
ORDER BY seq LIMIT %(most)s
"""


def position_history_of(application: Application | ApplicationRow) -> list[PositionStep] | None:
    """Return each change of an application's position, oldest first, in one query.

    Changes of other people at the same time are one step. Returns None if the log has more than
    MOST_EVENTS events about people. Raises LogArchived.
    """
    with connection.cursor() as cursor:
        cursor.execute(_READ, {"job": application.job_id, "most": MOST_EVENTS + 1})
        rows = cursor.fetchall()
    if not rows:
        refuse_removed_log(application.job_id)
    if len(rows) > MOST_EVENTS:
        return None
    logged = (
        LoggedPlace(seq, at, who, event, (ticket, tie) if waits else None, took_back)
        for seq, at, who, event, waits, ticket, tie, took_back in rows
    )
    return steps_of_position(logged, application.id)


def steps_of_position(events: Iterable[LoggedPlace], me: UUID) -> list[PositionStep]:
    """Return the changes of one application's position. Pure."""
    places: dict[UUID, tuple[int, int]] = {}
    mine: tuple[int, int] | None = None
    ahead, is_drawn = 0, False
    steps: list[PositionStep] = []
    for event in events:
        if event.event == EventType.PLACED and not is_drawn:  # what came before was no place
            is_drawn, places, mine, steps = True, {}, None, []
        if event.application_id == me:
            mine = event.place
            ahead = sum(place < mine for place in places.values()) if mine else 0
        else:
            left = places.pop(event.application_id, None)
            if event.place is not None:
                places[event.application_id] = event.place
            if mine is None:
                continue
            ahead += event.place is not None and event.place < mine
            ahead -= left is not None and left < mine
        own = event.event if event.application_id == me else ""
        position = ahead + 1 if mine else None
        step = PositionStep(event.seq, event.at, position, own, bool(own) and event.took_back)
        if not own and steps and steps[-1].position == step.position:
            continue
        if not own and steps and steps[-1].at == step.at and not steps[-1].event:
            steps.pop()  # a cascade: only its result is a step
        steps.append(step)
    return steps
