"""Settling by the decay worker or by any change; the order makes no difference."""

from __future__ import annotations

import pytest

from pipeline.line import settle as line_settle
from pipeline.line.locked_job import LockedJob
from pipeline.services.leaving import withdraw
from pipeline.services.settling import (
    SettlingFailed,
    seconds_until_settlement,
    settle,
    settle_next_due,
)
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.offers import overdue_job

pytestmark = pytest.mark.django_db(transaction=True)


def test_nothing_is_due_when_nothing_is() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    assert seconds_until_settlement() is None
    factories.application(job_id)

    assert settle_next_due() is None
    assert factories.WINDOW - 5 < (seconds_until_settlement() or 0) <= factories.WINDOW


def test_the_job_that_is_due_for_longest_comes_first() -> None:
    late, later = overdue_job(5), overdue_job(50)
    assert seconds_until_settlement() == 0

    first, second, third = settle_next_due(), settle_next_due(), settle_next_due()

    assert [step.job_id for step in (first, second) if step] == [later, late]
    assert third is None


def test_a_job_that_cannot_be_settled_does_not_hold_up_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broken, sound = overdue_job(50), overdue_job(5)
    write = line_settle.write

    def fail_for_one(job: LockedJob) -> None:
        if job.id == broken:
            raise RuntimeError("this job is broken")
        write(job)

    monkeypatch.setattr(line_settle, "write", fail_for_one)
    with pytest.raises(SettlingFailed) as failure:
        settle_next_due()
    after = settle_next_due(skip=[failure.value.job_id])

    assert failure.value.job_id == broken
    assert after
    assert after.job_id == sound
    assert settle_next_due(skip=[broken]) is None
    assert (factories.row_of(broken).pending_count, factories.row_of(sound).pending_count) == (1, 0)
    assert_line_is_sound(broken)
    monkeypatch.undo()
    assert settle_next_due() is not None


def test_settling_twice_settles_once() -> None:
    job_id = overdue_job()

    assert (settle(job_id=job_id), settle(job_id=job_id)) == (1, 0)

    assert factories.event_names(job_id).count("DECAYED") == 1
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("touch", ["worker", "withdrawal", "settle"])
def test_whoever_comes_first_after_a_deadline_settles_it(touch: str) -> None:
    job_id = factories.job(capacity=2, acknowledge_first_seat=True)
    missed, leaving, waiting = factories.applications(job_id, 3)
    let_time_pass(job_id, factories.WINDOW)
    act = {
        "worker": settle_next_due,
        "settle": lambda: settle(job_id=job_id),
        "withdrawal": lambda: withdraw(
            application_id=leaving.id, actor=factories.owner_of(leaving)
        ),
    }[touch]

    act()

    expected = "WITHDRAWN" if touch == "withdrawal" else "WAITLIST"
    assert factories.statuses(missed, leaving, waiting) == [
        "WAITLIST",
        expected,
        "PENDING_ACKNOWLEDGMENT",
    ]
    assert_line_is_sound(job_id)


def test_a_due_time_that_was_only_early_is_put_right_without_an_event() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person = factories.application(job_id)
    withdraw(application_id=person.id, actor=factories.owner_of(person))
    let_time_pass(job_id, factories.WINDOW)
    seq = factories.row_of(job_id).seq

    step = settle_next_due()

    assert step
    assert step.events == 0
    assert (factories.row_of(job_id).seq, factories.row_of(job_id).next_due_at) == (seq, None)
    assert settle_next_due() is None
    assert_line_is_sound(job_id)
