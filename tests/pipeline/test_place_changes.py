"""Why somebody's place in line last changed, found in the log."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.models import Application
from pipeline.selectors import moves
from pipeline.selectors.moves import last_change_of_position
from pipeline.services.withdraw import withdraw
from pipeline.states import EventType
from tests import make
from tests.clock import let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)


def change_for(application: Application) -> Any:
    return last_change_of_position(make.fresh(application))


def leave(application: Application) -> None:
    withdraw(application_id=application.id, actor=make.owner_of(application))


def test_joining_is_the_first_change() -> None:
    *_others, last = make.applications(make.job(), 3)

    found = change_for(last)

    assert (found.event, found.own) == (EventType.APPLIED, True)
    assert found.at == last.applied_at


def test_a_promotion_ahead_moves_everybody_up_and_counts_all_of_one_moment() -> None:
    job = make.job()
    people = make.applications(job, 5)

    make.alter(job, capacity=3)

    found = change_for(people[-1])
    assert (found.event, found.people, found.own) == (EventType.PROMOTED, 2, False)


def test_who_leaves_from_behind_or_from_a_seat_changes_nothing() -> None:
    job = make.job()
    _holder, waiting, behind = make.applications(job, 3)

    leave(behind)

    assert change_for(waiting).own


def test_a_miss_is_ones_own_change() -> None:
    job = make.job(acknowledge_first_seat=True)
    first, _second = make.applications(job, 2)
    let_time_pass(job, make.WINDOW)
    make.settle_all()

    found = change_for(first)

    assert (found.event, found.own) == (EventType.DECAYED, True)


def test_newcomers_who_pass_after_a_miss_are_told() -> None:
    job = make.job(acknowledge_first_seat=True, penalty_places=2)
    first, _second = make.applications(job, 2)
    let_time_pass(job, make.WINDOW)
    make.settle_all()

    make.application(job)

    found = change_for(first)
    assert (found.event, found.own, found.people) == (EventType.APPLIED, False, 1)


def test_only_so_much_of_the_log_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    monkeypatch.setattr(moves, "LOOKED_AT", 3)
    job = make.job()
    _holder, waiting = make.applications(job, 2)
    make.applications(job, 4)

    row = make.fresh(waiting)
    with django_assert_num_queries(1):
        assert last_change_of_position(row) is None


def test_who_does_not_wait_has_no_place() -> None:
    assert change_for(make.application(make.job())) is None
