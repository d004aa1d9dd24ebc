"""The feed of a company's events: in the order of commits, nothing lost, nothing twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, transaction

from pipeline.domain.errors import UnknownPlace
from pipeline.domain.states import EventType
from pipeline.line.lock import lock_job
from pipeline.line.moves import make_job_move
from pipeline.line.write import write
from pipeline.models import Event
from pipeline.selectors.system import FeedPlace, read_feed
from tests.support import factories
from tests.support.feeds import wait_for_the_feed
from tests.support.invariants import assert_line_is_sound
from tests.support.together import PATIENCE_SECONDS, started, together

pytestmark = pytest.mark.django_db(transaction=True)


def company_of(job_id: UUID) -> UUID:
    return factories.row_of(job_id).company_id


def placed(events: list[Event]) -> list[FeedPlace]:
    return [FeedPlace(event.job_id, event.seq) for event in events]


def read_all(
    company_id: UUID, *, after: FeedPlace | None = None, limit: int = 3
) -> list[FeedPlace]:
    """Everything that the feed shows of what is committed now, page by page."""
    wait_for_the_feed()
    return read_now(company_id, after=after, limit=limit)


def read_now(
    company_id: UUID, *, after: FeedPlace | None = None, limit: int = 3
) -> list[FeedPlace]:
    """Everything that the feed shows now, page by page."""
    seen: list[FeedPlace] = []
    while True:
        page = read_feed(company_id, after=seen[-1] if seen else after, limit=limit)
        seen += placed(page.rows)
        if not page.more:
            return seen


def in_log(*job_ids: UUID) -> set[FeedPlace]:
    return {
        FeedPlace(job_id, event.seq) for job_id in job_ids for event in factories.events(job_id)
    }


@contextmanager
def a_transaction_that_has_its_number(then: Any = lambda: None) -> Iterator[None]:
    """Someone got a transaction id before the block runs, and does something after it."""
    numbered, go_on = threading.Event(), threading.Event()

    def run() -> None:
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_current_xact_id()")
            numbered.set()
            assert go_on.wait(PATIENCE_SECONDS)
            then()

    with started(run) as answers:
        assert numbered.wait(PATIENCE_SECONDS)
        try:
            yield
        finally:
            go_on.set()
    assert answers == [None]


def touch(job_id: UUID) -> None:
    """One more event in the job's log, inside a transaction that is running already."""
    job = lock_job(job_id)
    make_job_move(job, EventType.POLICY_CHANGED, actor=factories.RECRUITER)
    write(job)


def test_the_feed_is_all_of_the_companys_jobs_and_of_no_others() -> None:
    company, other = factories.company().id, factories.company().id
    mine = [factories.job(company_id=company, capacity=2) for _ in range(3)]
    theirs = factories.job(company_id=other)
    for job_id in (*mine, theirs, mine[0]):
        factories.applications(job_id, 2)

    seen = read_all(company)

    assert set(seen) == in_log(*mine)
    assert len(seen) == len(set(seen))
    assert set(read_all(other)) == in_log(theirs)
    assert read_all(factories.company().id) == []


def test_each_job_comes_in_the_order_of_its_log() -> None:
    company = factories.company().id
    jobs = [factories.job(company_id=company) for _ in range(2)]
    for _ in range(3):
        for job_id in jobs:
            factories.application(job_id)

    seen = read_all(company)

    for job_id in jobs:
        seqs = [place.seq for place in seen if place.job_id == job_id]
        assert seqs == list(range(1, len(seqs) + 1))


def test_behind_an_older_running_transaction_nothing_shows_until_it_has_ended() -> None:
    job = factories.job()
    company = company_of(job)
    before = read_all(company)

    with a_transaction_that_has_its_number(lambda: touch(job)):
        factories.application(job)
        while_it_runs = read_now(company, after=before[-1])
    afterwards = read_all(company, after=before[-1])

    assert while_it_runs == []
    assert afterwards == [FeedPlace(job, 3), FeedPlace(job, 4)]


