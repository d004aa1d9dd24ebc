"""Reads that go through long logs take turns, for each company."""

from __future__ import annotations

import threading

import pytest
from django.db import connection

from pipeline.audit import verify as heavy_reads
from pipeline.audit.verify import heavy_read, replay, replay_one_page, verify_job
from pipeline.domain.errors import LogReadersBusy
from tests.support import factories
from tests.support.crowd import crowd

pytestmark = pytest.mark.django_db(transaction=True)


def tried(company_id: object, events: int) -> list[bool]:
    """Tell whether a read of that company, on another connection, gets its turn now."""
    found: list[bool] = []

    def read() -> None:
        try:
            with heavy_read(company_id, events=events):  # type: ignore[arg-type]
                found.append(True)
        except LogReadersBusy:
            found.append(False)
        finally:
            connection.close()

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    return found


def test_one_long_log_of_a_company_is_read_at_a_time() -> None:
    mine, other = factories.company(), factories.company()
    long = heavy_reads.LONG_LOG + 1

    with heavy_read(mine.id, events=long):
        assert tried(mine.id, long) == [False]
        assert tried(mine.id, heavy_reads.LONG_LOG) == [True]
        assert tried(other.id, long) == [True]

    assert tried(mine.id, long) == [True]


def test_to_verify_a_long_log_takes_the_companys_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.audit.verify.LONG_LOG", 1)
    job_id = factories.job()
    company_id = factories.row_of(job_id).company_id
    results: list[object] = []

    def verify() -> None:
        try:
            results.append(verify_job(job_id, in_turn=True))
        except LogReadersBusy as busy:
            results.append(busy)
        finally:
            connection.close()

    with heavy_read(company_id, events=heavy_reads.LONG_LOG + 1):
        thread = threading.Thread(target=verify)
        thread.start()
        thread.join()

    assert isinstance(results[0], LogReadersBusy)
    assert verify_job(job_id, in_turn=True).is_sound


def test_the_pages_of_a_replay_are_the_whole_line_of_one_moment() -> None:
    job_id = factories.job(capacity=2)
    factories.applications(job_id, 4)
    crowd(job_id, 25)
    whole = replay(job_id)
    factories.application(job_id)

    waiting = []
    for after in range(0, len(whole.waitlist), 10):
        page = replay_one_page(job_id, seq=whole.seq, after=after, limit=10)
        assert page.active == (whole.active if after == 0 else [])
        assert page.pending == (whole.pending if after == 0 else [])
        assert page.next_after == (after + 10 if after + 10 < len(whole.waitlist) else None)
        waiting += page.waitlist

    assert waiting == whole.waitlist
