"""Exceptions and reserved seats under concurrency, each with the control that shows the lock."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError

from pipeline.domain.states import ExceptionReason, GroupKind
from pipeline.models import Application, GroupClaim
from pipeline.services import exceptions, leaving, reserved
from pipeline.services.reserved import Reserve, reserve_seats
from tests.races.thinking import with_and_without_lock
from tests.support import factories
from tests.support.invariants import assert_line_is_sound
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)

locked = with_and_without_lock(exceptions, leaving, reserved)


def moving(person: Application) -> Callable[[], Any]:
    reason, actor = ExceptionReason.OUR_ERROR, factories.RECRUITER
    return partial(exceptions.move_ahead, application_id=person.id, reason=reason, actor=actor)


def leaving_of(person: Application) -> Callable[[], Any]:
    actor = factories.owner_of(person)
    return partial(leaving.withdraw, application_id=person.id, actor=actor)


def assert_as_locked(answers: list[Any], *, locked: bool) -> bool:
    """Without the lock, changes collide; the unique sequence is the second line of defence."""
    failed = [answer for answer in answers if isinstance(answer, IntegrityError)]
    assert not failed if locked else failed
    return locked


def test_two_exceptions_at_once_are_one_after_the_other(locked: bool) -> None:
    people = factories.applications(factories.job(), 5)

    answers = together([moving(people[3]), moving(people[4]), leaving_of(people[0])])

    if not assert_as_locked(answers, locked=locked):
        return
    assert not [answer for answer in answers if isinstance(answer, Exception)]
    tickets = {factories.fresh(each).ticket for each in people[3:] if each.ticket}
    assert len(tickets) == 2
    assert_line_is_sound(people[0].job_id)


def test_two_people_of_the_group_cannot_both_take_the_last_reserved_seat(locked: bool) -> None:
    job = factories.job(capacity=2)
    reserve = Reserve(1, GroupKind.INTERNAL)
    reserve_seats(job_id=job, reserve=reserve, actor=factories.RECRUITER)
    factories.application(job)
    people = [factories.application(job, group_code="") for _ in range(2)]

    answers = together(
        [
            partial(
                reserved.decide_claim,
                application_id=person.id,
                confirms=True,
                actor=factories.RECRUITER,
            )
            for person in people
        ]
    )

    if not assert_as_locked(answers, locked=locked):
        return
    assert sorted(factories.statuses(*people)) == ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert GroupClaim.objects.filter(state="CONFIRMED").count() == 2
    assert_line_is_sound(job)
