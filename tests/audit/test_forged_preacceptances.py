"""Forged answers in advance: people who say yes keep the place, and the next seat is theirs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from pipeline.audit.verify import verify_job
from pipeline.domain.states import EventType, Move
from pipeline.line.event_log import logged_time
from pipeline.line.lock import lock_job_of
from pipeline.line.moves import make_job_move, make_move
from pipeline.line.write import write
from pipeline.models import Event
from pipeline.services.turns import preaccept
from tests.audit.test_forged_logs import first_bad_seq, forge, set_data
from tests.support import factories
from tests.support.applicants import leave
from tests.support.clock import database_now

pytestmark = pytest.mark.django_db(transaction=True)

LATER = "2126-01-01T00:00:00.000000Z"


@pytest.fixture
def accepted() -> UUID:
    """A job in which one of two said yes in advance, and got the seat."""
    job_id = factories.job()
    seated, first, _second = factories.applications(job_id, 3)
    until = database_now() + timedelta(days=1)
    preaccept(application_id=first.id, accept_until=until, actor=factories.owner_of(first))
    leave(seated)
    return job_id


@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("PREACCEPTED", set_data(ticket=0)),
        ("PREACCEPTED", set_data(decay_count=1)),
        ("PREACCEPTED", set_data(eligible_at=LATER)),
        ("PREACCEPTED", set_data(not_before=LATER)),
        ("PREACCEPTED", set_data(accept_until="2026-01-01T00:00:00.000000Z")),
        ("PREACCEPTED", set_data(accept_until=LATER)),
        ("PREACCEPTED", lambda row: setattr(row, "actor_kind", "COMPANY")),
        ("PREACCEPTED", lambda row: setattr(row, "event", "DEFERRED")),
        ("PROMOTED", set_data(accepted_until=LATER)),
        ("PROMOTED", lambda row: row.data.pop("accepted_until")),
        ("PROMOTED", set_data(accept_until=LATER)),
        ("ACKNOWLEDGED", set_data(accepted_until=LATER)),
        ("ACKNOWLEDGED", lambda row: row.data.pop("accepted_until")),
        ("ACKNOWLEDGED", lambda row: setattr(row, "cause_seq", None)),
        ("ACKNOWLEDGED", lambda row: setattr(row, "at", row.at + timedelta(seconds=1))),
        ("WITHDRAWN", set_data(accepted_until=LATER)),
    ],
)
def test_a_forged_row_of_a_yes_is_named(
    accepted: UUID, event: str, change: Callable[[Event], Any]
) -> None:
    seq = forge(accepted, event, change)

    assert first_bad_seq(accepted) == seq


def test_a_promotion_that_ignores_a_yes_is_named() -> None:
    job_id = factories.job()
    _seated, waiting = factories.applications(job_id, 2)
    until = database_now() + timedelta(days=1)
    preaccept(application_id=waiting.id, accept_until=until, actor=factories.owner_of(waiting))
    with transaction.atomic():
        job = lock_job_of(waiting.id)
        job.capacity = 2
        make_move(job, job.application(waiting.id), Move.PROMOTE)
        write(job)

    assert first_bad_seq(job_id) == factories.row_of(job_id).seq


def test_a_confirmation_that_nobody_gave_is_named() -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    offered = factories.application(job_id)
    with transaction.atomic():
        job = lock_job_of(offered.id)
        row = job.application(offered.id)
        make_move(job, row, Move.ACKNOWLEDGE, facts={"accepted_until": LATER})
        write(job)

    assert first_bad_seq(job_id) == factories.row_of(job_id).seq


def test_a_log_that_ends_before_the_confirmation_is_named() -> None:
    job_id = factories.job()
    _seated, waiting = factories.applications(job_id, 2)
    until = database_now() + timedelta(days=1)
    preaccept(application_id=waiting.id, accept_until=until, actor=factories.owner_of(waiting))
    with transaction.atomic():
        job = lock_job_of(waiting.id)
        job.capacity = 2
        facts = {"accepted_until": logged_time(until)}
        make_job_move(job, EventType.CAPACITY_CHANGED, actor=factories.RECRUITER)
        make_move(job, job.application(waiting.id), Move.PROMOTE, facts=facts)
        write(job)

    verdict = verify_job(job_id)

    seq = factories.row_of(job_id).seq + 1
    assert verdict.first_bad_seq == seq
    assert verdict.differences == [
        f"seq {seq}: the log ends before a seat accepted in advance is confirmed"
    ]
