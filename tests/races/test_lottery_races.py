"""The draw under attack: several workers, people who come at that moment, a killed worker."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, connection

from pipeline.audit.verify import verify_job
from pipeline.line import lock
from pipeline.line import settle as line_settle
from pipeline.services.settling import settle, settle_next_due
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.invariants import assert_line_is_sound
from tests.support.lottery import lottery
from tests.support.statements import changed
from tests.support.together import together

pytestmark = pytest.mark.django_db(transaction=True)

LOCK = "FOR NO KEY UPDATE"


@pytest.mark.parametrize("locked", [True, False], ids=["locked", "control without the lock"])
def test_only_the_lock_lets_several_workers_draw_without_an_error(
    locked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not locked:
        monkeypatch.setattr(lock, "LOCK_JOB", changed(lock.LOCK_JOB, LOCK, ""))
    job_id = lottery(capacity=2)
    factories.applications(job_id, 30)
    let_time_pass(job_id, 601)

    answers = together([partial(settle, job_id=job_id)] * 4)

    failed = [answer for answer in answers if isinstance(answer, IntegrityError)]
    assert not failed if locked else failed  # the unique sequence is the second line of defence
    assert factories.event_names(job_id).count("DRAWN") == 1
    assert factories.event_names(job_id).count("PLACED") == 30
    assert_line_is_sound(job_id)


def test_who_comes_at_the_moment_of_the_draw_takes_part_or_stands_behind() -> None:
    job_id = lottery()
    factories.applications(job_id, 10)
    let_time_pass(job_id, 599.95)

    come = [partial(factories.application, job_id, factories.applicant()) for _ in range(6)]
    answers = together([*come[:3], settle_next_due, *come[3:], partial(settle, job_id=job_id)])
    settle(job_id=job_id)

    assert not [answer for answer in answers if isinstance(answer, Exception)]
    names = factories.event_names(job_id)
    drawn = names.index("DRAWN")
    assert names[:drawn].count("APPLIED") == names.count("PLACED")
    assert names.count("APPLIED") == 16
    assert verify_job(job_id).is_sound


@pytest.mark.parametrize("together_with_draw", [True, False], ids=["one commit", "control"])
def test_only_one_commit_for_draw_and_places_survives_a_killed_worker(
    together_with_draw: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id = lottery()
    factories.applications(job_id, 8)
    let_time_pass(job_id, 601)
    whole = line_settle.write

    def write_draw(job: Any) -> None:
        if together_with_draw:
            whole(job)
        else:
            whole(job, commit=True)
            connection.connection.commit()

    def be_killed(_job: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    with monkeypatch.context() as killed:
        writes = iter([write_draw, be_killed])
        killed.setattr(line_settle, "write", lambda job: next(writes)(job))  # noqa: PLW0108
        [answer] = together([partial(settle, job_id=job_id)])
    assert isinstance(answer, OperationalError)

    drew = "DRAWN" in factories.event_names(job_id)
    assert drew != together_with_draw
    settle(job_id=job_id)
    assert factories.event_names(job_id).count("DRAWN") == 1
