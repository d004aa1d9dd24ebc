"""The reason for the last change of a person's place, found in the log."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.domain.states import EventType, ReinstatementReason
from pipeline.models import Application
from pipeline.selectors import timelines
from pipeline.selectors.timelines import last_position_change
from pipeline.services.leaving import reinstate, withdraw
from tests.support import factories
from tests.support.clock import let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)


def change_for(application: Application) -> Any:
    return last_position_change(factories.fresh(application))


def leave(application: Application) -> None:
    withdraw(application_id=application.id, actor=factories.owner_of(application))


def test_joining_is_the_first_change() -> None:
    *_others, last = factories.applications(factories.job(), 3)

    found = change_for(last)

    assert (found.event, found.own) == (EventType.APPLIED, True)
    assert found.at == last.applied_at


def test_a_promotion_ahead_moves_everybody_up_and_counts_all_of_one_moment() -> None:
    job = factories.job()
    people = factories.applications(job, 5)

    factories.alter(job, capacity=3)

    found = change_for(people[-1])
    assert (found.event, found.people, found.own) == (EventType.PROMOTED, 2, False)


def test_who_leaves_from_behind_or_from_a_seat_changes_nothing() -> None:
    job = factories.job()
    _holder, waiting, behind = factories.applications(job, 3)

    leave(behind)

    assert change_for(waiting).own


def test_a_miss_is_ones_own_change() -> None:
    job = factories.job(acknowledge_first_seat=True)
    first, _second = factories.applications(job, 2)
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()

    found = change_for(first)

    assert (found.event, found.own) == (EventType.DECAYED, True)


def test_newcomers_who_pass_after_a_miss_are_told() -> None:
    job = factories.job(acknowledge_first_seat=True, penalty_places=2)
    first, _second = factories.applications(job, 2)
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()

    factories.application(job)

    found = change_for(first)
    assert (found.event, found.own, found.people) == (EventType.APPLIED, False, 1)


def missed_first(**policy: object) -> list[Application]:
    """Three people: the first missed the only seat, the second is offered it, the third waits."""
    job = factories.job(acknowledge_first_seat=True, **policy)
    people = factories.applications(job, 3)
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()
    return people


def give_back(application: Application) -> None:
    reinstate(
        application_id=application.id,
        reason=ReinstatementReason.OUR_ERROR,
        actor=factories.RECRUITER,
    )


@pytest.mark.parametrize("misses_kept", [0, 3])
def test_who_is_passed_by_a_place_that_is_given_back_is_told(misses_kept: int) -> None:
    first, _second, third = missed_first(max_decays=misses_kept)

    give_back(first)

    found = change_for(third)
    assert (found.event, found.people, found.own) == (EventType.REINSTATED, 1, False)
    assert change_for(first).own


def test_who_stood_behind_both_places_is_not_moved() -> None:
    first, *_others = missed_first(penalty_places=0)
    behind = factories.application(first.job_id)

    give_back(first)

    assert change_for(behind).own


def test_a_place_given_back_with_a_seat_at_once_moves_nobody() -> None:
    job = factories.job(acknowledge_first_seat=True, cooldown_seconds=86_400)
    first, second = factories.applications(job, 2)
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()
    let_time_pass(job, factories.WINDOW)
    factories.settle_all()  # both have missed, so the seat is free

    give_back(second)  # passes the first, and leaves the line in the same moment

    assert factories.status_of(second) == "PENDING_ACKNOWLEDGMENT"
    found = change_for(first)
    assert (found.event, found.own) == (EventType.DECAYED, True)


def test_only_so_much_of_the_log_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(timelines, "LOOKED_AT", 3)
    job = factories.job()
    _holder, waiting = factories.applications(job, 2)
    factories.applications(job, 4)

    row = factories.fresh(waiting)
    with django_assert_num_queries(1):
        assert last_position_change(row) is None


def test_who_does_not_wait_has_no_place() -> None:
    assert change_for(factories.application(factories.job())) is None
