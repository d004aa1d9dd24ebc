"""More time for an offer at the very moment of its deadline: whichever is first counts."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError

from pipeline.models import Application
from pipeline.services import leaving as withdrawing
from pipeline.services import settling, turns
from pipeline.services.settling import settle_next_due
from pipeline.services.turns import extend_deadline
from tests.races.thinking import with_and_without_lock
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.together import kinds, together

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


locked = with_and_without_lock(turns, withdrawing)


def extending(person: Application, more: timedelta = HOUR) -> Callable[[], Application]:
    deadline = factories.fresh(person).acknowledge_by
    assert deadline is not None
    return partial(
        turns.extend_offer,
        application_id=person.id,
        acknowledge_by=deadline + more,
        actor=factories.RECRUITER,
    )


def leaving(person: Application) -> Callable[[], Any]:
    actor = factories.owner_of(person)
    return partial(withdrawing.withdraw, application_id=person.id, actor=actor)


def test_only_the_lock_keeps_an_offer_from_running_on_after_its_person_has_left(
    locked: bool,
) -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person, second = factories.applications(job_id, 2)

    answers = together([leaving(person), extending(person)])

    failed = [answer for answer in answers if isinstance(answer, IntegrityError)]
    assert not failed if locked else failed  # the unique sequence is the second line of defence
    if not locked:
        return
    assert kinds(answers) in (["Application", "Application"], ["Application", "IllegalMove"])
    assert factories.statuses(person, second) == ["WITHDRAWN", "PENDING_ACKNOWLEDGMENT"]
    assert_line_is_sound(job_id)


@pytest.mark.parametrize("round_number", range(8))
def test_at_its_deadline_an_offer_is_missed_or_extended_and_never_both(round_number: int) -> None:
    """The deadline passes while all wait a moment: before some of them act, or after."""
    job_id = factories.job(acknowledge_first_seat=True)
    person, second = factories.applications(job_id, 2)
    let_time_pass(job_id, factories.WINDOW - 0.05)
    extend = extending(person)

    def later(act: Callable[[], Any]) -> Any:
        time.sleep(0.015 * round_number)
        return act()

    answers = together([partial(later, act) for act in (settle_next_due, extend, settle_next_due)])

    names = factories.event_names(job_id)
    was_extended = isinstance(answers[1], Application)
    assert was_extended or type(answers[1]).__name__ == "AcknowledgmentExpired"
    assert (names.count("DEADLINE_EXTENDED"), names.count("DECAYED")) == (
        (1, 0) if was_extended else (0, 1)
    )
    wanted = ["PENDING_ACKNOWLEDGMENT", "WAITLIST"]
    assert factories.statuses(person, second) == (wanted if was_extended else wanted[::-1])
    assert_line_is_sound(job_id)


def test_two_colleagues_and_the_system_extend_one_after_the_other() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person = factories.application(job_id)
    first, second = extending(person), extending(person, 2 * HOUR)

    answers = together(
        [first, second, partial(extend_deadline, application_id=person.id, seconds=60)]
    )

    given = [each for each in answers if isinstance(each, Application)]
    names = factories.event_names(job_id)
    assert names.count("DEADLINE_EXTENDED") == len(given) >= 2
    refused = [type(each).__name__ for each in answers if not isinstance(each, Application)]
    assert set(refused) <= {"NotExtendable"}  # an earlier time than one that was just given
    assert_line_is_sound(job_id)


def test_the_decay_worker_sleeps_until_the_new_deadline() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    person = factories.application(job_id)
    extending(person)()
    let_time_pass(job_id, factories.WINDOW)

    settle_next_due()

    left = settling.seconds_until_settlement()
    assert left == pytest.approx(HOUR.total_seconds(), abs=5)
