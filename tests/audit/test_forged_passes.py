"""Forged passes: more than the rules allow, after the deadline, to another place, for someone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from pipeline.audit.verify import verify_job
from pipeline.domain.states import SYSTEM, Actor, Move
from pipeline.line.lock import lock_job_of
from pipeline.line.locked_job import LockedJob
from pipeline.line.misses import read_waiting_place
from pipeline.line.moves import make_move
from pipeline.line.write import write
from pipeline.models import Application, Event
from pipeline.services.turns import defer, pass_next, pass_offer
from tests.audit.test_forged_logs import first_bad_seq, forge, set_data
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import database_now, let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)
LATER = "2126-01-01T00:00:00.000000Z"


def line_of_three() -> tuple[UUID, Application, Application, Application]:
    job_id = factories.job()
    seated, first, second = factories.applications(job_id, 3)
    return job_id, seated, first, second


@pytest.fixture
def passed() -> UUID:
    """A job in which someone asked to pass, took it back, and passed the open offer."""
    job_id, seated, first, _ = line_of_three()
    actor = factories.owner_of(first)
    pass_next(application_id=first.id, wanted=True, actor=actor)
    pass_next(application_id=first.id, wanted=False, actor=actor)
    leave(seated)
    pass_offer(application_id=first.id, actor=actor)
    return job_id


@pytest.mark.parametrize("event", ["PASSED", "PASS_ASKED"])
@pytest.mark.parametrize(
    "change",
    [
        set_data(ticket=7),
        set_data(tie=1),
        set_data(decay_count=1),
        set_data(eligible_at=LATER),
        set_data(passed_at=LATER),
        set_data(not_before=LATER),
        set_data(accept_until=LATER),
        set_data(passes_used=2),
        set_data(verify_by=LATER),
        lambda row: setattr(row, "actor_kind", "COMPANY"),
        lambda row: setattr(row, "event", "DEFERRED"),
    ],
)
def test_a_pass_that_changes_anything_else_is_named(
    passed: UUID, event: str, change: Callable[[Event], Any]
) -> None:
    seq = forge(passed, event, change)

    assert first_bad_seq(passed) == seq


@pytest.mark.parametrize("name", ["PROMOTED", "WITHDRAWN"])
@pytest.mark.parametrize("change", [{"pass_next": True}, {"passes_used": 1}, {"passed_at": LATER}])
def test_no_other_event_passes_a_turn(passed: UUID, name: str, change: dict[str, Any]) -> None:
    seq = forge(passed, name, set_data(**change))

    assert first_bad_seq(passed) == seq


def write_forged(application: Application, forged: Callable[[LockedJob, Application], Any]) -> int:
    """Have the line write what no service would, and return the last seq."""
    with transaction.atomic():
        job = lock_job_of(application.id)
        forged(job, job.application(application.id))
        write(job)
    return factories.row_of(application.job_id).seq


def pass_as(
    actor: Callable[[Application], Actor], shift: int = 0
) -> Callable[[LockedJob, Application], Any]:
    def forged(job: LockedJob, row: Application) -> None:
        ticket, row.tie = read_waiting_place(row)
        row.ticket = ticket + shift
        job.head_ticket = min(job.head_ticket, row.ticket)
        make_move(job, row, Move.PASS, actor=actor(row))

    return forged


@pytest.mark.parametrize(
    "forged",
    [pass_as(factories.owner_of, shift=1), pass_as(lambda _: SYSTEM)],
    ids=["to another place", "by someone else"],
)
def test_an_offer_is_passed_by_the_person_and_to_their_place(
    forged: Callable[[LockedJob, Application], Any],
) -> None:
    job_id, seated, first, _ = line_of_three()
    leave(seated)

    assert write_forged(first, forged) == first_bad_seq(job_id)


def test_an_offer_is_passed_before_its_deadline() -> None:
    job_id, seated, first, _ = line_of_three()
    leave(seated)
    let_time_pass(job_id, factories.WINDOW)

    assert write_forged(first, pass_as(factories.owner_of)) == first_bad_seq(job_id)


def test_nobody_passes_beyond_the_limit() -> None:
    job_id, seated, first, _ = line_of_three()
    factories.alter(job_id, policy={"max_passes": 0})
    leave(seated)

    assert write_forged(first, pass_as(factories.owner_of)) == first_bad_seq(job_id)


def test_nobody_asks_beyond_the_limit() -> None:
    job_id, _seated, first, _ = line_of_three()
    factories.alter(job_id, policy={"max_passes": 0})

    def ask(job: LockedJob, row: Application) -> None:
        row.pass_next = True
        make_move(job, row, Move.ASK_PASS, actor=factories.owner_of(row))

    assert write_forged(first, ask) == first_bad_seq(job_id)


def test_a_turn_that_nobody_asked_to_pass_is_named() -> None:
    job_id, _seated, first, _ = line_of_three()

    assert write_forged(first, lambda job, row: make_move(job, row, Move.PASS)) == first_bad_seq(
        job_id
    )


@pytest.mark.parametrize("held", [False, True])
def test_a_turn_that_cannot_have_come_yet_is_named(held: bool) -> None:
    job_id, _seated, first, _ = line_of_three()
    actor = factories.owner_of(first)
    pass_next(application_id=first.id, wanted=True, actor=actor)
    if held:
        tomorrow = database_now() + timedelta(days=1)
        defer(application_id=first.id, not_before=tomorrow, actor=actor)

    seq = write_forged(first, lambda job, row: make_move(job, row, Move.PASS))

    assert verify_job(job_id).first_bad_seq == (seq if held else None)


def test_a_seat_for_somebody_who_asked_to_pass_it_is_named() -> None:
    job_id, _seated, first, _ = line_of_three()
    pass_next(application_id=first.id, wanted=True, actor=factories.owner_of(first))
    factories.alter(job_id, policy={"cooldown_seconds": 60})

    assert write_forged(first, lambda job, row: make_move(job, row, Move.PROMOTE)) == first_bad_seq(
        job_id
    )


def test_a_seat_in_the_cool_down_of_a_pass_is_named(passed: UUID) -> None:
    person = Application.objects.get(job_id=passed, passes_used=1)
    assert person.eligible_at == (person.passed_at or 0) + timedelta(seconds=factories.COOLDOWN)

    assert write_forged(
        person, lambda job, row: make_move(job, row, Move.PROMOTE)
    ) == first_bad_seq(passed)


def test_rules_from_before_there_were_passes_verify_and_allow_none() -> None:
    job_id, seated, first, _ = line_of_three()

    def older(row: Event) -> None:
        row.data["policy"].pop("max_passes")

    assert forge(job_id, "JOB_OPENED", older)
    leave(seated)
    pass_offer(application_id=first.id, actor=factories.owner_of(first))

    assert first_bad_seq(job_id) == factories.row_of(job_id).seq - 1


@pytest.mark.parametrize("change", [{"passes_used": 0}, {"passed_at": None}])
def test_no_later_event_takes_a_pass_back(passed: UUID, change: dict[str, Any]) -> None:
    person = Application.objects.get(job_id=passed, passes_used=1)
    leave(person)
    own = Event.objects.filter(application_id=person.id, event="WITHDRAWN")
    assert {own.get().data[name] for name in change} != set(change.values())

    seq = forge(passed, "WITHDRAWN", set_data(**change))

    assert first_bad_seq(passed) == seq
