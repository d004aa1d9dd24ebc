"""Closed jobs for the archive of logs, and its commands."""

from __future__ import annotations

from io import StringIO
from typing import Any
from uuid import UUID

from django.core.management import call_command

from pipeline.services.jobs import close_job
from tests.support import factories
from tests.support.clock import let_time_pass

MONTH = 31 * 86_400


def closed_job(*, ago_seconds: float = MONTH) -> UUID:
    """Make a job in which people missed, left, were promoted and were released when it closed."""
    job_id = factories.job(capacity=2, acknowledge_first_seat=True)
    factories.applications(job_id, 5)
    let_time_pass(job_id, factories.WINDOW)
    factories.settle_all()
    close_job(job_id=job_id, actor=factories.RECRUITER)
    factories.settle_all()
    let_time_pass(job_id, ago_seconds)
    return job_id


def said_by(command: str, *given: Any, **options: Any) -> str:
    said = StringIO()
    call_command(command, *given, stdout=said, **options)
    return said.getvalue()
