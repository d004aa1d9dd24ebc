"""Cool-down: the seat goes to the next eligible person, and nobody eligible is overtaken."""

from __future__ import annotations

import pytest

from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_newcomer_does_not_overtake_somebody_whose_cooldown_is_just_over() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    waiting = factories.application(job_id)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    let_time_pass(job_id, factories.COOLDOWN)

    newcomer = factories.application(job_id)

    assert factories.statuses(waiting, newcomer) == ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert_line_is_sound(job_id)


def test_a_seat_that_waits_for_a_cooldown_to_end_goes_to_a_newcomer() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    cooling = factories.application(job_id)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()

    newcomer = factories.application(job_id)

    assert factories.statuses(cooling, newcomer) == ["WAITLIST", "PENDING_ACKNOWLEDGMENT"]
    assert_line_is_sound(job_id)
