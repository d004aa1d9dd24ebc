"""Whether a job's log was removed: asked only of closed jobs, because only their logs go."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.models import Job, JobStatus
from pipeline.line import removed_logs
from pipeline.line.removed_logs import removal_time
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("status", JobStatus)
def test_only_a_closed_job_takes_a_query(status: JobStatus) -> None:
    job = Job(id=uuid4(), status=status)

    with CaptureQueriesContext(connection) as asked:
        removed_logs.refuse_known(job)
        assert removal_time(job) is None

    assert len(asked) == (2 if status == JobStatus.CLOSED else 0)


def test_a_log_that_is_there_is_not_refused() -> None:
    removed_logs.refuse(factories.job())
