"""Lines of jobs as the queue before the threads of one process sees them.

All of it runs in the event loop.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, insort
from collections import Counter, deque
from typing import NamedTuple

from pipeline.line.arrivals import Arrival
from pipeline.line.peers import NEVER

# When someone who was refused is asked to come again: in half the time that those ahead will
# probably take, since they may take less. The rate is that of the last answers.
SOONEST_SECONDS, LATEST_SECONDS = 1, 30
_RATE_OF, _USUAL_RATE = 200, 100.0
_RATE_SECONDS = 2.0
# How long after that time someone is still expected. Later, nobody is refused for their sake. An
# overloaded machine may take seconds to give them their refusal, and to read them again.
LAPSE_SECONDS = 10.0
# Beyond these, people who were refused have places, but nobody counts them: of one client, so that
# it cannot keep others out by requests that it does not send again, and of all.
MOST_OF_CLIENT, MOST_COUNTED = 50, 100_000


class Wait(NamedTuple):
    """Number of people before someone who is refused, and when to try again."""

    ahead: int
    seconds: int


class JobLine:
    """One job's line: who of it has a thread, who waits for one, and who was refused.

    Those who have a thread wait at the job for everyone who came before them. So none of them may
    be waited for by one that has no thread yet: of those that wait here, only the first is
    expected there, and as one that came after all who have a thread.
    """

    def __init__(self) -> None:
        self._started = 0  # the latest stamp that has a thread
        self._first: Arrival | None = None
        self._refused: list[int] = []  # when they came; those who are still expected back
        self._lapses: list[tuple[float, int, str]] = []
        self._counted: Counter[str] = Counter()  # by client
        self._ended: deque[float] = deque(maxlen=_RATE_OF)

    def move_behind_started(self, arrival: Arrival) -> None:
        """Expect a request that has waited, as one that came after all who have a thread."""
        arrival.move(max(arrival.stamp, self._started + 1))

    def note_start(self, arrival: Arrival) -> None:
        """Note that a request has a thread."""
        self._started = max(self._started, arrival.stamp)

    def expect_first(self, waiting: Arrival | None) -> None:
        """Expect the first of those that wait, or none of them."""
        if waiting is None:
            if self._first is not None:
                self._first.reach()
                self._first = None
            return
        stamp = max(waiting.stamp, self._started + 1)
        if self._first is None:
            self._first = waiting.of.expect(waiting.job_id, stamp)
        elif self._first.stamp != stamp:
            self._first.move(stamp)

    def note_end(self, now: float, *, others_wait: bool) -> None:
        """Note that a request has been answered. Only a line of which others wait has a rate."""
        if others_wait:
            self._ended.append(now)
        else:
            self._ended.clear()

    def rate(self, now: float) -> float | None:
        """Return how many are answered in a second, or None if it is not known yet."""
        took = now - self._ended[0] if self._ended else 0.0
        is_known = took >= _RATE_SECONDS or len(self._ended) == _RATE_OF
        return len(self._ended) / took if took and is_known else None

    def note_refusal(
        self, client: str, came_at: int, now: float, *, ahead: int, room: float
    ) -> Wait:
        """Expect someone back who is refused, when about half the room is before them."""
        rate = self.rate(now) or _USUAL_RATE
        seconds = math.ceil((ahead - room / 2) / rate / 2)
        seconds = min(max(seconds, SOONEST_SECONDS), LATEST_SECONDS)
        if self._counted[client] < MOST_OF_CLIENT and len(self._lapses) < MOST_COUNTED:
            self._counted[client] += 1
            insort(self._refused, came_at)
            heapq.heappush(self._lapses, (now + seconds + LAPSE_SECONDS, came_at, client))
        return Wait(ahead, seconds)

    def note_return(self, came_at: int) -> None:
        """Expect someone no longer, who is back.

        They may have been refused by another process, and then someone else came to that one in
        their place.
        """
        found = bisect_left(self._refused, came_at)
        before = self._refused[max(found - 1, 0) : found + 1]
        if before:
            nearest = min(before, key=lambda each: abs(each - came_at))
            del self._refused[bisect_left(self._refused, nearest)]

    def count_refused_before(self, came_at: int, now: float) -> int:
        """Count those who came before and are expected back."""
        while self._lapses and self._lapses[0][0] <= now:
            _, lapsed, client = heapq.heappop(self._lapses)
            self._counted[client] -= 1
            if not self._counted[client]:
                del self._counted[client]
            found = bisect_left(self._refused, lapsed)
            if found < len(self._refused) and self._refused[found] == lapsed:
                del self._refused[found]
        return bisect_left(self._refused, came_at)

    def is_forgettable(self, now: float) -> bool:
        """Tell whether nobody who was refused is expected back."""
        return not self.count_refused_before(NEVER, now) and not self._lapses
