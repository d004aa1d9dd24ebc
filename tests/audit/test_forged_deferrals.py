"""Forged deferrals: people who ask for no seat yet keep the place, and get none meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from pipeline.domain.states import Move
from pipeline.line.lock import lock_job_of
from pipeline.line.moves import make_move
from pipeline.line.write import write
from pipeline.models import Event
from pipeline.services.turns import defer
from tests.audit.test_forged_logs import first_bad_seq, forge, set_data
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import database_now

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def put_off() -> UUID:
    """A job in which one of two asked for no seat yet, and the other was offered it."""
    job_id = factories.job()
    seated, first, _second = factories.applications(job_id, 3)
    until = database_now() + timedelta(days=1)
    defer(application_id=first.id, not_before=until, actor=factories.owner_of(first))
    leave(seated)
    return job_id


@pytest.mark.parametrize(
    "change",
    [
        set_data(ticket=0),
        set_data(tie=1),
        set_data(decay_count=1),
        set_data(eligible_at="2126-01-01T00:00:00.000000Z"),
        set_data(not_before="2026-01-01T00:00:00.000000Z"),
        set_data(not_before="2126-01-01T00:00:00.000000Z"),
        set_data(verify_by="2126-01-01T00:00:00.000000Z"),
        lambda row: setattr(row, "actor_kind", "COMPANY"),
        lambda row: setattr(row, "event", "VERIFIED"),
    ],
)
def test_a_deferral_that_changes_anything_else_is_named(
    put_off: UUID, change: Callable[[Event], Any]
) -> None:
    seq = forge(put_off, "DEFERRED", change)

    assert first_bad_seq(put_off) == seq


def test_no_other_event_puts_a_turn_off(put_off: UUID) -> None:
    seq = forge(put_off, "PROMOTED", set_data(not_before="2126-01-01T00:00:00.000000Z"))

    assert first_bad_seq(put_off) == seq


def test_a_promotion_of_somebody_who_wants_no_seat_yet_is_named() -> None:
    job_id = factories.job()
    _seated, waiting = factories.applications(job_id, 2)
    until = database_now() + timedelta(days=1)
    defer(application_id=waiting.id, not_before=until, actor=factories.owner_of(waiting))
    factories.alter(job_id, capacity=2)
    with transaction.atomic():
        job = lock_job_of(waiting.id)
        make_move(job, job.application(waiting.id), Move.PROMOTE)
        write(job)

    assert first_bad_seq(job_id) == factories.row_of(job_id).seq
