"""Taking back a yes at the very moment in which the turn comes: whichever is first counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError

from pipeline.models import Application
from pipeline.services import leaving as withdrawing
from pipeline.services import turns as accepting
from pipeline.services.settling import settle_next_due
from tests.races.thinking import with_and_without_lock
from tests.support import factories
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)

locked = with_and_without_lock(accepting, withdrawing)


def saying_yes(application: Application, *, days: int | None) -> Callable[[], Any]:
    until = None if days is None else database_now() + timedelta(days=days)
    actor = factories.owner_of(application)
    return partial(
        accepting.preaccept, application_id=application.id, accept_until=until, actor=actor
    )


def leaving(application: Application) -> Callable[[], Any]:
    actor = factories.owner_of(application)
    return partial(withdrawing.withdraw, application_id=application.id, actor=actor)


def test_only_the_lock_keeps_a_seat_from_a_yes_taken_back_meanwhile(locked: bool) -> None:
    job_id = factories.job()
    seated, first = factories.applications(job_id, 2)
    saying_yes(first, days=1)()

    answers = together([leaving(seated), saying_yes(first, days=None)])

    failed = [answer for answer in answers if isinstance(answer, IntegrityError)]
    assert not failed if locked else failed  # the unique sequence is the second line of defence
    if not locked:
        return
    was_first = isinstance(answers[1], Application)
    assert was_first or type(answers[1]).__name__ == "IllegalMove"
    assert factories.status_of(first) == ("PENDING_ACKNOWLEDGMENT" if was_first else "ACTIVE")
    assert_line_is_sound(job_id)


def test_six_answers_at_once_follow_each_other() -> None:
    job_id = factories.job()
    _seated, first = factories.applications(job_id, 2)

    together([saying_yes(first, days=days) for days in (1, 2, 3, None, 4, None)])

    assert factories.status_of(first) == "WAITLIST"
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("round_number", range(5))
def test_two_workers_and_a_yes_hand_the_seat_over_once(round_number: int) -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    offered, first, _second = factories.applications(job_id, 3)
    saying_yes(first, days=14)()
    let_time_pass(job_id, factories.WINDOW)

    together([settle_next_due, saying_yes(first, days=13), settle_next_due])

    assert factories.statuses(offered, first) == ["WAITLIST", "ACTIVE"]
    names = factories.event_names(job_id)
    assert (names.count("PROMOTED"), names.count("ACKNOWLEDGED")) == (1, 1)
    assert_line_is_sound(job_id)
