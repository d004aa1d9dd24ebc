"""Are forecasts right? Simulated lines with a known truth, without a database.

    .venv/bin/python bench/forecast.py [--lines 400] [--seed 1]

Each line has seats that open at random, people who join and leave at random, and people who miss
their deadline and come back behind. After a time, the forecast for one waiting person is made from
the history alone, as the site makes it. Then the line goes on with that person staying, and it is
seen when they are offered a seat. Of all forecasts, half should come true within the shorter time
and four fifths within the longer one.
"""

from __future__ import annotations

import argparse
import heapq
from dataclasses import dataclass, field
from random import Random
from uuid import UUID

import harness  # noqa: F401  it makes the project importable

from pipeline.figures.forecast import WaitEvent, estimate_waits, interpolate_wait

DAY = 86_400.0
HALF, MOST, MOST_POINTS = 50, 80, 5


@dataclass
class Line:
    """A line that goes on by itself, and notes its history."""

    chance: Random
    openings_a_day: float
    joins_a_day: float
    leaving_a_day: float  # of one person
    missing: float  # share of offers
    now: float = 0.0
    waiting: list[tuple[tuple[int, int], UUID]] = field(default_factory=list)
    events: list[WaitEvent] = field(default_factory=list)
    staying: UUID | None = None
    offered_at: float | None = None
    _next: int = 0
    _seq: int = 0
    _returns: list[tuple[float, UUID]] = field(default_factory=list)

    def join(self, who: UUID | None = None) -> None:
        self._next, self._seq = self._next + 1, self._seq + 1
        place = (self._next, self._seq)
        who = who or UUID(int=self.chance.getrandbits(128))
        heapq.heappush(self.waiting, (place, who))
        self.events.append(WaitEvent(self.now, who, place, False))

    def open_seat(self) -> None:
        if not self.waiting:
            return
        _, who = heapq.heappop(self.waiting)
        self.events.append(WaitEvent(self.now, who, None, True))
        if who == self.staying:
            self.offered_at = self.now
        if self.chance.random() < self.missing:
            heapq.heappush(self._returns, (self.now + DAY, who))

    def leave(self) -> None:
        number = self.chance.randrange(len(self.waiting))
        _, who = self.waiting[number]
        if who != self.staying:
            del self.waiting[number]
            heapq.heapify(self.waiting)
            self.events.append(WaitEvent(self.now, who, None, False))

    def go_on(self, until: float) -> None:
        while self.now < until and self.offered_at is None:
            rates = (
                self.openings_a_day,
                self.joins_a_day,
                self.leaving_a_day * len(self.waiting),
            )
            step = self.chance.expovariate(sum(rates) / DAY)
            if self._returns and self._returns[0][0] <= self.now + step:
                self.now, who = heapq.heappop(self._returns)
                self.join(who)
                self.open_seat()  # the seat that was missed
                continue
            self.now += step
            act = self.chance.choices((self.open_seat, self.join, self.leave), rates)[0]
            if self.now < until:
                act()


def calibration(lines: int, seed: int) -> dict[str, float | int]:
    """Return the share of forecasts that came true within each of their two times."""
    chance = Random(seed)
    asked = made = half = most = 0
    for _ in range(lines):
        line = Line(
            Random(chance.getrandbits(64)),
            openings_a_day=chance.uniform(0.5, 6),
            joins_a_day=0,
            leaving_a_day=chance.uniform(0, 0.03),
            missing=chance.uniform(0, 0.3),
        )
        line.joins_a_day = line.openings_a_day * chance.uniform(0.9, 1.3)
        for _ in range(chance.randint(5, 40)):
            line.join()
        line.go_on(chance.uniform(60, 240) * DAY)
        if not line.waiting:
            continue
        asked += 1
        position = chance.randint(1, len(line.waiting))
        known = estimate_waits(line.events, start=0, now=line.now)
        forecast = interpolate_wait(known, position)
        if forecast is None:
            continue
        made += 1
        asked_at = line.now
        line.staying = sorted(line.waiting)[position - 1][1]
        line.go_on(line.now + 3_650 * DAY)
        took = (line.offered_at or float("inf")) - asked_at
        half += took <= forecast.half
        most += took <= forecast.most
    shares = {
        "within_half": round(100 * half / made, 1),
        "within_most": round(100 * most / made, 1),
    }
    return {"asked": asked, "made": made, **shares}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--lines", type=int, default=2_000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    found = calibration(given.lines, given.seed)
    print(f"{found['made']:,} forecasts for {found['asked']:,} people, each in a simulated line;")
    print(
        f"within the shorter time: {found['within_half']} % (goal {HALF} %, at most 5 points off)"
    )
    print(
        f"within the longer time:  {found['within_most']} % (goal {MOST} %, at most 5 points off)"
    )
    if max(abs(found["within_half"] - HALF), abs(found["within_most"] - MOST)) > MOST_POINTS:
        raise SystemExit("the forecasts are further off than that")


if __name__ == "__main__":
    main()
