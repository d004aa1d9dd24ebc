"""Where one person stood over time, from the log."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from uuid_utils.compat import uuid7

from pipeline.audit.verify import replay
from pipeline.domain.states import ReinstatementReason
from pipeline.figures import series
from pipeline.figures.series import (
    LoggedPlace,
    PositionStep,
    position_changes,
    position_steps,
    read_position_history,
)
from pipeline.models import Application
from pipeline.services.leaving import reinstate
from tests.support import factories
from tests.support.applicants import leave
from tests.support.busy_line import busy_job
from tests.support.clock import let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_place_moves_up_is_lost_and_given_back() -> None:
    job = factories.job(capacity=1)
    seated, first, me, _ = factories.applications(job, 4)
    leave(first)
    leave(seated)  # I am offered the seat
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()
    reinstate(application_id=me.id, reason=ReinstatementReason.OUR_ERROR, actor=factories.RECRUITER)

    steps = read_position_history(factories.fresh(me))

    assert steps is not None
    assert [(step.position, step.event) for step in steps] == [
        (2, "APPLIED"),
        (1, ""),
        (None, "PROMOTED"),
        (2, "DECAYED"),
        (1, ""),  # the next person was offered the seat
        (1, "REINSTATED"),
    ]


def test_a_change_that_is_taken_back_at_once_is_no_step() -> None:
    me, other = uuid7(), uuid7()
    joined, later = datetime(2026, 3, 2, tzinfo=UTC), datetime(2026, 3, 3, tzinfo=UTC)

    steps = position_steps(
        [
            LoggedPlace(1, joined, other, "APPLIED", (1, 0)),
            LoggedPlace(2, joined, me, "APPLIED", (2, 0)),
            LoggedPlace(3, later, other, "PROMOTED", None),
            LoggedPlace(4, later, other, "DECAYED", (1, 1)),
        ],
        me,
    )

    assert [(step.position, step.event) for step in steps] == [(2, "APPLIED")]


def test_an_own_event_that_moved_nobody_is_no_change_of_the_place() -> None:
    at = datetime(2026, 3, 2, tzinfo=UTC)
    kinds = ["APPLIED", "QUESTION_ASKED", "ANSWERS_CHANGED", "PROMOTED"]
    steps = [
        PositionStep(seq, at, None if kind == "PROMOTED" else 21, kind)
        for seq, kind in enumerate(kinds, start=1)
    ]

    assert [step.event for step in position_changes(steps)] == ["APPLIED", "PROMOTED"]


@pytest.mark.parametrize("seed", range(3))
def test_every_step_is_what_replay_says(seed: int) -> None:
    job = busy_job(seed, steps=90)
    people = list(Application.objects.filter(job_id=job).order_by("id"))
    compared = 0

    for person in people:
        for step in read_position_history(person) or []:
            line = replay(job, seq=step.seq)
            there = [each for each in line.waitlist if each.application_id == person.id]
            assert step.position == (there[0].position if there else None)
            compared += 1

    assert compared > 10


def test_a_log_that_is_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    me = factories.applications(factories.job(), 3)[1]
    monkeypatch.setattr(series, "MOST_EVENTS", 3)
    known = read_position_history(me)
    monkeypatch.setattr(series, "MOST_EVENTS", 2)

    assert known
    assert read_position_history(me) is None
