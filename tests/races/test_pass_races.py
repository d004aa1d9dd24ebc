"""Passing an offer at the very moment of another answer, or of its deadline: one of them counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError

from pipeline.models import Application
from pipeline.services import leaving as withdrawing
from pipeline.services import turns as acknowledging
from pipeline.services import turns as asking
from pipeline.services import turns as passing
from pipeline.services.settling import settle_next_due
from tests.races.thinking import with_and_without_lock
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)

locked = with_and_without_lock(acknowledging, passing, asking, withdrawing)


def verb(service: Callable[..., Any], application: Application, **more: Any) -> Callable[[], Any]:
    actor = factories.owner_of(application)
    return partial(service, application_id=application.id, actor=actor, **more)


def offered() -> tuple[Application, Application]:
    """Someone with an offer, and the next in line."""
    seated, first, second = factories.applications(factories.job(), 3)
    leave(seated)
    return factories.fresh(first), second


def test_only_the_lock_keeps_an_offer_from_being_passed_and_confirmed(locked: bool) -> None:
    first, second = offered()

    answers = together([verb(acknowledging.acknowledge, first), verb(passing.pass_offer, first)])

    failed = [answer for answer in answers if isinstance(answer, IntegrityError)]
    assert not failed if locked else failed  # the unique sequence is the second line of defence
    if not locked:
        return
    refused = [type(each).__name__ for each in answers if not isinstance(each, Application)]
    assert refused == ["IllegalMove"]
    confirmed = isinstance(answers[0], Application)
    assert factories.statuses(first, second) == (
        ["ACTIVE", "WAITLIST"] if confirmed else ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
    )
    assert_line_is_sound(first.job_id)


def test_a_person_who_leaves_and_passes_at_once_is_gone_or_refused(locked: bool) -> None:
    first, second = offered()

    answers = together([verb(withdrawing.withdraw, first), verb(passing.pass_offer, first)])

    failed = [answer for answer in answers if isinstance(answer, IntegrityError)]
    assert not failed if locked else failed
    if locked:
        assert factories.statuses(first, second) == ["WITHDRAWN", "PENDING_ACKNOWLEDGMENT"]
        assert_line_is_sound(first.job_id)


def test_a_wish_at_the_moment_of_the_turn_is_used_or_refused(locked: bool) -> None:
    seated, first, second = factories.applications(factories.job(), 3)

    answers = together(
        [
            verb(withdrawing.withdraw, seated),
            verb(asking.pass_next, first, wanted=True),
        ]
    )

    failed = [answer for answer in answers if isinstance(answer, IntegrityError)]
    assert not failed if locked else failed
    if not locked:
        return
    pending = "PENDING_ACKNOWLEDGMENT"
    was_first = isinstance(answers[1], Application)
    assert factories.statuses(first, second) == (
        ["WAITLIST", pending] if was_first else [pending, "WAITLIST"]
    )
    assert_line_is_sound(first.job_id)


def test_six_passes_at_once_are_one() -> None:
    first, _ = offered()

    together([verb(passing.pass_offer, first) for _ in range(6)])

    assert factories.fresh(first).passes_used == 1
    assert factories.event_names(first.job_id).count("PASSED") == 1
    assert_line_is_sound(first.job_id)


@pytest.mark.parametrize("round_number", range(5))
def test_at_the_deadline_it_is_a_pass_or_a_miss_and_never_both(round_number: int) -> None:
    first, _ = offered()
    let_time_pass(first.job_id, factories.WINDOW - 0.03)

    def later() -> Any:
        time.sleep(0.025 + round_number / 500)
        return verb(passing.pass_offer, first)()

    together([settle_next_due, later, settle_next_due])
    time.sleep(0.05)
    factories.settle_all()

    row = factories.fresh(first)
    assert (row.passes_used, row.decay_count) in ((1, 0), (0, 1))
    assert_line_is_sound(first.job_id)
