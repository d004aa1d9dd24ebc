"""Order of arrival at one hot job: how many people who came later were decided first.

A process of its own sends applications at random times (Poisson), whether earlier ones are answered
or not: of API keys, of signed-in people, and of strangers, in turn. It notes when it sent each one
and how late it was itself. Afterwards the tickets are compared with these times.

    .venv/bin/python bench/order.py                        1, 2, 4, 8 processes: 15 minutes
    .venv/bin/python bench/order.py --processes 2 --rates 600 --shares              one row
    .venv/bin/python bench/order.py --processes 2 --rates --shares 1    at full capacity only

Exits with 1 if a person who was answered is behind one who had not sent yet, or the log is unsound.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import multiprocessing
import os
import random
import sys
import time
from bisect import bisect_right, insort
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import harness
from adapter import Ours
from http_load import closed_loop, request

KEYS = 4
CONNECTIONS = 400  # opened before the first request; more if all of them wait for an answer
CAPACITY_CONNECTIONS, WARM_SECONDS, CAPACITY_SECONDS = 64, 4.0, 4.0
OFF = ("API", "ANONYMOUS", "ANONYMOUS_APPLY", "CODE_REQUEST", "PAGES")
HEAD = (
    "processes  per second        tickets  refused  sender late  |  overtaken by people      "
    "|  by who came later by, ms  |  answered after, ms"
)


@dataclass
class Sent:
    """Requests as the sender saw them: times in seconds, of its own clock."""

    rows: list[tuple[float, float, str]] = field(default_factory=list)  # sent, answered, email
    answers: Counter[int] = field(default_factory=Counter)
    lateness: list[float] = field(default_factory=list)


class _Client(asyncio.Protocol):
    """Connection that carries one request at a time."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[int] | None = None
        self._data = b""
        self._ends_at = 0
        self._is_last = False
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def send(self, data: bytes) -> asyncio.Future[int]:
        self.answer = asyncio.get_running_loop().create_future()
        self._data, self._ends_at = b"", 0
        self._transport.write(data)
        return self.answer

    def data_received(self, data: bytes) -> None:
        self._data += data
        if not self._ends_at and b"\r\n\r\n" in self._data:
            head, _, _ = self._data.partition(b"\r\n\r\n")
            lines = head.lower().split(b"\r\n")
            length = next(int(x[15:]) for x in lines if x.startswith(b"content-length:"))
            self._ends_at = len(head) + 4 + length
            self._is_last = b"connection: close" in lines
        if self._ends_at and len(self._data) >= self._ends_at:
            self._settle(int(self._data[9:12]))

    def connection_lost(self, _: Exception | None) -> None:
        self._settle(0)

    def _settle(self, status: int) -> None:
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(status)

    @property
    def is_open(self) -> bool:
        return not (self._is_last or self._transport.is_closing())


