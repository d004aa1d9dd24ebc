"""The decay worker as a process: punctual, awake to every job, not stopped by a bad one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from jobs.models import Job
from pipeline.audit.verify import verify_job
from pipeline.management.commands.run_decay import SET_ASIDE_SECONDS, DecayWorker
from pipeline.models import Heartbeat
from pipeline.services.jobs import close_job
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.decay_worker import DecayProcess
from tests.support.waiting import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.django_db(transaction=True)

StartWorker = Callable[..., DecayProcess]


def offered(*, seconds_left: float, seats: int = 1, waiting: int | None = None) -> UUID:
    """A job whose every seat is on offer for this many seconds more, and as many people wait."""
    job_id = factories.job(capacity=seats, acknowledge_first_seat=True)
    factories.applications(job_id, seats + (seats if waiting is None else waiting))
    let_time_pass(job_id, factories.WINDOW - seconds_left)
    return job_id


def beats() -> bool:
    """Tell if a worker has completed a cycle."""
    return Heartbeat.objects.filter(worker="decay").exists()


def decayed(job_id: UUID) -> bool:
    """Tell if a deadline of the job was missed and settled."""
    return "DECAYED" in factories.event_names(job_id)


def test_a_deadline_is_settled_on_time_and_not_a_poll_later(
    start_decay_worker: StartWorker,
) -> None:
    job_id = offered(seconds_left=6)
    start_decay_worker("--interval", "60")

    eventually(lambda: decayed(job_id))

    miss = next(event for event in factories.events(job_id) if event.event == "DECAYED")
    assert timedelta(0) <= miss.at - miss.effective_at < timedelta(seconds=30)  # of 60


def test_what_is_due_at_once_wakes_a_worker_that_sleeps(start_decay_worker: StartWorker) -> None:
    job_id = factories.job()
    factories.applications(job_id, 3)
    start_decay_worker("--interval", "60")
    eventually(beats)

    close_job(job_id=job_id, actor=factories.RECRUITER)

    assert eventually(lambda: factories.row_of(job_id).waitlist_count == 0) < 30  # of 60


def test_a_sleeping_worker_ends_at_once(start_decay_worker: StartWorker) -> None:
    worker = start_decay_worker("--interval", "3600")
    eventually(beats)

    status, seconds = worker.end()

    assert status == 0
    assert seconds < 30  # of 3600


def test_a_job_that_cannot_be_settled_stops_no_other(start_decay_worker: StartWorker) -> None:
    bad, good = offered(seconds_left=-60, waiting=0), offered(seconds_left=-30)
    Job.objects.filter(id=bad).update(pending_count=0)  # settling it would count below zero
    worker = start_decay_worker()

    eventually(lambda: decayed(good))
    eventually(beats)

    assert not decayed(bad)
    assert f"job {bad} could not be settled" in worker.said
    assert f'"job_id": "{bad}"' in worker.said  # a field of its own, to search for
    assert "job_counters_not_negative" in worker.said
    assert worker.end()[0] == 0


def test_a_worker_outlives_the_loss_of_its_connections(start_decay_worker: StartWorker) -> None:
    worker = start_decay_worker()
    eventually(beats)
    before = Heartbeat.objects.get(worker="decay").completed_at

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        (lost,) = cursor.fetchone()
    job_id = offered(seconds_left=-1)

    assert lost >= 2  # one to work on, one to listen on
    eventually(lambda: decayed(job_id))
    eventually(lambda: Heartbeat.objects.get(worker="decay").completed_at > before)
    assert worker.process.poll() is None


def test_three_workers_share_the_jobs_and_each_is_settled_once(
    start_decay_worker: StartWorker,
) -> None:
    jobs = [offered(seconds_left=-5, seats=3) for _ in range(20)]

    for _ in range(3):
        start_decay_worker()
    eventually(lambda: all(decayed(job_id) for job_id in jobs))

    for job_id in jobs:
        assert factories.event_names(job_id).count("DECAYED") == 3
        assert factories.event_names(job_id).count("PROMOTED") == 3
        assert verify_job(job_id).is_sound


def test_once_settles_what_is_due_says_so_and_ends(start_decay_worker: StartWorker) -> None:
    offered(seconds_left=-5)
    offered(seconds_left=500)

    worker = start_decay_worker("--once")

    assert worker.process.wait(PATIENCE_SECONDS) == 0
    assert worker.said.endswith("Settled 1 jobs.\n")


def test_once_says_what_could_not_be_settled_and_fails(start_decay_worker: StartWorker) -> None:
    bad, _good = offered(seconds_left=-60, waiting=0), offered(seconds_left=-30)
    Job.objects.filter(id=bad).update(pending_count=0)

    worker = start_decay_worker("--once")

    assert worker.process.wait(PATIENCE_SECONDS) == 1
    assert "Settled 1 jobs." in worker.said
    assert "1 jobs could not be settled" in worker.said


def test_no_rest_outlasts_the_setting_aside_of_a_job() -> None:
    bad = offered(seconds_left=-60, waiting=0)
    Job.objects.filter(id=bad).update(pending_count=0)
    worker = DecayWorker(longest_rest_seconds=3_600)

    worker.drain()
    rest = worker.rest_seconds()
    worker.close()

    assert 0 < rest <= SET_ASIDE_SECONDS


@pytest.mark.parametrize("seconds", ["0", "-1", "soon", "99999", "nan"])
def test_an_interval_out_of_range_is_refused(seconds: str) -> None:
    with pytest.raises(CommandError, match="--interval"):
        call_command("run_decay", "--once", f"--interval={seconds}")


def test_a_process_that_refuses_its_interval_says_so_and_fails(
    start_decay_worker: StartWorker,
) -> None:
    worker = start_decay_worker("--once", "--interval=nan")

    assert worker.process.wait(PATIENCE_SECONDS) != 0
    assert "--interval" in worker.said
    assert "Traceback" not in worker.said


def test_the_heartbeat_is_of_the_databases_clock(start_decay_worker: StartWorker) -> None:
    start_decay_worker()
    eventually(beats)

    age: Any = datetime.now(UTC) - Heartbeat.objects.get(worker="decay").completed_at

    assert abs(age) < timedelta(seconds=20)
