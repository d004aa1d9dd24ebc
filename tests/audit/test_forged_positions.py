"""Forged logs whose hashes fit but in which positions or dates were not kept to."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from pipeline.audit.verify import verify_job
from pipeline.domain.states import IfLast, Outcome
from pipeline.line.event_log import logged_time
from pipeline.models import Event
from pipeline.services.jobs import JobChanges, update_job
from pipeline.services.leaving import remove
from tests.audit.test_forged_logs import first_bad_seq, forge
from tests.support import factories
from tests.support.clock import database_now, let_time_pass

pytestmark = pytest.mark.django_db(transaction=True)


def history() -> UUID:
    """A job that opened, was filled, got a position more, was filled and closed, at dates."""
    now = database_now()
    hiring = {
        "positions_to_fill": 1,
        "opens_at": now + timedelta(seconds=600),
        "closes_at": now + timedelta(seconds=9_000),
    }
    job_id = factories.job(capacity=2, open_now=False, hiring=hiring)
    let_time_pass(job_id, 700)
    first, second, *_ = factories.applications(job_id, 4)
    how: dict[str, Any] = {"outcome": Outcome.HIRED, "actor": factories.RECRUITER}
    remove(application_id=first.id, if_last=IfLast.GO_ON, **how)
    dates = JobChanges(hiring={"closes_at": database_now() + timedelta(seconds=600)})
    update_job(job_id=job_id, changes=dates, actor=factories.RECRUITER)
    remove(application_id=second.id, if_last=IfLast.STAY, **how)
    let_time_pass(job_id, 700)
    factories.settle_all()
    factories.settle_all()
    assert verify_job(job_id).is_sound
    return job_id


def _later(row: Event) -> None:
    row.effective_at = row.at


def _by_company(row: Event) -> None:
    row.actor_kind = "COMPANY"


def _by_system(row: Event) -> None:
    row.actor_kind = "SYSTEM"


def _filled(row: Event) -> None:
    row.data["filled_by_seq"] = row.seq - 1


def _other_closing(row: Event) -> None:
    row.data["closes_at"] = logged_time(row.at + timedelta(days=3))


@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("JOB_OPENED", _later),
        ("JOB_CLOSED", _later),
        ("JOB_OPENED", lambda row: row.data.pop("opens_at")),
        ("JOB_OPENED", lambda row: row.data.update(positions_to_fill=2)),
        ("POSITIONS_CHANGED", lambda row: row.data.update(positions_to_fill=1)),
        ("POSITIONS_CHANGED", lambda row: row.data.update(positions_to_fill=20_000)),
        ("POSITIONS_CHANGED", _by_system),
        ("DATES_CHANGED", _by_system),
        ("DATES_CHANGED", lambda row: row.data.pop("opens_at")),
        ("REMOVED", lambda row: row.data.update(hired=0)),
        ("JOB_CLOSED", _other_closing),
        ("JOB_CLOSED", _filled),
    ],
)
def test_positions_and_dates_that_were_not_kept_to_are_named(
    event: str, change: Callable[[Event], Any]
) -> None:
    job_id = history()

    forged = forge(job_id, event, change)

    assert first_bad_seq(job_id) == forged


def test_a_seat_offered_although_every_position_is_filled_is_named() -> None:
    job_id = factories.job(capacity=2, hiring={"positions_to_fill": 2})
    first, *_ = factories.applications(job_id, 4)
    remove(application_id=first.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)
    assert verify_job(job_id).is_sound

    def lower(row: Event) -> None:
        row.data["positions_to_fill"] = 1

    for event in ("JOB_CREATED", "JOB_OPENED"):
        forge(job_id, event, lower)

    offered = Event.objects.get(job_id=job_id, event="PROMOTED")
    assert first_bad_seq(job_id) == offered.seq


def test_hired_people_that_the_rows_do_not_have_are_named() -> None:
    job_id = factories.job(hiring={"positions_to_fill": 2})
    [person] = factories.applications(job_id, 1)
    remove(application_id=person.id, outcome=Outcome.HIRED, actor=factories.RECRUITER)

    row = factories.row_of(job_id)
    type(row).objects.filter(id=job_id).update(hired_count=0)

    assert "job: hired_count is 0, its rows count 1" in verify_job(job_id).differences