class _Connections:
    """Connections to the site, each from an address of its own as far as there are any."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._address = address
        self._free: deque[_Client] = deque()
        self._count = 0

    async def open(self, count: int) -> None:
        for _ in range(count):
            self._free.append(await self._connect())
            await asyncio.sleep(0.002)  # so that every process accepts some

    async def take(self) -> _Client:
        while self._free:
            client = self._free.popleft()
            if client.is_open:
                return client
        return await self._connect()

    def put_back(self, client: _Client) -> None:
        self._free.append(client)

    async def _connect(self) -> _Client:
        self._count += 1
        source = (f"127.0.{1 + self._count // 200 % 200}.{1 + self._count % 200}", 0)
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(_Client, *self._address, local_addr=source)
        return client


async def _send(
    address: tuple[str, int], people: list[tuple[str, bytes]], rate: float, seed: int
) -> Sent:
    dice, sent, connections = random.Random(seed), Sent(), _Connections(address)
    pending: set[asyncio.Task[None]] = set()

    async def apply(email: str, data: bytes) -> None:
        client = await connections.take()
        start = time.monotonic()
        status = await client.send(data)
        sent.answers[status] += 1
        if status in (201, 202):
            sent.rows.append((start, time.monotonic(), email))
        connections.put_back(client)

    await connections.open(min(CONNECTIONS, len(people)))
    due = time.monotonic()
    for email, data in people:
        due += dice.expovariate(rate)
        if (wait := due - time.monotonic()) > 0:
            await asyncio.sleep(wait)
        sent.lateness.append(time.monotonic() - due)
        task = asyncio.create_task(apply(email, data))
        pending.add(task)
        task.add_done_callback(pending.discard)
    await asyncio.gather(*pending)
    return sent


def _sender(pipe: Any) -> None:
    """Send what comes through the pipe, at the highest priority that this user may have."""
    import uvloop

    with suppress(PermissionError):
        os.nice(-10)
    while work := pipe.recv():
        pipe.send(uvloop.run(_send(*work)))


class Site:
    """Our web server, with jobs, keys and people."""

    def __init__(self, people: int) -> None:
        for name in OFF:
            os.environ[f"THROTTLE_{name}"] = "off"
        os.environ.setdefault("LOG_LEVEL", "ERROR")
        os.environ["EMAIL_URL"] = "smtp://127.0.0.1:9"  # codes become tasks, which nobody runs here
        self.ours = Ours()
        self.ours.fill(20)
        self._tokens = _people(people)
        self._numbers = itertools.count()
        self.job = ""
        self._keys: list[str] = []

    def open_job(self) -> None:
        """Open a new job with no free seat."""
        from django.db import connection

        from jobs.keys import create as create_api_key
        from jobs.models import Job, Scope
        from pipeline.domain.states import Actor, ActorKind
        from pipeline.services.joining import apply

        self.job = harness.make_job(capacity=1)
        company = Job.objects.values_list("company_id", flat=True).get(id=self.job)
        first, actor = "first@bench.example", Actor(ActorKind.COMPANY, company)
        # Who is not verified waits, even if a seat is free.
        apply(job_id=UUID(self.job), email=first, name="Bench", actor=actor)
        self._keys = [
            create_api_key(company_id=company, name=f"bench {n}", scopes=list(Scope))[1]
            for n in range(KEYS)
        ]
        connection.close()

    def applications(self) -> Iterator[tuple[str, bytes]]:
        """Iterate over addresses and requests of strangers, keys and signed-in people in turn."""
        path = f"/api/v1/jobs/{self.job}/applications"
        tokens, keys = iter(self._tokens), itertools.cycle(self._keys)
        for number in self._numbers:
            email = f"{'key' if number % 3 else 'stranger'}{number}@bench.example"
            body = {"name": "Bench", "email": email}
            if number % 3 == 0:
                yield email, request("POST", path, body=body)
            elif number % 3 == 1:
                yield email, request("POST", path, token=next(keys), body=body)
            elif (known := next(tokens, None)) is None:
                return
            else:
                yield known[0], request("POST", path, token=known[1], body={})

    def order(self) -> dict[str, int]:
        """Return the ticket of each address that waits."""
        rows = harness.execute(
            "SELECT p.email, a.ticket FROM pipeline_application a JOIN applicants_applicant p"
            f" ON p.id = a.applicant_id WHERE a.job_id = '{self.job}' AND a.ticket IS NOT NULL"
        )
        from django.db import connection

        connection.close()
        return dict(rows)

    def faults(self) -> list[str]:
        """Verify the job's log; return what is wrong."""
        self.ours._job = UUID(self.job)
        return self.ours.check()


def _people(count: int) -> list[tuple[str, str]]:
    from django.db import connection

    from applicants.people import find_or_create_person
    from applicants.tokens import issue as issue_token_to_applicant

    emails = [f"person-{uuid4()}@bench.example" for _ in range(count)]
    people = [(email, issue_token_to_applicant(find_or_create_person(email))) for email in emails]
    connection.close()
    return people


