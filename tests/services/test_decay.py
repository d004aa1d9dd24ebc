"""Decay: an offer that is missed costs the place, and the cascade moves on."""

from __future__ import annotations

import pytest

from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.offers import overdue_job

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_only_person_waiting_gets_offers_after_cooldowns_and_not_for_ever() -> None:
    job_id = overdue_job(max_decays=2)
    person = factories.Application.objects.get(job_id=job_id)
    assert factories.settle_all() == 1
    assert factories.status_of(person) == "WAITLIST"
    assert factories.settle_all() == 0

    for _ in range(5):
        let_time_pass(job_id, factories.COOLDOWN)
        factories.settle_all()
        let_time_pass(job_id, factories.WINDOW)
        factories.settle_all()

    assert factories.status_of(person) == "LAPSED"
    names = factories.event_names(job_id)
    assert (names.count("PROMOTED"), names.count("DECAYED"), names.count("LAPSED")) == (2, 2, 1)
    assert_line_is_sound(job_id)


def test_without_a_limit_misses_never_end_an_application() -> None:
    job_id = overdue_job(max_decays=None)
    person = factories.Application.objects.get(job_id=job_id)

    for _ in range(8):
        factories.settle_all()
        let_time_pass(job_id, factories.WINDOW)

    assert factories.fresh(person).decay_count >= 4
    assert factories.status_of(person) != "LAPSED"


def test_one_silent_person_at_the_head_does_not_block_the_line() -> None:
    job_id = overdue_job(cooldown_seconds=1)
    silent = factories.Application.objects.get(job_id=job_id)
    others = factories.applications(job_id, 3)

    assert factories.statuses(silent, *others) == [
        "WAITLIST",
        "PENDING_ACKNOWLEDGMENT",
        "WAITLIST",
        "WAITLIST",
    ]
    assert factories.line(job_id) == [others[1].id, silent.id, others[2].id]


def test_offers_that_ran_out_together_are_settled_by_deadline_then_id() -> None:
    job_id = factories.job(capacity=3, acknowledge_first_seat=True, penalty_places=1)
    people = factories.applications(job_id, 3)
    let_time_pass(job_id, factories.WINDOW)

    factories.settle_all()

    assert factories.line(job_id) == [person.id for person in people]
    assert len({row.eligible_at for row in map(factories.fresh, people)}) == 1
    assert_line_is_sound(job_id)


def test_each_miss_costs_more_places_and_the_last_allowed_one_is_told_apart() -> None:
    job_id = overdue_job(max_decays=3, penalty_places=2)
    person = factories.Application.objects.get(job_id=job_id)
    for _ in range(4):
        factories.settle_all()
        let_time_pass(job_id, factories.COOLDOWN)
        factories.settle_all()
        let_time_pass(job_id, factories.WINDOW)

    own = [each for each in factories.events(job_id) if each.application_id == person.id]
    missed = [(each.event, each.data.get("places")) for each in own if each.event != "PROMOTED"]
    assert missed[1:] == [("DECAYED", 2), ("DECAYED", 4), ("DECAYED", 6), ("LAPSED", None)]
