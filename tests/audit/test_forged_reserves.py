"""Forged reserved seats: never more than there are, nobody unnoted, and each end when announced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from pipeline.domain.states import GroupKind
from pipeline.models import Event
from pipeline.services.reserved import Reserve, reserve_seats
from tests.audit.test_forged_logs import first_bad_seq, forge, set_data
from tests.support import factories
from tests.support.invariants import assert_line_is_sound

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def job_id() -> UUID:
    """A job with two seats, of which one is reserved and taken, and the other taken too."""
    job = factories.job(capacity=2)
    reserve = Reserve(1, GroupKind.LEGAL_PREFERENCE, code="CODE")
    reserve_seats(job_id=job, reserve=reserve, actor=factories.RECRUITER)
    factories.application(job)
    factories.application(job, group_code="CODE")
    assert_line_is_sound(job)
    return job


@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("RESERVE_CHANGED", set_data(reserved_seats=20_000)),
        ("RESERVE_CHANGED", set_data(reserved_for="FRIENDS")),
        ("RESERVE_CHANGED", lambda row: row.data.pop("reserved_seats")),
        ("RESERVE_CHANGED", lambda row: setattr(row, "actor_kind", "SYSTEM")),
        ("GROUP_NOTED", lambda row: row.data.pop("claim_digest")),
        ("GROUP_NOTED", lambda row: setattr(row, "actor_kind", "SYSTEM")),
        ("GROUP_NOTED", set_data(ticket=99)),
        ("PROMOTED", lambda row: row.data.pop("reserved")),  # then nobody of the group is seated
        ("PROMOTED", set_data(reserved_taken=0)),
        ("APPLIED", set_data(reserved=True)),
    ],
)
def test_a_row_that_gives_reserved_seats_otherwise_is_named(
    job_id: UUID, event: str, change: Callable[[Event], Any]
) -> None:
    seq = forge(job_id, event, change)

    assert first_bad_seq(job_id) == seq


def test_a_reserved_seat_for_a_person_about_whom_nothing_was_decided_is_named() -> None:
    job = factories.job(capacity=2)
    reserve = Reserve(1, GroupKind.INTERNAL)
    reserve_seats(job_id=job, reserve=reserve, actor=factories.RECRUITER)
    factories.application(job)

    seq = forge(job, "APPLIED", set_data(reserved=True, reserved_taken=1))

    assert first_bad_seq(job) == seq
