"""Requests that get a thread, that wait, and that are refused at once."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from uuid import UUID

import pytest

from pipeline.line.arrivals import Arrival, Arrivals
from pipeline.line.peers import Peers
from pipeline.server.requests import (
    HEAVY_SWITCH_SECONDS,
    SWITCH_SECONDS,
    Overloaded,
    RequestQueue,
    TooManyAtOnce,
)


async def begun(
    queue: RequestQueue, client: str, *, is_heavy: bool = False, arrival: Arrival | None = None
) -> asyncio.Task[None]:
    """A request that asks for a thread, as far as it comes at once."""
    task = asyncio.create_task(queue.begin(client, is_heavy=is_heavy, arrival=arrival))
    for _ in range(3):
        await asyncio.sleep(0)
    return task


def test_one_client_leaves_a_thread_to_the_others() -> None:
    async def story() -> None:
        queue = RequestQueue(4)

        greedy = [await begun(queue, "greedy") for _ in range(6)]
        other = await begun(queue, "other")

        assert [task.done() for task in greedy] == [True] * 3 + [False] * 3
        assert other.done()
        for task in greedy[3:]:
            task.cancel()

    asyncio.run(story())


def test_threads_switch_more_often_while_a_heavy_request_runs() -> None:
    async def story() -> list[float]:
        queue = RequestQueue(16)
        seen = [sys.getswitchinterval()]
        for n in range(2):
            await begun(queue, f"reader {n}", is_heavy=True)
        await begun(queue, "client")
        seen.append(sys.getswitchinterval())
        queue.end("client", is_heavy=False)
        queue.end("reader 0", is_heavy=True)
        seen.append(sys.getswitchinterval())
        queue.end("reader 1", is_heavy=True)
        return [*seen, sys.getswitchinterval()]

    often, seldom = HEAVY_SWITCH_SECONDS, SWITCH_SECONDS
    assert asyncio.run(story()) == pytest.approx([seldom, often, often, seldom])
    assert often < seldom


def test_heavy_requests_do_not_take_the_threads_of_short_ones_and_take_turns() -> None:
    async def story() -> None:
        queue = RequestQueue(4)

        heavy = [await begun(queue, f"reader {n}", is_heavy=True) for n in range(3)]
        short = [await begun(queue, f"client {n}") for n in range(3)]

        assert [task.done() for task in heavy] == [True, False, False]
        assert all(task.done() for task in short)

        queue.end("reader 0", is_heavy=True)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

        assert [task.done() for task in heavy] == [True, True, False]
        heavy[2].cancel()

    asyncio.run(story())


def test_who_runs_least_comes_first_whoever_has_waited_longer() -> None:
    async def story() -> None:
        queue = RequestQueue(2)
        await begun(queue, "greedy")
        await begun(queue, "other")
        second = await begun(queue, "greedy")
        late = await begun(queue, "late")

        queue.end("other", is_heavy=False)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

        assert late.done()
        assert not second.done()
        second.cancel()

    asyncio.run(story())


def test_what_waits_too_long_or_behind_too_many_is_refused_and_the_queue_recovers() -> None:
    async def story() -> None:
        queue = RequestQueue(2, most_waiting=1, wait_seconds=0.05)
        await begun(queue, "a")
        await begun(queue, "b")
        waiting = await begun(queue, "c")

        with pytest.raises(Overloaded):
            await queue.begin("d", is_heavy=False)
        with pytest.raises(Overloaded):
            await waiting

        queue.end("a", is_heavy=False)
        await asyncio.wait_for(queue.begin("e", is_heavy=False), 1)

    asyncio.run(story())


def test_a_newcomer_finds_room_behind_however_many_requests_of_busy_clients() -> None:
    async def story() -> None:
        queue = RequestQueue(6, most_waiting=9)
        for name in "aabbcc":
            await begun(queue, name)
        busy = {name: [await begun(queue, name) for _ in range(3)] for name in "abc"}

        newcomer = await begun(queue, "newcomer")
        more = [await begun(queue, name) for name in "abc"]

        refused = [name for name, tasks in busy.items() if tasks[-1].done()]
        assert len(refused) == 1
        with pytest.raises(Overloaded):
            await busy[refused[0]][-1]
        assert not newcomer.done()
        for task in more:
            with pytest.raises(Overloaded):
                await task

        queue.end("a", is_heavy=False)
        await asyncio.wait_for(newcomer, 1)
        for task in (task for tasks in busy.values() for task in tasks):
            task.cancel()

    asyncio.run(story())


def test_when_every_client_waits_once_the_next_is_refused() -> None:
    async def story() -> None:
        queue = RequestQueue(1, most_waiting=3)
        await begun(queue, "first")
        waiting = [await begun(queue, name) for name in "abc"]

        with pytest.raises(Overloaded):
            await queue.begin("d", is_heavy=False)
        assert not any(task.done() for task in waiting)
        for task in waiting:
            task.cancel()

    asyncio.run(story())


def test_a_request_that_leaves_this_moment_is_given_no_thread_and_no_refusal() -> None:
    async def story() -> None:
        queue = RequestQueue(1, most_waiting=2)
        await begun(queue, "first")
        leaving, staying = [await begun(queue, "busy") for _ in range(2)]

        leaving.cancel()  # it has left once its task runs again
        queue.end("first", is_heavy=False)

        await asyncio.wait_for(staying, 1)
        staying, leaving = [await begun(queue, "busy") for _ in range(2)]
        leaving.cancel()
        last = await begun(queue, "other")  # takes the place of the one that leaves
        queue.end("busy", is_heavy=False)
        await asyncio.wait_for(staying, 1)
        queue.end("busy", is_heavy=False)
        await asyncio.wait_for(last, 1)

    asyncio.run(story())


def test_one_client_has_so_many_requests_at_a_time_and_no_more() -> None:
    queue = RequestQueue(2, per_client=3)
    with ExitStack() as held:
        for _ in range(3):
            held.enter_context(queue.admitted("greedy"))

        with pytest.raises(TooManyAtOnce), queue.admitted("greedy"):
            pass
        with queue.admitted("other"):
            pass

    with queue.admitted("greedy"):
        pass


def test_whoever_leaves_the_queue_takes_no_thread() -> None:
    async def story() -> None:
        queue = RequestQueue(1)
        await begun(queue, "a")
        gone = await begun(queue, "b")
        gone.cancel()
        await asyncio.sleep(0)
        queue.end("a", is_heavy=False)

        await asyncio.wait_for(queue.begin("c", is_heavy=False), 1)

    asyncio.run(story())


def test_a_request_that_could_not_even_wait_is_refused_before_its_body_is_read() -> None:
    async def story() -> None:
        queue = RequestQueue(1, most_waiting=3)
        await begun(queue, "first")
        waiting = [await begun(queue, name) for name in "aab"]

        with pytest.raises(Overloaded), queue.admitted("a"):
            pass
        with queue.admitted("newcomer"):  # of whom fewer would wait than of another
            pass

        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        with queue.admitted("a"):
            pass

    asyncio.run(story())


def test_a_crowd_that_is_refused_does_not_push_back_who_waits_longest() -> None:
    async def story() -> None:
        queue = RequestQueue(1, most_waiting=6)
        await begun(queue, "first")
        key = [await begun(queue, "key") for _ in range(4)]
        others = [await begun(queue, name) for name in "ab"]

        late = [await begun(queue, name) for name in "cd"]  # each in the place of one of the key's

        assert [task.done() for task in key] == [False, False, True, True]
        queue.end("first", is_heavy=False)
        await asyncio.wait_for(key[0], 1)
        for task in (*key, *others, *late):
            task.cancel()
        await asyncio.gather(*key, *others, *late, return_exceptions=True)

    asyncio.run(story())


def test_a_request_that_can_run_at_once_is_admitted_however_many_heavy_ones_wait() -> None:
    async def story() -> None:
        queue = RequestQueue(4, most_waiting=2)
        heavy = [await begun(queue, "reader", is_heavy=True) for _ in range(3)]

        with queue.admitted("reader"):
            await asyncio.wait_for(queue.begin("reader", is_heavy=False), 1)
        for task in heavy:
            task.cancel()
        await asyncio.gather(*heavy, return_exceptions=True)

    asyncio.run(story())


JOB, OTHER_JOB = UUID(int=1), UUID(int=2)


@pytest.fixture
def arrivals() -> Iterator[Arrivals]:
    peers = Peers(1)
    yield Arrivals(peers, 0)
    peers.close()


def test_those_who_join_a_line_get_threads_in_the_order_in_which_they_came(
    arrivals: Arrivals,
) -> None:
    async def story() -> list[int]:
        queue, started = RequestQueue(2), []  # of its threads, one line has one
        came = [("key", 10), ("key", 40), ("person", 50), ("key", 20), ("stranger", 30)]
        waiting = []
        for client, stamp in came:
            arrival = arrivals.expect(JOB, stamp)
            waiting.append((client, arrival, await begun(queue, client, arrival=arrival)))
        while waiting:
            running = next(each for each in waiting if each[2].done())
            waiting.remove(running)
            started.append(running[1].stamp)
            queue.end(running[0], is_heavy=False, arrival=running[1])
            await asyncio.sleep(0.01)
        return started

    assert asyncio.run(story()) == [10, 20, 30, 40, 50]


def test_a_line_leaves_threads_to_others_and_no_client_gets_more_by_many_lines(
    arrivals: Arrivals,
) -> None:
    async def story() -> None:
        queue = RequestQueue(4)

        line = [
            await begun(queue, f"person {n}", arrival=arrivals.expect(JOB, n)) for n in range(1, 6)
        ]
        other = await begun(queue, "other")

        assert [task.done() for task in line] == [True] * 3 + [False] * 2
        assert other.done()
        for task in line[3:]:
            task.cancel()

        queue = RequestQueue(4)
        many = [
            await begun(queue, "greedy", arrival=arrivals.expect(UUID(int=n), n))
            for n in range(1, 6)
        ]
        assert [task.done() for task in many] == [True] * 3 + [False] * 2
        for task in many[3:]:
            task.cancel()

    asyncio.run(story())


def test_of_those_who_must_queue_only_the_first_is_expected_and_as_later_than_who_has_a_thread(
    arrivals: Arrivals,
) -> None:
    async def story() -> None:
        queue = RequestQueue(2)
        running = arrivals.expect(JOB, 20)
        await begun(queue, "a", arrival=running)
        late, later = arrivals.expect(JOB, 10), arrivals.expect(JOB, 11)
        tasks = [
            await begun(queue, name, arrival=each) for name, each in (("b", late), ("c", later))
        ]

        running.reach()  # it waits for all before it, and has the only thread
        assert arrivals.complete_until(JOB, 99) == 20
        queue.end("a", is_heavy=False, arrival=running)
        await tasks[0]
        assert late.stamp == 21
        assert arrivals.complete_until(JOB, 99) == 20
        late.reach()
        assert arrivals.complete_until(JOB, 99) == 21
        tasks[1].cancel()
        await asyncio.gather(tasks[1], return_exceptions=True)
        later.reach()
        assert arrivals.complete_until(JOB, 99) > 99
        assert late.stamp == 21

    asyncio.run(story())
