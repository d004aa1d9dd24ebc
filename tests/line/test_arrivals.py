"""Who is still on the way to a job, in all processes of a web server."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any, cast
from uuid import UUID

import pytest

from pipeline.line import arrivals
from pipeline.line.arrivals import (
    Arrivals,
    cell_of,
    current_arrival,
    reach_of_thread,
    thread_of_arrival,
)
from pipeline.line.peers import CELLS, NEVER, Peers
from tests.support.waiting import PATIENCE_SECONDS, eventually

JOB, OTHER_JOB = UUID(int=1), UUID(int=2)
NOBODY = NEVER - 1  # nobody is on the way before that


@pytest.fixture
def peers() -> Iterator[Peers]:
    made = Peers(2)
    yield made
    made.close()


@pytest.fixture
def here(peers: Peers) -> Arrivals:
    return Arrivals(peers, 0)


@pytest.fixture
def there(peers: Peers) -> Arrivals:
    return Arrivals(peers, 1)


def test_a_request_waits_for_earlier_ones_of_all_processes_to_reach_the_job(
    here: Arrivals, there: Arrivals
) -> None:
    early, late = there.expect(JOB, 10), here.expect(JOB, 20)

    assert here.complete_until(JOB, 30) == 9
    early.reach()
    assert here.complete_until(JOB, 30) == 19
    late.reach()
    assert here.complete_until(JOB, 30) >= NOBODY


def test_other_jobs_and_later_requests_are_not_waited_for(here: Arrivals, there: Arrivals) -> None:
    there.expect(OTHER_JOB, 10)
    there.expect(JOB, 30)

    assert here.complete_until(JOB, 20) >= 20


def test_who_is_refused_on_the_way_is_expected_no_longer(here: Arrivals) -> None:
    arrival = here.expect(JOB, 10)

    with pytest.raises(ValueError, match="refused"), thread_of_arrival(arrival):
        raise ValueError("refused")

    assert here.complete_until(JOB, 20) >= NOBODY


def test_a_process_that_does_not_go_on_is_passed_over_until_it_does(
    here: Arrivals, there: Arrivals
) -> None:
    first, second = there.expect(JOB, 10), there.expect(JOB, 15)

    assert here.complete_until(JOB, 20, is_impatient=True) >= NOBODY
    here.peers.see(1, 25)
    assert here.complete_until(JOB, 20) >= NOBODY, "it is not waited for again, though it looks"
    first.reach()
    assert here.complete_until(JOB, 20) == 14
    second.reach()


def test_a_process_that_has_ended_is_not_waited_for(
    peers: Peers, here: Arrivals, there: Arrivals
) -> None:
    there.expect(JOB, 10)

    peers.release(1)

    assert here.complete_until(JOB, 20) >= NOBODY


def test_a_late_event_loop_is_asked_what_has_come_and_answers_once_it_has_looked(
    here: Arrivals, there: Arrivals
) -> None:
    async def story() -> int:
        there.watch(asyncio.get_running_loop())
        try:
            stamp = time.monotonic_ns()
            assert here.complete_until(JOB, stamp) < stamp
            end = time.monotonic() + PATIENCE_SECONDS
            while (until := here.complete_until(JOB, stamp)) < stamp:
                assert time.monotonic() < end
                await asyncio.sleep(0.001)
            return until - stamp
        finally:
            there.unwatch()

    assert asyncio.run(story()) >= 0
    assert here.complete_until(JOB, time.monotonic_ns()) >= NOBODY, "it serves no longer"


def test_few_requests_work_on_the_way_at_once(
    here: Arrivals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "MOST_UNDER_WAY", 1)
    here = Arrivals(here.peers, 0)
    first, second = here.expect(JOB, 10), here.expect(JOB, 20)
    begun = threading.Event()

    def work_on_second() -> None:
        with thread_of_arrival(second):
            begun.set()

    with thread_of_arrival(first):
        thread = threading.Thread(target=work_on_second)
        thread.start()
        assert not begun.wait(0.1)
        first.reach()  # it waits at the job now
        assert begun.wait(PATIENCE_SECONDS)
    thread.join()


def test_requests_that_do_not_go_on_hold_up_others_on_the_way_for_a_while_only(
    here: Arrivals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "MOST_UNDER_WAY", 1)
    monkeypatch.setattr(arrivals, "BEGIN_SECONDS", 0.1)
    stuck, second, third = (here.expect(JOB, stamp) for stamp in (10, 20, 30))
    here.begin(stuck)

    here.begin(second)  # after a while

    second.reach()
    assert here._under_way == 1
    stuck.reach()
    here.begin(third)
    third.reach()
    assert (here._under_way, here._held_back) == (0, [])


def test_one_that_is_given_up_before_it_begins_gives_nobody_a_turn_on_the_way(
    here: Arrivals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "MOST_UNDER_WAY", 1)
    first, second, third = (here.expect(JOB, stamp) for stamp in (10, 20, 30))
    here.begin(first)
    threads = [threading.Thread(target=here.begin, args=(each,)) for each in (second, third)]
    for number, thread in enumerate(threads, start=1):
        thread.start()
        eventually(lambda number=number: len(here._held_back) == number)  # type: ignore[misc]

    third.reach()  # the server ends, and its thread does not know yet

    assert not second.is_under_way
    for each in (first, second, third):
        each.reach()
    for thread in threads:
        thread.join(PATIENCE_SECONDS)
    third.reach()
    assert (here._under_way, here._held_back) == (0, [])


def test_a_request_that_waits_for_a_copy_of_itself_is_not_waited_for_and_keeps_its_stamp(
    here: Arrivals,
) -> None:
    arrival = here.expect(JOB, 10)

    with thread_of_arrival(arrival):
        reach_of_thread()

        assert here.complete_until(JOB, 20) >= NOBODY
        assert current_arrival(JOB) is arrival
    assert (arrival.stamp, here._under_way) == (10, 0)
    reach_of_thread()


def test_a_request_that_is_registered_while_another_process_looks_is_not_missed(
    peers: Peers, here: Arrivals, there: Arrivals
) -> None:
    there.peers.see(1, 0)

    class Cells:
        """Between two reads of the other process, a request comes there, and it has looked."""

        def __init__(self, real: Any) -> None:
            self.real, self.reads = real, 0

        def __setitem__(self, at: int, value: int) -> None:
            self.real[at] = value

        def __getitem__(self, at: int) -> int:
            found: int = self.real[at]
            self.reads += 1
            if self.reads == 3:  # two were of this process
                peers.expect(1, cell_of(JOB), 10)
                peers.see(1, 50)
            return found

    peers._cells = cast("Any", Cells(peers._cells))

    assert here.complete_until(JOB, 20) < 10


def test_a_request_that_moves_is_expected_as_one_that_came_then_and_a_hidden_one_is_not(
    here: Arrivals,
) -> None:
    arrival = here.expect(JOB, 10)

    arrival.move(21)
    assert here.complete_until(JOB, 30) == 20
    arrival.hide()
    assert here.complete_until(JOB, 30) >= NOBODY
    arrival.move(15)
    assert here.complete_until(JOB, 30) == 14
    arrival.reach()
    assert here.complete_until(JOB, 30) >= NOBODY


def test_a_request_with_a_place_counts_as_its_first_attempt_and_never_as_one_to_come(
    here: Arrivals,
) -> None:
    own, later = here.expect(JOB, 10_000), here.expect(JOB, 10_000)

    own.take_place(own.own_came_at - 4_000)
    later.take_place(later.own_came_at + 4_000)

    assert (own.stamp, later.stamp) == (6_000, 10_000)
    assert own.came_at == own.own_came_at - 4_000
    own.lose_place()
    assert (own.came_at, own.has_place) == (own.own_came_at, False)


def test_rows_are_used_again_and_limited(peers: Peers) -> None:
    rows = [peers.claim() for _ in range(3)]

    assert rows == [0, 1, None]
    before = peers.generation(1)
    peers.release(1)
    assert peers.claim() == 1
    assert peers.generation(1) != before


def test_jobs_that_share_a_cell_wait_for_each_other(here: Arrivals) -> None:
    here.expect(UUID(int=JOB.int + CELLS), 10)

    assert here.complete_until(JOB, 20) == 9
