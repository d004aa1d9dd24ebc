"""Planned seats under attack: several workers, a killed one, a cancellation in between."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection

from pipeline.audit.verify import verify_job
from pipeline.domain.errors import PlannedSeatsNotFound
from pipeline.line import lock
from pipeline.line import settle as line_settle
from pipeline.models import PlannedSeats
from pipeline.services import jobs as cancelling
from pipeline.services.settling import settle, settle_next_due
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.planned_seats import planned
from tests.support.statements import changed
from tests.support.together import started, together

pytestmark = pytest.mark.django_db(transaction=True)

LOCK = "FOR NO KEY UPDATE"
THINK_SECONDS = 0.1


@pytest.fixture(params=[True, False], ids=["locked", "control without the lock"])
def locked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """With and without the lock; both times a settlement thinks a while before it writes."""
    if not request.param:
        monkeypatch.setattr(lock, "LOCK_JOB", changed(lock.LOCK_JOB, LOCK, ""))
    monkeypatch.setattr(line_settle, "write", _after_thinking(line_settle.write, THINK_SECONDS))
    return bool(request.param)


def _after_thinking(act: Callable[..., None], seconds: float) -> Callable[..., None]:
    def run(job: Any, *, commit: bool = False) -> None:
        time.sleep(seconds)
        act(job, commit=commit)

    return run


def changes_of(job_id: Any) -> list[int]:
    log = factories.events(job_id)
    return [each.data["capacity"] for each in log if each.event == "CAPACITY_CHANGED"]


def test_only_the_lock_lets_several_workers_open_the_seats_without_an_error(locked: bool) -> None:
    job_id = factories.job(capacity=1)
    factories.applications(job_id, 4)
    planned(job_id, 2)
    let_time_pass(job_id, 601)

    answers = together([partial(settle, job_id=job_id)] * 4)

    failed = [answer for answer in answers if isinstance(answer, IntegrityError)]
    assert not failed if locked else failed  # the unique sequence is the second line of defence
    assert changes_of(job_id) == [3]
    assert_line_is_sound(job_id)


def test_two_decay_workers_open_the_seats_once() -> None:
    job_id = factories.job(capacity=1)
    factories.applications(job_id, 4)
    planned(job_id, 2)
    let_time_pass(job_id, 601)

    answers = together([settle_next_due] * 2)

    assert [each.events for each in answers if each] == [3]  # the change and two promotions
    assert changes_of(job_id) == [3]


@pytest.mark.parametrize("together_with_seats", [True, False], ids=["one commit", "control"])
def test_only_one_commit_for_plan_and_seats_survives_a_killed_worker(
    together_with_seats: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = factories.job(capacity=1)
    planned(job_id, 2)
    let_time_pass(job_id, 601)
    if not together_with_seats:
        whole = PlannedSeats.delete
        monkeypatch.setattr(PlannedSeats, "delete", lambda row: together([partial(whole, row)]))

    def be_killed(_job: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    with monkeypatch.context() as killed:
        killed.setattr(line_settle, "write", be_killed)
        [answer] = together([partial(settle, job_id=job_id)])
    assert isinstance(answer, OperationalError)
    settle(job_id=job_id)

    assert changes_of(job_id) == ([3] if together_with_seats else [])
    assert verify_job(job_id).is_sound


def test_only_the_lock_keeps_cancelled_seats_from_opening(
    locked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = factories.job(capacity=1)
    plan = planned(job_id, 2)
    let_time_pass(job_id, 599)  # a second is left
    slow = _after_thinking(cancelling.write, 1.6)
    monkeypatch.setattr(cancelling, "write", slow)

    ids = {"job_id": job_id, "planned_id": plan.id, "actor": factories.RECRUITER}
    cancel = partial(cancelling.cancel_seats, **ids)
    with started(cancel) as answers:
        time.sleep(1.2)  # the time has come, and the cancellation has not committed
        settle(job_id=job_id)

    was_cancelled = not isinstance(answers[0], Exception)
    has_opened = changes_of(job_id) == [3]
    assert was_cancelled
    assert has_opened != locked


def test_either_the_seats_open_or_they_are_cancelled() -> None:
    for _ in range(8):
        job_id = factories.job(capacity=1)
        plan = planned(job_id, 2, seconds=600)
        let_time_pass(job_id, 599.97)

        answers = together(
            [
                partial(settle, job_id=job_id),
                partial(
                    cancelling.cancel_seats,
                    job_id=job_id,
                    planned_id=plan.id,
                    actor=factories.RECRUITER,
                ),
                partial(settle, job_id=job_id),
            ]
        )

        came_too_late = isinstance(answers[1], PlannedSeatsNotFound)
        assert (changes_of(job_id) == [3]) == came_too_late
        assert not PlannedSeats.objects.filter(job_id=job_id).exists()
        assert_line_is_sound(job_id)
