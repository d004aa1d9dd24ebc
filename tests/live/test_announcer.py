"""Changes of lines are announced after their commit, beside it, and gathered if there are many."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.db import connection

from pipeline.line.write import committed
from pipeline.live import announcer as announcing_room
from pipeline.live.announcer import GAP_SECONDS, Announcer
from pipeline.live.channel import encode_payloads, parse_payload
from pipeline.services.settling import settle_next_due
from tasks.failure_log import FailureLog
from tests.live.listening import ear, heard
from tests.support import factories
from tests.support.clock import let_time_pass
from tests.support.waiting import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def told() -> Any:
    """Arguments of the signal, one dict per change."""
    changes: list[dict[str, Any]] = []

    def note(**change: Any) -> None:
        changes.append(change)

    committed.connect(note)
    yield changes
    committed.disconnect(note)


def test_every_committed_change_is_told_with_all_that_it_logged(told: list[dict[str, Any]]) -> None:
    job_id = factories.job()
    first, second = factories.applications(job_id, 2)
    told.clear()

    from pipeline.services.leaving import withdraw

    withdraw(application_id=first.id, actor=factories.owner_of(first))

    (change,) = told
    assert (change["job_id"], change["seq"]) == (job_id, factories.row_of(job_id).seq)
    assert [entry.event for entry in change["entries"]] == factories.event_names(job_id)[-2:]
    assert change["entries"][-1].application_id == second.id


def test_it_is_told_only_once_others_can_see_it(told: list[dict[str, Any]]) -> None:
    seen: list[int] = []

    def look(**change: Any) -> None:
        assert not connection.in_atomic_block
        seen.append(factories.row_of(change["job_id"]).seq - change["seq"])

    committed.connect(look)
    factories.applications(factories.job(), 2)
    committed.disconnect(look)

    assert seen == [0, 0, 0]  # the job, and who applied


def test_a_receiver_that_fails_does_not_fail_the_change(told: list[dict[str, Any]]) -> None:
    def fail(**_: Any) -> None:
        raise RuntimeError("no")

    committed.connect(fail)
    job_id = factories.job()
    committed.disconnect(fail)

    assert factories.row_of(job_id).seq == 2
    assert len(told) == 1


def test_what_time_alone_brings_about_is_told_as_well(told: list[dict[str, Any]]) -> None:
    job_id = factories.job(acknowledge_first_seat=True)
    factories.applications(job_id, 2)
    let_time_pass(job_id, factories.WINDOW)
    told.clear()

    settle_next_due()

    (change,) = told
    assert [entry.event for entry in change["entries"]] == ["DECAYED", "PROMOTED"]


def test_a_change_is_announced_within_moments(announcing: None) -> None:
    with ear() as session:
        job_id = factories.job()

        assert heard(session) == [{job_id: 2}]


def test_many_changes_are_gathered_into_few_announcements(announcer: Announcer) -> None:
    jobs = [uuid4() for _ in range(5)]

    with ear() as session:
        start = time.monotonic()
        for seq in range(200):
            announcer.note_change(job_id=jobs[seq % 5], seq=seq)
            time.sleep(0.001)
        latest = {job: 195 + place for place, job in enumerate(jobs)}
        announcements = heard(session, until=latest)
        took = time.monotonic() - start

    assert announcements[-1].items() <= latest.items()
    assert 1 <= len(announcements) <= took / GAP_SECONDS + 1


def test_very_many_jobs_at_once_fit_into_notifications() -> None:
    latest = {uuid4(): 10**9 for _ in range(1_000)}

    texts = list(encode_payloads(latest))

    assert all(len(text) < 8_000 for text in texts)
    assert {job: seq for text in texts for job, seq in parse_payload(text).items()} == latest


def test_a_change_neither_waits_nor_fails_when_nobody_can_be_told(
    announcing: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(**_: Any) -> None:
        raise psycopg.OperationalError("gone")

    monkeypatch.setattr(announcing_room, "connection_parameters", fail)
    monkeypatch.setattr(announcing_room, "failures", FailureLog())  # has written nothing yet

    job_id = factories.job()

    assert factories.row_of(job_id).seq == 2
    assert announcing_room.announcer.flush(PATIENCE_SECONDS)
    assert "were not announced" in caplog.text


def test_after_a_restart_of_the_database_it_goes_on(announcer: Announcer) -> None:
    job = uuid4()
    with ear() as session:
        announcer.note_change(job_id=job, seq=1)
        assert heard(session) == [{job: 1}]
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'announcer' AND datname = current_database()"
            )

        announcer.note_change(job_id=job, seq=2)

        assert heard(session) == [{job: 2}]


def test_its_connection_is_closed_when_nothing_happens(announcer: Announcer) -> None:
    def connections() -> int:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE application_name = 'announcer' AND datname = current_database()"
            )
            return int(cursor.fetchone()[0])

    announcer.idle_seconds = 1.5
    announcer.note_change(job_id=uuid4(), seq=1)

    eventually(lambda: connections() == 1)
    eventually(lambda: connections() == 0)
