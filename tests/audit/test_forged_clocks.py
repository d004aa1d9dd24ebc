"""Forged clocks of sandboxes: only an advance moves one, by what it says, and only forward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from jobs.models import Job
from pipeline.audit.verify import verify_job
from pipeline.models import Event
from tests.audit.test_forged_logs import first_bad_seq, forge, set_data
from tests.support import factories
from tests.support.sandboxes import advance, sandbox

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("event", "change"),
    [
        ("CLOCK_ADVANCED", set_data(seconds=0)),
        ("CLOCK_ADVANCED", set_data(seconds=59)),
        ("CLOCK_ADVANCED", set_data(clock_offset_seconds=59)),
        ("CLOCK_ADVANCED", lambda row: row.data.pop("clock_offset_seconds")),
        ("CAPACITY_CHANGED", set_data(clock_offset_seconds=61)),
    ],
)
def test_a_clock_that_moves_otherwise_is_named(event: str, change: Callable[[Event], Any]) -> None:
    company = sandbox()
    job_id = factories.job(company_id=company.id)
    advance(company, 60)
    factories.alter(job_id, capacity=2)

    seq = forge(job_id, event, change)

    assert first_bad_seq(job_id) == seq


def test_a_live_job_has_no_clock() -> None:
    job_id = factories.job()

    seq = forge(job_id, "JOB_OPENED", set_data(clock_offset_seconds=0))

    assert first_bad_seq(job_id) == seq


def test_a_row_whose_clock_is_not_that_of_the_log_is_named() -> None:
    company = sandbox()
    job_id = factories.job(company_id=company.id)
    advance(company, 60)
    Job.objects.filter(id=job_id).update(clock_offset_seconds=120)

    [difference] = verify_job(job_id).differences

    assert difference == "job: clock_offset_seconds is 120, the log says 60"
