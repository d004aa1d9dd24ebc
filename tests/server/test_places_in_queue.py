"""Places of those who are refused, in the queue before the threads."""

from __future__ import annotations

import asyncio

import pytest

from pipeline.line.arrivals import Arrival
from pipeline.line.handover import Handover
from pipeline.server import lines
from pipeline.server.lines import MOST_OF_CLIENT, JobLine
from pipeline.server.requests import Overloaded, RequestQueue
from tests.server.full_site import JOB
from tests.server.test_request_queue import begun


def arrivals(handover: Handover, *stamps: int, place: bool = False) -> list[Arrival]:
    """Requests that came one after the other; those with a place came for the second time."""
    found = []
    for stamp in stamps:
        arrival = handover.arrivals.expect(JOB, stamp)
        arrival.came_at = stamp
        arrival.has_place = place
        found.append(arrival)
    return found


def test_who_has_a_place_takes_that_of_the_last_newcomer_and_comes_first(
    handover: Handover,
) -> None:
    async def story() -> None:
        queue = RequestQueue(2, most_waiting=3)
        [running, *new] = arrivals(handover, 50, 60, 70, 80)
        [early] = arrivals(handover, 10, place=True)
        await begun(queue, "first", arrival=running)
        tasks = [await begun(queue, f"new {n}", arrival=each) for n, each in enumerate(new)]

        second = await begun(queue, "early", arrival=early)

        assert [task.done() for task in tasks] == [False, False, True]
        with pytest.raises(Overloaded):
            await tasks[2]
        queue.end("first", is_heavy=False, arrival=running)
        await asyncio.wait_for(second, 1)
        assert not tasks[0].done()
        for task in tasks[:2]:
            task.cancel()

    asyncio.run(story())


def test_who_has_a_place_is_not_refused_for_newcomers_but_for_those_who_came_before(
    handover: Handover,
) -> None:
    async def story() -> None:
        queue = RequestQueue(2, most_waiting=2)
        [running, *early] = arrivals(handover, 5, 10, 20, place=True)
        await begun(queue, "first", arrival=running)
        tasks = [await begun(queue, "key", arrival=each) for each in early]
        [late] = arrivals(handover, 30, place=True)
        [new] = arrivals(handover, 40)

        for client, arrival in (("late", late), ("new", new)):
            with pytest.raises(Overloaded):
                await queue.begin(client, is_heavy=False, arrival=arrival)
        await begun(queue, "of a page")  # the other thread
        with pytest.raises(Overloaded):
            await queue.begin("of another page", is_heavy=False)
        assert not any(task.done() for task in tasks)
        for task in tasks:
            task.cancel()

    asyncio.run(story())


def test_a_newcomer_does_not_take_the_room_of_those_who_were_asked_to_come_again(
    handover: Handover, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LAPSE_SECONDS", -0.9)

    async def story() -> None:
        queue = RequestQueue(2, most_waiting=4)
        [running, *first, one, two, new] = arrivals(handover, 5, 10, 11, 20, 30, 50)
        refused = [one, two]
        await begun(queue, "first", arrival=running)
        tasks = [await begun(queue, "a", arrival=each) for each in first]
        waits = [queue.note_refusal("anyone", each) for each in refused]
        assert [wait.ahead for wait in waits] == [2, 3]

        with pytest.raises(Overloaded):
            await queue.begin("new", is_heavy=False, arrival=new)
        refused[0].has_place = True
        tasks.append(await begun(queue, "b", arrival=refused[0]))
        assert not tasks[-1].done()
        await asyncio.sleep(0.15)  # the others are late
        tasks.append(await begun(queue, "new", arrival=new))
        assert not tasks[-1].done()
        for task in tasks:
            task.cancel()

    asyncio.run(story())


def test_threads_do_not_idle_while_those_who_were_refused_are_away(handover: Handover) -> None:
    async def story() -> None:
        queue = RequestQueue(2, most_waiting=2)
        [first, *refused, new] = arrivals(handover, 5, 10, 20, 30, 50)
        await begun(queue, "first", arrival=first)
        for each in refused:
            queue.note_refusal("anyone", each)

        waiting = await begun(queue, "new", arrival=new)

        assert not waiting.done()
        queue.end("first", is_heavy=False, arrival=first)
        await asyncio.wait_for(waiting, 1)

    asyncio.run(story())


def test_who_comes_back_to_another_process_counts_for_the_one_who_went_there() -> None:
    line = JobLine()
    for came_at in (10, 20, 30):
        line.note_refusal("anyone", came_at, 0.0, ahead=0, room=0)

    line.note_return(21)
    line.note_return(29)

    assert line.count_refused_before(99, 0.0) == 1
    assert line.count_refused_before(99, 100.0) == 0
    line.note_return(10)


def test_one_client_cannot_keep_others_out_by_requests_that_it_does_not_send_again() -> None:
    line = JobLine()
    for came_at in range(1_000):
        line.note_refusal("flood", came_at, 0.0, ahead=0, room=0)
    assert line.count_refused_before(2_000, 0.0) == MOST_OF_CLIENT

    line.note_refusal("someone", 1_001, 0.0, ahead=0, room=0)

    assert line.count_refused_before(2_000, 0.0) == MOST_OF_CLIENT + 1
    assert not line.is_forgettable(0.0)
    assert line.is_forgettable(100.0)


def test_the_time_to_come_again_grows_with_those_ahead_and_is_bounded() -> None:
    line = JobLine()

    def asked(ahead: int) -> int:
        return line.note_refusal("anyone", 0, 10.0, ahead=ahead, room=500).seconds

    assert [asked(each) for each in (0, 250, 2_250, 99_000)] == [1, 1, 10, 30]
    for n in range(200):
        line.note_end(n / 400, others_wait=True)
    assert asked(2_250) < 10 * (10.0 - 0) / 2
