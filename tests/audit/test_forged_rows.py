"""Forged rows whose hashes fit but whose time, end or number of seats cannot be."""

from __future__ import annotations

from datetime import timedelta

import pytest

from jobs.models import Job
from pipeline.line.event_log import GENESIS
from pipeline.models import Event
from tests.audit.test_forged_logs import first_bad_seq, forge, set_data
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


def _a_day_earlier(row: Event) -> None:
    row.at -= timedelta(days=1)
    row.effective_at -= timedelta(days=1)


def test_a_row_that_says_it_came_before_the_one_before_it_is_named() -> None:
    job_id = factories.job()
    factories.applications(job_id, 2)

    seq = forge(job_id, "APPLIED", _a_day_earlier)

    assert first_bad_seq(job_id) == seq


def test_a_job_row_with_another_chain_head_than_the_log_is_named() -> None:
    job_id = factories.job()
    Job.objects.filter(id=job_id).update(chain_head=GENESIS)

    assert first_bad_seq(job_id) == factories.row_of(job_id).seq


def test_a_job_without_a_seat_is_named() -> None:
    job_id = factories.job(capacity=2)
    factories.alter(job_id, capacity=1)

    seq = forge(job_id, "CAPACITY_CHANGED", set_data(capacity=0))

    assert first_bad_seq(job_id) == seq
