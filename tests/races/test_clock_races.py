"""An advance of a sandbox's clock beside changes of its lines, on connections of their own."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from threading import Event

import pytest
from django.db import connection, transaction

from jobs.models import Job
from pipeline.line import lock
from pipeline.services.leaving import withdraw
from pipeline.services.settling import settle_next_due
from tasks.sql.prepared import PreparedStatement
from tests.support import factories
from tests.support.clock import database_now
from tests.support.invariants import assert_line_is_sound
from tests.support.sandboxes import DAY, HOUR, advance, line_with_offers, sandbox
from tests.support.statements import source_of
from tests.support.together import (
    PATIENCE_SECONDS,
    started,
    together,
    wait_until_somebody_waits_for_a_lock,
)

pytestmark = pytest.mark.django_db(transaction=True)


def test_advances_beside_applies_withdrawals_creations_and_workers_leave_sound_lines() -> None:
    company = sandbox()
    policy = {"acknowledgment_window_seconds": DAY, "cooldown_seconds": HOUR}
    job_id, people = line_with_offers(company, people=8, seats=2, **policy)
    newcomers = [factories.applicant() for _ in range(6)]

    answers = together(
        [
            *(partial(advance, company, 2 * DAY) for _ in range(3)),
            *(
                partial(factories.application, job_id, person, actor=factories.RECRUITER)
                for person in newcomers
            ),
            *(
                partial(withdraw, application_id=each.id, actor=factories.owner_of(each))
                for each in people[-3:]
            ),
            *(settle_next_due for _ in range(2)),
            *(partial(factories.job, company_id=company.id) for _ in range(2)),
        ]
    )

    assert not [answer for answer in answers if isinstance(answer, Exception)]
    factories.settle_all()
    jobs = Job.objects.filter(company_id=company.id)
    assert set(jobs.values_list("clock_offset_seconds", flat=True)) == {6 * DAY}
    assert len(jobs) == 3
    for each in jobs:
        assert_line_is_sound(each.id)
    assert factories.event_names(job_id).count("CLOCK_ADVANCED") == 3


@pytest.mark.parametrize("is_under_lock", [True, False], ids=["under the lock", "control"])
def test_only_an_offset_read_under_the_lock_counts_for_a_change_that_waited(
    is_under_lock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = factories.job(company_id=sandbox().id)
    if not is_under_lock:
        front, name, rest = source_of(lock.LOCK_JOB).rpartition("clock_offset_seconds")
        before = f"(SELECT {name} FROM jobs_job early WHERE early.id = locked.id)"
        monkeypatch.setattr(lock, "LOCK_JOB", PreparedStatement(front + before + rest))
    held, may_move = Event(), Event()

    def move() -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT FROM jobs_job WHERE id = %s FOR NO KEY UPDATE", [job_id])
            held.set()
            assert may_move.wait(PATIENCE_SECONDS)
            Job.objects.filter(id=job_id).update(clock_offset_seconds=DAY)

    apply = partial(factories.application, job_id, factories.applicant(), actor=factories.RECRUITER)
    with started(move):
        assert held.wait(PATIENCE_SECONDS)
        with started(apply) as answers:
            wait_until_somebody_waits_for_a_lock()
            may_move.set()

    [application] = answers
    assert (application.applied_at - database_now() > timedelta(hours=23)) is is_under_lock
