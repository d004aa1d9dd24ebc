"""Forged rows whose hashes fit but whose time, end or number of seats cannot be."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection, transaction

from jobs.models import Job
from pipeline.audit.verify import verify_job
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


@pytest.mark.parametrize("gone", [1, 2])
def test_a_log_that_ends_too_early_is_named_at_its_first_missing_row(gone: int) -> None:
    job_id = factories.job()
    factories.applications(job_id, 3)
    last = factories.row_of(job_id).seq
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        Event.objects.filter(job_id=job_id, seq__gt=last - gone).delete()

    assert first_bad_seq(job_id) == last - gone + 1
    [said] = verify_job(job_id).differences
    assert said.endswith(f"the log ends at {last - gone}, the job's row at {last}")


def test_a_job_row_behind_its_log_is_named() -> None:
    job_id = factories.job()
    factories.applications(job_id, 3)
    last = factories.row_of(job_id).seq
    Job.objects.filter(id=job_id).update(seq=last - 2)

    assert first_bad_seq(job_id) == last - 1


def test_a_noted_hash_is_known_whatever_the_case_of_its_letters() -> None:
    job_id = factories.job()
    row = factories.events(job_id)[0]
    digest = bytes(row.hash).hex()

    known = [
        verify_job(job_id, noted=noted).known
        for noted in ((1, digest), (1, digest.upper()), (1, digest[:-1] + "x"), (99, digest))
    ]

    assert known == [True, True, False, False]
    assert verify_job(job_id).known is None
