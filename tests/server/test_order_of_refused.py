"""A crowd that is several times too large, of people who come again when they are asked to.

Simulated: two processes, the job that decides on one person after the other, and a clock that runs
as fast as it can.
"""

from __future__ import annotations

import asyncio
import random
from bisect import bisect_right, insort
from collections.abc import Iterator
from uuid import UUID

import pytest

from pipeline.line.arrivals import Arrivals
from pipeline.line.peers import Peers
from pipeline.server.requests import Overloaded, RequestQueue
from tests.support.virtual_time import VirtualTimeLoop

JOB = UUID(int=1)
SECONDS, ROOM = 2.0, 100
NS = 1_000_000_000


@pytest.fixture
def peers() -> Iterator[Peers]:
    made = Peers(2)
    yield made
    made.close()


class Crowd:
    """People at a job of two processes; `decided` holds when each of them came first, in order."""

    def __init__(self, peers: Peers, *, per_second: int, has_places: bool) -> None:
        self._queues = [RequestQueue(16, most_waiting=ROOM) for _ in range(2)]
        self._arrivals = [Arrivals(peers, row) for row in range(2)]
        self._has_places, self._per_second = has_places, per_second
        self._dice = random.Random(1)
        self._turns: list[tuple[int, int, asyncio.Future[None]]] = []
        self.decided: list[int] = []
        self.attempts = 0

    async def come(self, after_seconds: float, number: int) -> None:
        """Apply until taken."""
        await asyncio.sleep(after_seconds)
        loop = asyncio.get_running_loop()
        first = stamp = int(loop.time() * NS) + number
        is_again = False
        while (wait := await self._attempt(stamp, first, is_again=is_again)) is not None:
            await asyncio.sleep(wait + self._dice.uniform(0.0, 0.05))
            is_again = self._has_places
            stamp = first if is_again else int(loop.time() * NS) + number

    async def _attempt(self, stamp: int, first: int, *, is_again: bool) -> int | None:
        """Try once; return after how many seconds to come again, or None."""
        self.attempts += 1
        row = self._dice.randrange(2)
        queue, arrival = self._queues[row], self._arrivals[row].expect(JOB, stamp)
        arrival.came_at, arrival.has_place = stamp, is_again
        client = f"person {first}"
        try:
            await queue.begin(client, is_heavy=False, arrival=arrival)
        except Overloaded:
            arrival.reach()
            return queue.note_refusal(client, arrival).seconds
        turn = asyncio.get_running_loop().create_future()
        insort(self._turns, (arrival.stamp, first, turn))
        arrival.reach()
        await turn
        queue.end(client, is_heavy=False, arrival=arrival)
        return None

    async def decide(self) -> None:
        """Decide on the earliest of those at the job, before whom nobody is on the way."""
        while True:
            await asyncio.sleep(1 / self._per_second)
            while not self._turns or not self._is_next(self._turns[0][0]):
                await asyncio.sleep(0.001)
            _, first, turn = self._turns.pop(0)
            self.decided.append(first)
            turn.set_result(None)

    def _is_next(self, stamp: int) -> bool:
        return self._arrivals[0].complete_until(JOB, stamp - 1) >= stamp - 1


def overtaken(decided: list[int]) -> list[tuple[int, float]]:
    """How many who came later were decided before each person, and how much later they came."""
    ahead: list[int] = []
    found = []
    for came in decided:
        latest = ahead[-1] if ahead else came
        found.append((len(ahead) - bisect_right(ahead, came), max(0, latest - came) / NS))
        insort(ahead, came)
    return found


def crowd_of(
    peers: Peers, people: int, *, per_second: int, has_places: bool
) -> list[tuple[int, float]]:
    """Let a crowd come in a rush, and wait until everyone is taken; how each was overtaken."""

    async def story() -> Crowd:
        crowd, dice = Crowd(peers, per_second=per_second, has_places=has_places), random.Random(2)
        deciding = asyncio.create_task(crowd.decide())
        await asyncio.gather(
            *(crowd.come(dice.uniform(0, SECONDS), number) for number in range(people))
        )
        deciding.cancel()
        return crowd

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        crowd = runner.run(story())
    assert len(crowd.decided) == people
    return overtaken(crowd.decided)


@pytest.mark.parametrize(("people", "per_second"), [(800, 100), (300, 8)], ids=["fast", "slow"])
def test_those_who_keep_trying_are_taken_in_the_order_in_which_they_came(
    peers: Peers, people: int, per_second: int
) -> None:
    found = crowd_of(peers, people, per_second=per_second, has_places=True)

    by_people, later = (sorted(each) for each in zip(*found, strict=True))
    assert by_people[len(found) * 99 // 100] <= 2
    assert later[-1] <= 0.05


def test_without_places_it_would_be_a_lottery(peers: Peers) -> None:
    found = crowd_of(peers, 800, per_second=100, has_places=False)

    by_people, later = (sorted(each) for each in zip(*found, strict=True))
    assert by_people[len(found) * 99 // 100] > 100
    assert later[-1] > 0.5