@dataclass
class Overtaking:
    """How many overtook each person, and how much later the last of them had sent."""

    people: list[float] = field(default_factory=list)
    later: list[float] = field(default_factory=list)
    contradictions: int = 0  # behind someone who sent after this person had been answered


def compare(rows: list[tuple[float, float, str]], order: dict[str, int]) -> Overtaking:
    """Compare the tickets with the sending times."""
    found, ahead = Overtaking(), []  # the times of those with smaller tickets, in order
    for sent, answered, _ in sorted(rows, key=lambda row: order[row[2]]):
        found.people.append(len(ahead) - bisect_right(ahead, sent))
        latest = ahead[-1] if ahead else sent
        found.later.append(max(0.0, latest - sent))
        found.contradictions += latest > answered
        insort(ahead, sent)
    return found


def _three(values: list[float], factor: float = 1.0) -> str:
    each = [harness.percentile(values, share) * factor for share in (0.5, 0.99)]
    return ", ".join(f"{value:.0f}" for value in [*each, max(values) * factor])


def _measure(site: Site, pipe: Any, processes: int, label: str, rate: float, seconds: float) -> int:
    people = list(itertools.islice(site.applications(), round(rate * seconds)))
    pipe.send((site.ours.address, people, rate, round(rate)))
    sent: Sent = pipe.recv()
    order = site.order()
    rows = [row for row in sent.rows if row[2] in order]
    if not rows:
        raise SystemExit(f"nobody was admitted: {dict(sent.answers)}")
    found = compare(rows, order)
    took = [answered - start for start, answered, _ in rows]
    print(
        f"{processes:9}  {label:18}  {len(rows):7}  {len(people) - len(rows):7}"
        f"  {_three(sent.lateness, 1e3):>11}  |  {_three(found.people):>22}"
        f"  |  {_three(found.later, 1e3):>24}  |  {_three(took, 1e3)}",
        flush=True,
    )
    faults = site.faults()
    if found.contradictions:
        faults.append(f"{found.contradictions} are behind who sent after their answer")
    for fault in faults:
        print(f"    {fault}")
    if refused := {k: n for k, n in sent.answers.items() if k not in (201, 202)}:
        print(f"    refused: {refused}")
    return len(faults)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2, 4, 8])
    parser.add_argument("--rates", type=float, nargs="*", default=[300, 600, 1200], help="a second")
    parser.add_argument(
        "--shares", type=float, nargs="*", default=[0.5, 1, 2], help="of the measured capacity"
    )
    parser.add_argument("--seconds", type=float, default=8.0, help="of each row (default: 8)")
    options = parser.parse_args()
    pipe, end = multiprocessing.Pipe()
    sender = multiprocessing.get_context("fork").Process(target=_sender, args=[end], daemon=True)
    sender.start()
    fastest = max([*options.rates, *(1_000 * share for share in options.shares)])
    site, faults = Site(round(fastest * options.seconds / 3)), 0
    print("p50, p99, worst of each\n" + HEAD)
    for processes in options.processes:
        os.environ["WEB_CONCURRENCY"] = str(processes)
        site.ours.start()
        try:
            site.open_job()
            some = iter([data for _, data in itertools.islice(site.applications(), 8_000)])
            for seconds in (WARM_SECONDS, CAPACITY_SECONDS):
                load = closed_loop(
                    site.ours.address, some, connections=CAPACITY_CONNECTIONS, seconds=seconds
                )
            rates = [(f"{rate:.0f}", rate) for rate in options.rates]
            for share in options.shares:
                rate = share * load.rate
                rates.append((f"{rate:.0f}: {share:g} capacity", rate))
            for label, rate in rates:
                site.open_job()
                faults += _measure(site, pipe, processes, label, rate, options.seconds)
        finally:
            site.ours.stop()
    pipe.send(None)
    harness.print_load()
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