def test_a_row_with_a_lower_id_that_commits_later_is_not_lost() -> None:
    company = factories.company().id
    slow, quick = (factories.job(company_id=company) for _ in range(2))
    seen = read_all(company)
    written, go_on = threading.Event(), threading.Event()

    def write_slowly() -> None:
        with transaction.atomic():
            touch(slow)
            written.set()
            assert go_on.wait(PATIENCE_SECONDS)

    with started(write_slowly):
        assert written.wait(PATIENCE_SECONDS)
        factories.application(quick)  # its row has the higher id, and is there first
        seen += read_now(company, after=seen[-1])
        go_on.set()
    seen += read_all(company, after=seen[-1])

    assert set(seen) == in_log(slow, quick)
    assert len(seen) == len(set(seen))
    ids = {FeedPlace(e.job_id, e.seq): e.id for e in Event.objects.all()}
    assert ids[FeedPlace(slow, 3)] < ids[FeedPlace(quick, 3)]
    assert seen[-2:] == [FeedPlace(slow, 3), FeedPlace(quick, 3)]


def test_who_got_a_number_before_waiting_for_the_lock_still_comes_in_the_order_of_the_log() -> None:
    job = factories.job()
    with a_transaction_that_has_its_number(lambda: touch(job)):
        factories.application(job)

    [applied, touched] = factories.events(job, after=2)

    assert (applied.event, touched.event) == ("APPLIED", "POLICY_CHANGED")
    assert applied.txid == touched.txid  # it took over the higher number
    assert [place.seq for place in read_all(company_of(job))] == [1, 2, 3, 4]


@pytest.mark.slow
def test_a_reader_who_polls_beside_many_writers_sees_each_event_once() -> None:
    company = factories.company().id
    jobs = [factories.job(company_id=company, capacity=2) for _ in range(3)]
    at_work = AtWork(2 * len(jobs))

    writers = [lambda job_id=job_id: at_work.do(write_often, job_id) for job_id in jobs * 2]
    readers = [lambda: poll(company, at_work)] * 2
    *others, first, second = together([*writers, *readers])

    assert others == [None] * len(writers)
    assert first == second
    assert len(first) == len(set(first))
    assert set(first) == in_log(*jobs)
    for job_id in jobs:
        seqs = [place.seq for place in first if place.job_id == job_id]
        assert seqs == list(range(1, len(seqs) + 1))


class AtWork:
    """Counter of writers still at work."""

    def __init__(self, writers: int) -> None:
        self._left = [None] * writers

    def do(self, act: Any, job_id: UUID) -> None:
        try:
            act(job_id)
        finally:
            self._left.pop()

    def any(self) -> bool:
        return bool(self._left)


def write_often(job_id: UUID) -> None:
    """Change a job again and again; each second time with a number got before its lock."""
    for _ in range(12):
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_current_xact_id()")
            touch(job_id)
        factories.application(job_id)


def poll(company_id: UUID, at_work: AtWork) -> list[FeedPlace]:
    """All that the feed shows in small pages, until nobody writes any more."""
    seen: list[FeedPlace] = []
    while True:
        last_round = not at_work.any()
        if last_round:
            wait_for_the_feed()
        page = read_feed(company_id, after=seen[-1] if seen else None, limit=4)
        seen += placed(page.rows)
        if last_round and not page.rows:
            return seen


def test_a_place_that_is_not_the_companys_is_unknown() -> None:
    mine, theirs = factories.job(), factories.job()
    company = company_of(mine)

    for place in (FeedPlace(theirs, 1), FeedPlace(mine, 99), FeedPlace(company, 1)):
        with pytest.raises(UnknownPlace):
            read_feed(company, after=place, limit=1)


def test_hash_and_append_only_do_not_know_of_the_feed() -> None:
    job = factories.job()
    factories.applications(job, 3)

    assert_line_is_sound(job)
    assert {event.company_id for event in factories.events(job)} == {company_of(job)}
