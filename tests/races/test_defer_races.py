"""Deferring a turn at the very moment in which it comes: whichever is first counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError

from pipeline.models import Application
from pipeline.services import leaving as withdrawing
from pipeline.services import turns as deferring
from pipeline.services.settling import settle_next_due
from tests.races.thinking import with_and_without_lock
from tests.support import factories
from tests.support.clock import database_now, let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)

locked = with_and_without_lock(deferring, withdrawing)


def putting_off(application: Application, *, days: int | None) -> Callable[[], Any]:
    until = None if days is None else database_now() + timedelta(days=days)
    actor = factories.owner_of(application)
    return partial(deferring.defer, application_id=application.id, not_before=until, actor=actor)


def leaving(application: Application) -> Callable[[], Any]:
    actor = factories.owner_of(application)
    return partial(withdrawing.withdraw, application_id=application.id, actor=actor)


def test_only_the_lock_keeps_a_seat_from_a_turn_put_off_meanwhile(locked: bool) -> None:
    job_id = factories.job()
    seated, first, second = factories.applications(job_id, 3)

    answers = together([leaving(seated), putting_off(first, days=1)])

    failed = [answer for answer in answers if isinstance(answer, IntegrityError)]
    assert not failed if locked else failed  # the unique sequence is the second line of defence
    if not locked:
        return
    was_first = isinstance(answers[1], Application)
    assert was_first or type(answers[1]).__name__ == "IllegalMove"
    offered, waits = (second, first) if was_first else (first, second)
    assert factories.statuses(offered, waits) == ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert_line_is_sound(job_id)


def test_six_answers_at_once_to_one_turn_follow_each_other() -> None:
    job_id = factories.job()
    _seated, first = factories.applications(job_id, 2)

    together([putting_off(first, days=days) for days in (1, 2, 3, None, 4, None)])

    assert factories.status_of(first) == "WAITLIST"
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("round_number", range(5))
def test_taking_it_back_and_the_worker_offer_the_seat_once(round_number: int) -> None:
    job_id = factories.job()
    seated, first, second = factories.applications(job_id, 3)
    for each in (first, second):
        putting_off(each, days=1)()
    leaving(seated)()
    let_time_pass(job_id, 86_401)

    together([settle_next_due, putting_off(second, days=None), settle_next_due])

    assert factories.statuses(first, second) == ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert factories.event_names(job_id).count("PROMOTED") == 1
    assert_line_is_sound(job_id)
