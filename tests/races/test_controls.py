"""The same attacks with the lock taken away, or the clock read too early: they must succeed.

If one of these fails, the races beside them prove nothing any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError

from pipeline.audit.verify import verify_job
from pipeline.domain.errors import AcknowledgmentExpired
from pipeline.line import lock, write
from pipeline.line.turns import Turns
from pipeline.services import joining as applying
from pipeline.services import leaving as withdrawing
from pipeline.services import turns as acknowledging
from tests.support import factories
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.statements import changed
from tests.support.together import (
    held_lock,
    kinds,
    started,
    take_alone,
    together,
    wait_until_somebody_waits_for_a_lock,
)
from tests.support.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)

LOCK = "FOR NO KEY UPDATE"
THINK_SECONDS = 0.05
LEFT_SECONDS = 2.0  # in which the late one begins; a lock is waited for three seconds


@pytest.fixture(params=[True, False], ids=["locked", "control without the lock"])
def locked(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """With and without the lock; both times everyone thinks a while before writing."""
    for name in ("LOCK_JOB", "LOCK_JOB_OF"):
        lockless = changed(getattr(lock, name), LOCK, "")
        if not request.param:
            monkeypatch.setattr(lock, name, lockless)
    for service, seconds in ((applying, 1), (withdrawing, 1), (acknowledging, 2)):
        thinking = _after_thinking(write.write, seconds * THINK_SECONDS)
        monkeypatch.setattr(service, "write", thinking)
    monkeypatch.setattr(Turns, "take_turn", take_alone)  # else a process's threads would not race
    return bool(request.param)


def _after_thinking(act: Callable[..., None], seconds: float) -> Callable[..., None]:
    def run(job: Any, *, commit: bool = False) -> None:
        time.sleep(seconds)
        act(job, commit=commit)

    return run


def test_only_the_lock_lets_everybody_in_who_applies_at_once(locked: bool) -> None:
    job_id = factories.job(capacity=1)
    people = [factories.applicant() for _ in range(6)]

    answers = together([partial(factories.application, job_id, person) for person in people])

    assert_line_is_sound(job_id)  # the unique sequence is the second line of defence
    if locked:
        assert kinds(answers) == ["Application"] * 6
    else:
        assert "IntegrityError" in kinds(answers)


@pytest.fixture
def no_second_line_of_defence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody logs anything, so that the log's unique sequence stops nobody."""
    monkeypatch.setattr(write, "APPEND", f"{write.APPEND} WHERE false")


@pytest.mark.usefixtures("no_second_line_of_defence")
def test_only_the_lock_keeps_one_seat_from_being_given_twice(locked: bool) -> None:
    job_id = factories.job(capacity=1)
    people = [factories.applicant() for _ in range(6)]

    answers = together([partial(factories.application, job_id, person) for person in people])

    seated = factories.statuses(*answers).count("ACTIVE")
    assert seated == 1 if locked else seated > 1


@pytest.mark.usefixtures("no_second_line_of_defence")
def test_only_the_lock_keeps_who_left_from_coming_back(locked: bool) -> None:
    returned = []
    for _ in range(6):
        person = factories.application(factories.job(acknowledge_first_seat=True))
        verbs = (acknowledging.acknowledge, withdrawing.withdraw)
        who = {"application_id": person.id, "actor": factories.owner_of(person)}
        together([partial(verb, **who) for verb in verbs])
        returned.append(factories.status_of(person) == "ACTIVE")

    assert not any(returned) if locked else any(returned)


def test_only_the_lock_lets_six_leave_at_once(locked: bool) -> None:
    job_id = factories.job(capacity=6)
    holders = factories.applications(job_id, 6)
    factories.applications(job_id, 6)

    answers = together(
        [
            partial(withdrawing.withdraw, application_id=h.id, actor=factories.owner_of(h))
            for h in holders
        ]
    )

    failed = [answer for answer in answers if isinstance(answer, IntegrityError)]
    assert not failed if locked else failed
    assert verify_job(job_id).is_sound


@pytest.mark.parametrize("clock", ["clock_timestamp()", "statement_timestamp()", "now()"])
def test_only_a_clock_read_after_the_lock_notices_a_deadline_that_passed_in_the_queue(
    clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "LOCK_JOB_OF", changed(lock.LOCK_JOB_OF, "clock_timestamp()", clock))
    person = factories.application(factories.job(acknowledge_first_seat=True))
    let_time_pass(person.job_id, factories.WINDOW - LEFT_SECONDS)
    deadline = factories.fresh(person).acknowledge_by
    assert deadline is not None
    who = {"application_id": person.id, "actor": factories.owner_of(person)}

    with ExitStack() as afterwards, held_lock(person.job_id):
        late = started(partial(acknowledging.acknowledge, **who))
        answers = afterwards.enter_context(late)
        wait_until_somebody_waits_for_a_lock()
        eventually(lambda: database_now() > deadline)

    expired = isinstance(answers[0], AcknowledgmentExpired)
    assert expired == (clock == "clock_timestamp()")
    assert factories.status_of(person) == ("WAITLIST" if expired else "ACTIVE")
