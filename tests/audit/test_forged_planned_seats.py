"""Forged logs whose hashes fit but in which seats changed otherwise than planned."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from jobs.models import MAX_CAPACITY
from pipeline.audit.verify import verify_job
from pipeline.models import Event
from tests.audit.test_forged_logs import first_bad_seq, forge
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.planned_seats import WEEK, job_with_skipped_change, planned

pytestmark = pytest.mark.django_db(transaction=True)


def _of_others(row: Event) -> None:
    row.data["planned_seats_id"] = str(uuid4())


def _too_early(row: Event) -> None:
    row.effective_at -= timedelta(days=30)


def _not_due(row: Event) -> None:
    row.effective_at = row.at + timedelta(seconds=1)


@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("CAPACITY_CHANGED", lambda row: row.data.update(capacity=9)),
        ("CAPACITY_CHANGED", lambda row: row.data.update(capacity=2)),
        ("CAPACITY_CHANGED", _of_others),
        ("CAPACITY_CHANGED", _too_early),
        ("CAPACITY_CHANGED", _not_due),
        ("CAPACITY_CHANGED", lambda row: setattr(row, "actor_kind", "COMPANY")),
        ("CAPACITY_CHANGED", lambda row: row.data.pop("planned_seats_id")),
        ("PROMOTED", _of_others),
        ("PROMOTED", lambda row: setattr(row, "cause_seq", 1)),
    ],
)
def test_planned_seats_that_changed_otherwise_than_planned_are_named(
    event: str, change: Callable[[Event], Any]
) -> None:
    job_id = factories.job(capacity=2)
    factories.applications(job_id, 6)
    planned(job_id, 1, times=5)
    let_time_pass(job_id, WEEK + 700)
    factories.settle_all()
    assert verify_job(job_id).is_sound

    forged = forge(job_id, event, change)

    foreign = event == "CAPACITY_CHANGED" and change is _of_others
    assert first_bad_seq(job_id) == (forged + 2 if foreign else forged)


def _week_after_week(job_id: UUID, weeks: int, between: Callable[[], Any] | None = None) -> None:
    let_time_pass(job_id, 700)
    factories.settle_all()
    for _ in range(weeks - 1):
        if between:
            between()
        let_time_pass(job_id, WEEK)
        factories.settle_all()


@pytest.mark.parametrize(
    ("capacity", "seats", "limit"), [(6, -2, 1), (MAX_CAPACITY - 6, 2, MAX_CAPACITY)]
)
def test_no_more_than_a_plans_number_is_taken_for_what_a_limit_has_cut(
    capacity: int, seats: int, limit: int
) -> None:
    job_id = factories.job(capacity=capacity)
    planned(job_id, seats, times=2)
    _week_after_week(job_id, 2)
    assert verify_job(job_id).is_sound
    assert factories.row_of(job_id).capacity == capacity + 2 * seats

    forged = forge(job_id, "CAPACITY_CHANGED", lambda row: row.data.update(capacity=limit))

    assert first_bad_seq(job_id) == forged


def test_a_limit_may_cut_every_change_of_a_plan_but_not_turn_it_round() -> None:
    job_id = factories.job(capacity=12)
    planned(job_id, -5, times=2)
    factories.alter(job_id, capacity=3)
    _week_after_week(job_id, 2, lambda: factories.alter(job_id, capacity=4))
    changes = [each for each in factories.events(job_id) if each.event == "CAPACITY_CHANGED"]
    assert [each.data["capacity"] for each in changes] == [3, 1, 4, 1]
    assert verify_job(job_id).is_sound

    forged = forge(job_id, "CAPACITY_CHANGED", lambda row: row.data.update(capacity=MAX_CAPACITY))

    assert first_bad_seq(job_id) == forged


@pytest.mark.parametrize(
    "change",
    [
        _too_early,
        _not_due,
        lambda row: setattr(row, "actor_kind", "COMPANY"),
        lambda row: row.data.update(planned_seats=-1),  # three are left, as many as reserved
        lambda row: row.data.update(planned_seats=2),
        lambda row: row.data.update(capacity=3),
    ],
)
def test_a_skipped_change_that_would_have_closed_no_reserved_seat_is_named(
    change: Callable[[Event], Any],
) -> None:
    job_id = factories.job(capacity=3)
    planned(job_id, 1, seconds=60)  # so that an earlier time is out of order
    job_with_skipped_change(job_id)
    factories.alter(job_id, capacity=6)
    assert verify_job(job_id).is_sound

    forged = forge(job_id, "SEATS_KEPT", change)

    assert first_bad_seq(job_id) == forged
