"""Forged extensions: an open offer gets a later deadline, a few times, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import transaction

from pipeline.domain.states import MOST_EXTENSIONS, SYSTEM, Move
from pipeline.line.lock import lock_job_of
from pipeline.line.moves import make_move
from pipeline.line.write import write
from pipeline.models import Application, Event
from pipeline.services.turns import extend_deadline, extend_offer
from tests.audit.test_forged_logs import first_bad_seq, forge, set_data
from tests.support import factories
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def person() -> Application:
    """Someone whose offer the company has extended."""
    offered = factories.application(factories.job(acknowledge_first_seat=True))
    assert offered.acknowledge_by is not None
    until = offered.acknowledge_by + timedelta(hours=1)
    return extend_offer(application_id=offered.id, acknowledge_by=until, actor=factories.RECRUITER)


@pytest.mark.parametrize(
    "change",
    [
        set_data(deadline="2026-01-01T00:00:00.000000Z"),
        set_data(deadline="2126-01-01T00:00:00.000000Z"),
        set_data(decay_count=1),
        set_data(passes_used=1),
        set_data(eligible_at="2126-01-01T00:00:00.000000Z"),
        lambda row: setattr(row, "actor_kind", "APPLICANT"),
    ],
)
def test_an_extension_that_changes_anything_else_is_named(
    person: Application, change: Callable[[Event], Any]
) -> None:
    seq = forge(person.job_id, "DEADLINE_EXTENDED", change)

    assert first_bad_seq(person.job_id) == seq


def _extended(person: Application, actor: Any) -> UUID:
    """Extend an offer without the checks of the services."""
    with transaction.atomic():
        job = lock_job_of(person.id)
        application = job.application(person.id)
        assert application.acknowledge_by is not None
        application.acknowledge_by += timedelta(minutes=1)
        make_move(job, application, Move.EXTEND, actor=actor)
        write(job)
    return person.job_id


def test_more_extensions_than_a_company_has_are_named(person: Application) -> None:
    for _ in range(MOST_EXTENSIONS - 1):
        _extended(person, factories.RECRUITER)
    assert_line_is_sound(person.job_id)

    _extended(person, factories.RECRUITER)

    assert first_bad_seq(person.job_id) == factories.row_of(person.job_id).seq


def test_the_system_gives_time_back_once(person: Application) -> None:
    extend_deadline(application_id=person.id, seconds=60)
    assert_line_is_sound(person.job_id)

    _extended(person, SYSTEM)

    assert first_bad_seq(person.job_id) == factories.row_of(person.job_id).seq
