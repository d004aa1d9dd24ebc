"""Checks of a draw by lot, event by event: what may stand between the draw and its last place."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from pipeline.audit.job_rules import DrawFold
from pipeline.domain import draw
from pipeline.domain.draw import ALGORITHM
from pipeline.domain.states import ActorKind
from pipeline.line.event_log import GENESIS, logged_time
from pipeline.models import Event

DRAW_AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
ANNOUNCED = {"draw_at": logged_time(DRAW_AT)}
JOB, ANA, BO = (UUID(int=number) for number in (1, 2, 3))


def drawn_at(moment: datetime, **changes: Any) -> Event:
    """Return the event of a right draw among two, but for the changes."""
    seed = draw.seed(GENESIS, logged_time(moment))
    data = ANNOUNCED | {"algorithm": ALGORITHM, "seed": seed.hex(), "drawn": 2}
    values = {"event": "DRAWN", "seq": 5, "at": moment, "effective_at": DRAW_AT, "data": data}
    system = {"actor_kind": ActorKind.SYSTEM, "prev_hash": GENESIS}
    return Event(**values | system | changes)


def fold_before_draw() -> DrawFold:
    """Return the fold of a job that has announced its draw and opened."""
    fold = DrawFold(JOB)
    created = Event(event="JOB_CREATED", data=ANNOUNCED)
    assert fold.check_job_event(created, (), is_open=False) == ""
    return fold


def fold_in_draw() -> DrawFold:
    """Return the fold of a job whose draw has placed nobody yet."""
    fold = fold_before_draw()
    assert fold.check_job_event(drawn_at(DRAW_AT), (ANA, BO), is_open=True) == ""
    assert fold.is_unfinished
    return fold


def test_nothing_comes_between_the_draw_and_its_last_place() -> None:
    paused = Event(event="JOB_PAUSED", data=ANNOUNCED)
    withdrawn = Event(event="WITHDRAWN", to_status="INACTIVE", at=DRAW_AT)

    said = [
        fold_in_draw().check_job_event(paused, (ANA, BO), is_open=True),
        fold_in_draw().check_application_event(withdrawn, 1),
    ]

    assert said == ["it comes before everyone has been placed by the draw"] * 2


@pytest.mark.parametrize("why", ["again", "before the job opens", "without a time"])
def test_a_job_draws_once_and_only_when_it_is_open_and_has_said_when(why: str) -> None:
    if why == "again":
        fold, is_open = fold_before_draw(), True
        fold.drawn_at = DRAW_AT
    else:
        fold, is_open = DrawFold(JOB), why == "without a time"
    data = {"draw_at": None} if why == "without a time" else ANNOUNCED

    said = fold.check_job_event(drawn_at(DRAW_AT, data=data), (ANA, BO), is_open=is_open)

    assert said == "nothing is to be drawn"


@pytest.mark.parametrize("status", ["PENDING_ACKNOWLEDGMENT", "ACTIVE"])
def test_nobody_has_a_seat_before_the_draw(status: str) -> None:
    before = Event(event="APPLIED", to_status=status, at=DRAW_AT - timedelta(hours=1))
    waiting = Event(event="APPLIED", to_status="WAITLIST", at=DRAW_AT - timedelta(hours=1))

    assert (
        fold_before_draw().check_application_event(before, 1)
        == "it gives a seat, or moves a person ahead, before the draw"
    )
    assert fold_before_draw().check_application_event(waiting, 1) == ""


def test_the_order_is_not_drawn_before_the_announced_time() -> None:
    early = drawn_at(DRAW_AT - timedelta(seconds=1))

    said = fold_before_draw().check_job_event(early, (ANA, BO), is_open=True)

    assert said == "the order was drawn at another time than announced"


def test_who_comes_at_the_very_time_of_the_draw_takes_no_part() -> None:
    late = Event(event="APPLIED", to_status="WAITLIST", at=DRAW_AT)
    verified = Event(event="VERIFIED", to_status="WAITLIST", at=DRAW_AT)

    said = fold_before_draw().check_application_event(late, 1)

    assert said == "it lets someone into the draw after entries had closed"
    assert fold_before_draw().check_application_event(verified, 1) == ""
