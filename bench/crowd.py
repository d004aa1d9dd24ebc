"""A crowd that applies for one job: a rush when it opens, then a tail, like real people.

People arrive at their own times, not when the previous answer is there. They dawdle, look at their
status page, take an offered seat or let it pass, withdraw, and try again when told to wait.

    .venv/bin/python bench/crowd.py                            starts a site of its own
    .venv/bin/python bench/crowd.py --url http://127.0.0.1:8000    uses a site run from this folder
    .venv/bin/python bench/crowd.py --factor 10                ten times as many people, same time

Prints a line each second; at the end latencies, rates, the CPU of each part, and whether the line,
read through the API, is correct. Exits with 1 if anything is wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import resource
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import harness
from crowd_checks import Watch, check_line, check_order, seconds_to_recover
from crowd_site import Person, Site, own_site, running_site
from http_load import Answer, Connection, request

SEATS = 25
RUSH_SHARE, RUSH_SECONDS = 0.6, 0.05  # of the people, and of the time: the mean of their delay
MOST_TRIES, MOST_TRIES_WITH_PLACE = 5, 60
WITHDRAWS, CONFIRMS, GOES_AWAY = 0.05, 0.7, 0.25  # at each look
DAWDLE_SECONDS = 4.0


@dataclass
class Tally:
    """All answers: seconds by outcome, and the number of requests now waiting for an answer."""

    times: dict[str, list[float]] = field(default_factory=dict)
    refusals: Counter[str] = field(default_factory=Counter)
    accepted: set[str] = field(default_factory=set)
    # Who applied: when first sent, when answered, the application, whether it was refused before.
    applied: list[tuple[float, float, str, bool]] = field(default_factory=list)
    arrived: int = 0
    gave_up: int = 0
    in_flight: int = 0
    most_in_flight: int = 0

    def note(self, outcome: str, seconds: float) -> None:
        self.times.setdefault(outcome, []).append(seconds)

    @property
    def answers(self) -> int:
        return sum(map(len, self.times.values()))


class Visitor:
    """Person with their own connection and network address."""

    def __init__(self, site: Site, person: Person, tally: Tally, number: int) -> None:
        self._site, self._person, self._tally = site, person, tally
        self._dice = random.Random(number)
        address = f"127.{1 + number // 62_500}.{number // 250 % 250}.{1 + number % 250}"
        self._connection = Connection(*site.address, source=address)
        self._refusals = 0

    async def live(self, arrives_after: float, until: float) -> None:
        """Arrive, apply, and look at the status now and then until leaving."""
        await asyncio.sleep(arrives_after)
        self._tally.arrived += 1
        try:
            await self._apply_and_look(until)
        except (OSError, EOFError):
            self._tally.gave_up += 1
        finally:
            self._connection.close()

    async def _apply_and_look(self, until: float) -> None:
        sent_at, refused = time.monotonic(), self._refusals
        applied = await self._send("apply", "POST", f"/jobs/{self._site.job}/applications", {})
        if applied is None or applied.status != 201:
            self._tally.gave_up += 1
            return
        mine = str(applied.json()["id"])
        self._tally.accepted.add(mine)
        came = sent_at, time.monotonic(), mine, self._refusals > refused
        self._tally.applied.append(came)
        while time.monotonic() < until and self._dice.random() > GOES_AWAY:
            await asyncio.sleep(self._dice.expovariate(1 / DAWDLE_SECONDS))
            await self._look_at_page(mine)
            if not await self._act(mine):
                return

    async def _act(self, mine: str) -> bool:
        """React to the status shown; tell whether the person stays."""
        seen = await self._send("status", "GET", f"/applications/{mine}")
        if seen is None or seen.status != 200:
            return True
        status, chance = seen.json()["status"], self._dice.random()
        if chance < WITHDRAWS and status != "INACTIVE":
            await self._send("withdraw", "POST", f"/applications/{mine}/withdraw", {})
            return False
        if status == "PENDING_ACKNOWLEDGMENT" and chance < CONFIRMS:
            await self._send("confirm", "POST", f"/applications/{mine}/acknowledge", {})
        return status != "INACTIVE"

    async def _look_at_page(self, mine: str) -> None:
        path, cookie = self._site.status_page(mine), self._person.cookie
        await self._try("status page", request("GET", path, cookie=cookie))

    async def _send(
        self, what: str, method: str, path: str, body: dict[str, str] | None = None
    ) -> Answer | None:
        """Send a request, and retry while told to wait; return None after too long.

        Whoever has a place keeps trying when told to; others dawdle.
        """
        place = ""
        for _ in range(MOST_TRIES_WITH_PLACE):
            sent = request(
                method, f"/api/v1{path}", token=self._person.token, body=body, place=place
            )
            answer = await self._try(what, sent)
            if answer.status not in (429, 503):
                return answer
            self._refusals += 1
            place = answer.headers.get("place-token", "")
            if self._refusals >= MOST_TRIES and not place:
                break
            wait = float(answer.headers.get("retry-after", 1))
            await asyncio.sleep(wait if place else wait * (1 + self._dice.random()))
        return None

    async def _try(self, what: str, sent: bytes) -> Answer:
        tally, start = self._tally, time.perf_counter()
        tally.in_flight += 1
        tally.most_in_flight = max(tally.most_in_flight, tally.in_flight)
        try:
            answer = await self._connection.send(sent)
        except (OSError, EOFError) as error:
            tally.note(f"{what}: {type(error).__name__}", time.perf_counter() - start)
            raise
        finally:
            tally.in_flight -= 1
        refused = answer.status in (429, 503)
        tally.note("refused" if refused else what, time.perf_counter() - start)
        if refused:
            with_time = "with" if "retry-after" in answer.headers else "WITHOUT"
            tally.refusals[f"{answer.status} {with_time} Retry-After"] += 1
        elif answer.status >= 500:
            tally.refusals[f"{answer.status} {what}"] += 1
        return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--url", help="URL of a running site on this machine that uses this folder's database"
    )
    parser.add_argument("--people", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=60, help="period in which people arrive")
    parser.add_argument("--factor", type=int, default=1, help="multiply the number of people")
    options = parser.parse_args()
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = options.people * options.factor
    address = _address(options.url) if options.url else None
    with running_site(address, SEATS, count) if address else own_site(SEATS, count) as site:
        faults, applied = asyncio.run(_crowd(site, options.seconds))
        faults += check_order(site, applied)
    harness.print_load()
    for fault in faults:
        print(f"FAULT: {fault}")
    print("The line is correct." if not faults else f"{len(faults)} faults.")
    sys.stdout.flush()
    os._exit(1 if faults else 0)  # without the exit handlers of threads that still announce


def _address(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "127.0.0.1", parts.port or 80


async def _crowd(
    site: Site, seconds: float
) -> tuple[list[str], list[tuple[float, float, str, bool]]]:
    dice, tally, start = random.Random(1), Tally(), time.monotonic()
    visitors = [
        asyncio.create_task(
            Visitor(site, person, tally, number).live(_arrival(dice, seconds), start + seconds)
        )
        for number, person in enumerate(site.people)
    ]
    watch = Watch(site, SEATS)
    showing = asyncio.create_task(_show(site, tally, watch, start))
    await asyncio.wait(visitors)
    took = time.monotonic() - start
    recovery = await seconds_to_recover(site)
    showing.cancel()
    _report(site, tally, took, recovery)
    faults = watch.faults() + await check_line(site, SEATS, tally.accepted)
    return faults, tally.applied


def _arrival(dice: random.Random, seconds: float) -> float:
    """Draw an arrival time: in a rush that dies away after the opening, or at any time."""
    if dice.random() < RUSH_SHARE:
        return min(dice.expovariate(1 / (seconds * RUSH_SECONDS)), seconds)
    return dice.uniform(0, seconds)


async def _show(site: Site, tally: Tally, watch: Watch, start: float) -> None:
    """Print a line and check the seats each second."""
    print("   s  arrived  waiting for an answer  answers/s  refused   CPU, cores")
    last, cpu = 0, site.cpu_seconds()
    while True:
        await asyncio.sleep(1)
        await watch.look()
        now, refused = tally.answers, sum(tally.refusals.values())
        spent = site.cpu_seconds()
        cores = "  ".join(f"{part} {spent[part] - cpu[part]:.2f}" for part in spent)
        print(
            f"{time.monotonic() - start:4.0f}  {tally.arrived:7,}  {tally.in_flight:21,}"
            f"  {now - last:9,}  {refused:7,}   {cores}",
            flush=True,
        )
        last, cpu = now, spent


def _report(site: Site, tally: Tally, took: float, recovery: float) -> None:
    print(f"\n{len(site.people):,} people, {tally.answers:,} answers in {took:.0f} s\n")
    print("| request | answers | p50, ms | p99, ms | slowest, ms |\n|---|---|---|---|---|")
    for what, times in sorted(tally.times.items()):
        p50, p99 = (harness.percentile(times, share) * 1e3 for share in (0.5, 0.99))
        print(f"| {what} | {len(times):,} | {p50:.0f} | {p99:.0f} | {max(times) * 1e3:.0f} |")
    print(f"\n{tally.answers / took:.0f} answers/s; at most {tally.most_in_flight:,} unanswered")
    for part, seconds in site.cpu_seconds().items():
        print(f"CPU of {part}: {seconds - site.cpu_at_start[part]:.1f} s")
    for name, count in sorted(tally.refusals.items()):
        print(f"{name}: {count:,}")
    print(f"{tally.gave_up:,} people gave up")
    print(f"quick again {recovery:.1f} s after the last person had left")


if __name__ == "__main__":
    main()
