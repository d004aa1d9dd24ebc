"""The last position filled twice at once, and dates under several workers and a killed one."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from django.db import IntegrityError, OperationalError, connection

from pipeline.audit.verify import verify_job
from pipeline.domain.errors import PositionsFilled
from pipeline.domain.states import IfLast, Outcome
from pipeline.line import settle as line_settle
from pipeline.services import leaving
from pipeline.services.jobs import JobChanges, update_job
from pipeline.services.settling import settle
from tests.races.thinking import with_and_without_lock
from tests.support import factories
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)

locked = with_and_without_lock(line_settle, leaving)


def hire(person: Any, if_last: IfLast) -> Any:
    return partial(
        leaving.remove,
        application_id=person.id,
        outcome=Outcome.HIRED,
        actor=factories.RECRUITER,
        if_last=if_last,
    )


def test_only_the_lock_fills_the_last_position_once_with_a_clear_answer(locked: bool) -> None:
    job_id = factories.job(capacity=2, hiring={"positions_to_fill": 1})
    first, second = factories.applications(job_id, 2)

    answers = together([hire(first, IfLast.CLOSE), hire(second, IfLast.CLOSE)])

    refused = [each for each in answers if isinstance(each, Exception)]
    kind = PositionsFilled if locked else IntegrityError  # the unique sequence as last defence
    assert [type(each) for each in refused] == [kind]
    assert sorted(factories.statuses(first, second)) == ["ACTIVE", "HIRED"]
    assert factories.row_of(job_id).hired_count == 1
    assert factories.event_names(job_id).count("JOB_CLOSED") == 1
    assert_line_is_sound(job_id)


def test_the_last_position_is_filled_once_whatever_comes_at_the_same_time() -> None:
    for _ in range(6):
        job_id = factories.job(capacity=4, hiring={"positions_to_fill": 2})
        people = factories.applications(job_id, 6)

        answers = together([hire(person, IfLast.CLOSE) for person in people[:4]])

        assert sum(isinstance(each, PositionsFilled) for each in answers) == 2
        job = factories.row_of(job_id)
        assert (job.hired_count, job.status) == (2, "CLOSED")
        assert_line_is_sound(job_id)


def test_a_lowered_number_and_a_hiring_at_once_never_leave_more_hired_than_positions() -> None:
    for _ in range(6):
        job_id = factories.job(capacity=3, hiring={"positions_to_fill": 3})
        people = factories.applications(job_id, 3)
        lower = JobChanges(hiring={"positions_to_fill": 1})

        together(
            [
                *(hire(person, IfLast.STAY) for person in people[:2]),
                partial(update_job, job_id=job_id, changes=lower, actor=factories.RECRUITER),
            ]
        )

        job = factories.row_of(job_id)
        assert job.hired_count <= (job.positions_to_fill or 0)
        assert_line_is_sound(job_id)


def due_job(name: str) -> UUID:
    dates = {name: database_now() + timedelta(seconds=600)}
    job_id = factories.job(open_now=name == "closes_at", hiring=dates)
    if name == "closes_at":
        factories.applications(job_id, 3)
    let_time_pass(job_id, 601)
    return job_id


KINDS = {"opens_at": "JOB_OPENED", "closes_at": "JOB_CLOSED"}


@pytest.mark.parametrize("name", KINDS)
def test_only_the_lock_lets_several_workers_keep_a_date_without_an_error(
    name: str, locked: bool
) -> None:
    job_id = due_job(name)

    answers = together([partial(settle, job_id=job_id)] * 4)

    failed = [answer for answer in answers if isinstance(answer, IntegrityError)]
    assert not failed if locked else failed
    by_system = [each.event for each in factories.events(job_id) if each.actor_kind == "SYSTEM"]
    assert by_system.count(KINDS[name]) == 1
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("name", KINDS)
def test_two_decay_workers_keep_a_date_once(name: str) -> None:
    job_id = due_job(name)

    together([factories.settle_all] * 2)

    by_system = [each.event for each in factories.events(job_id) if each.actor_kind == "SYSTEM"]
    assert by_system.count(KINDS[name]) == 1


@pytest.mark.parametrize("name", KINDS)
def test_a_worker_killed_between_keeps_nothing_and_the_next_one_keeps_the_date_once(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = due_job(name)
    seq, write = factories.row_of(job_id).seq, line_settle.write

    def be_killed(job: Any, *, commit: bool = False) -> None:
        write(job)  # everything is written, and not committed
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    with monkeypatch.context() as killed:
        killed.setattr(line_settle, "write", be_killed)
        [answer] = together([partial(settle, job_id=job_id)])
    assert isinstance(answer, OperationalError)
    assert factories.row_of(job_id).seq == seq
    settle(job_id=job_id)
    settle(job_id=job_id)

    assert factories.event_names(job_id).count(KINDS[name]) == 1
    assert verify_job(job_id).is_sound
