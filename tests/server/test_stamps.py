"""When a request counts as arrived: by the system, by a trusted proxy, and by nobody else."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import time
from contextlib import ExitStack
from ipaddress import ip_network
from typing import Any
from uuid import UUID

import pytest

from pipeline.line.handover import Handover
from pipeline.server.clients import behind_proxies
from pipeline.server.stamps import (
    ARRIVED_AT,
    BODY_NS,
    COMPLETED_AT,
    MOST_DELAY_MS,
    _Reader,
    arrived_at,
    expected_at_job,
    joined_job,
)
from tests.server.in_process import serving_here

pytestmark = pytest.mark.usefixtures("handover")

SECOND = 1_000_000_000
JOB = UUID("018f0c6e-5d5b-7a00-8000-000000000001")
PATH = f"/api/v1/jobs/{JOB}/applications"


def scope_of(path: str = PATH, method: str = "POST", age_ns: int = 0, **changes: Any) -> Any:
    state = {ARRIVED_AT: time.monotonic_ns() - age_ns}
    return {"type": "http", "method": method, "path": path, "state": state} | changes


def expected(scope: Any, place: int | None = None) -> Any:
    """A request is expected at the job whose line it joins."""
    return expected_at_job(scope, joined_job(scope), place)


def age_of(scope: Any) -> float:
    """How many seconds ago a request arrived."""
    with expected(scope) as arrival:
        assert arrival
        return (time.monotonic_ns() - arrival.stamp) / SECOND


@pytest.mark.parametrize(
    ("method", "path", "is_one"),
    [
        ("POST", PATH, True),
        ("POST", f"/jobs/{JOB}/apply/", True),
        ("GET", PATH, False),
        ("POST", f"/api/v1/jobs/{JOB}/close", False),
        ("POST", f"{PATH}/import", False),
        ("POST", f"/api/v1/jobs/{'-' * 36}/applications", False),
    ],
)
def test_requests_that_join_a_line_are_expected_at_its_job(
    handover: Handover, method: str, path: str, is_one: bool
) -> None:
    with expected(scope_of(path, method)) as arrival:
        assert (arrival is not None) == is_one
        stamp = time.monotonic_ns()
        assert (handover.arrivals.complete_until(JOB, stamp) < stamp) == is_one

    assert handover.arrivals.complete_until(JOB, stamp) >= stamp


def test_who_withholds_the_body_is_not_early() -> None:
    def sent(head_ago: float, body_ago: float) -> float:
        now = time.monotonic_ns()
        scope = scope_of()
        scope["state"] = {
            ARRIVED_AT: now - int(head_ago * SECOND),
            COMPLETED_AT: now - int(body_ago * SECOND),
        }
        return age_of(scope)

    assert sent(7, 7) >= 7, "it was read late, but it was there"
    assert sent(7.02, 7) >= 7.02
    assert 2 < sent(30, 2) < 2 + BODY_NS / SECOND + 1


def test_head_and_body_have_a_stamp_each() -> None:
    seen: list[float] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        stamps = scope["state"]
        seen.append((stamps[COMPLETED_AT] - stamps[ARRIVED_AT]) / SECOND)
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n"
    with serving_here(application) as port, socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(head + b"body")
        client.recv(1_000)
        client.sendall(head + b"bo")
        time.sleep(0.3)
        client.sendall(b"dy")
        client.recv(1_000)

    assert seen[0] == 0
    assert seen[1] > 0.2


def proxied(said: str, *, remote: str = "10.0.0.1", reads_stamps: bool = True) -> float:
    """How many seconds ago a request arrived that says when, directly or through a proxy."""
    seen: list[float] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        seen.append(age_of(scope))

    headers = [(b"x-request-start", said.encode())]
    scope = scope_of(scheme="http", client=(remote, 1234), headers=headers)
    before_it = behind_proxies(application, [ip_network("10.0.0.0/8")], reads_stamps=reads_stamps)
    nobody: Any = None
    asyncio.run(before_it(scope, nobody, nobody))
    return seen[0]


def ago(seconds: float, form: str) -> str:
    at = time.time_ns() - int(seconds * SECOND)
    whole, rest = divmod(at, SECOND)
    return {
        "nginx": f"t={whole}.{rest // 1_000_000:03}",
        "HAProxy": f"t={at // 1_000}",
        "Caddy": f"t={at // 1_000_000}",
        "plain": str(at),
    }[form]


@pytest.mark.parametrize("form", ["nginx", "HAProxy", "Caddy", "plain"])
def test_a_trusted_proxy_says_when_it_had_the_request(form: str) -> None:
    assert 2 <= proxied(ago(2, form)) < 2.5


@pytest.mark.parametrize(
    "said", ["", "t=", "yesterday", "t=17", "t=1700000000.0000000001", "t=-1700000000"]
)
def test_what_is_not_a_time_is_ignored(said: str) -> None:
    assert proxied(said) < 0.5


@pytest.mark.parametrize("seconds", [-3.0, MOST_DELAY_MS / 1_000 + 3])
def test_a_time_to_come_or_long_past_is_ignored(seconds: float) -> None:
    assert proxied(ago(seconds, "nginx")) < 0.5


def test_nobody_else_says_when_a_request_came() -> None:
    assert proxied(ago(2, "nginx"), remote="192.0.2.1") < 0.5
    assert proxied(ago(2, "nginx"), reads_stamps=False) < 0.5, "its proxy may pass on a client's"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells when data arrived")
def test_the_stamp_is_when_the_system_had_the_request_and_not_when_it_was_read() -> None:
    seen: dict[str, float] = {}

    async def application(scope: Any, receive: Any, send: Any) -> None:
        seen[scope["path"]] = scope["state"][ARRIVED_AT] / SECOND
        if scope["path"] == "/slow":
            time.sleep(0.5)  # as threads that hold the interpreter
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    request = "POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
    with serving_here(application) as port, ExitStack() as open_ones:
        clients = [
            open_ones.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in "0123"
        ]
        for n, client in enumerate(clients):
            client.sendall(request.format(f"/warm{n}").encode())
            client.recv(1_000)
        clients[0].sendall(request.format("/slow").encode())
        time.sleep(0.1)
        sent = time.monotonic()
        for n in (3, 1, 2):
            clients[n].sendall(request.format(f"/late{n}").encode())
        for n in (3, 1, 2):
            clients[n].recv(1_000)

    late = [seen[f"/late{n}"] for n in (3, 1, 2)]
    assert late == sorted(late), "in the order in which they came, though of one tick"
    assert all(-0.02 < each - sent < 0.1 for each in late), "and not when they were read"


class Kernel:
    """A system whose ticks come `tick` apart, and a connection of it; the test moves its clock.

    As Linux does it: the coarse clock stands between two ticks, and may be behind the tick that set
    it; how long ago data came is counted in ticks, and told in milliseconds.
    """

    def __init__(self, tick: int, behind: int) -> None:
        self.tick, self.behind = tick, behind
        self.now = 7 * SECOND
        self.received = 0
        self.family = socket.AF_INET

    def monotonic_ns(self) -> int:
        return self.now

    def clock_getres(self, clock: int) -> float:
        return self.tick / SECOND

    def clock_gettime_ns(self, clock: int) -> int:
        return self.now - self.now % self.tick - self.behind

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        ticks = self.now // self.tick - self.received // self.tick
        return struct.pack(f"={size - 4}xI", ticks * self.tick // 1_000_000)

    def get_extra_info(self, name: str) -> Kernel:
        """Be its own connection's transport, too."""
        return self


@pytest.mark.parametrize("tick_ms", [1, 4, 10])
@pytest.mark.parametrize("behind_ms", [0, 0.7])
def test_data_that_is_read_late_counts_as_received_in_the_middle_of_its_tick(
    monkeypatch: pytest.MonkeyPatch, tick_ms: int, behind_ms: float
) -> None:
    kernel: Any = Kernel(tick_ms * 1_000_000, int(behind_ms * 1_000_000))
    monkeypatch.setattr("pipeline.server.stamps.time", kernel)
    monkeypatch.setattr("pipeline.server.stamps.sys.platform", "linux")
    reader, apart = _Reader(), []
    for number in range(300):
        kernel.now += 29_000_000 + 317_000 * (number % 61)  # at any time of a tick
        kernel.received = kernel.now
        kernel.now += 12_000_000 + 271_000 * (number % 53)
        apart.append(abs(reader.arrived_at(kernel) - kernel.received) / kernel.tick)

    assert max(apart[100:]) < 0.6  # of a tick; until then it has learnt how far the clock is behind


def test_a_connection_that_tells_nothing_has_the_time_of_reading() -> None:
    ours, theirs = socket.socketpair()

    class Transport(asyncio.BaseTransport):
        def get_extra_info(self, name: str, default: Any = None) -> Any:
            return ours

    before = time.monotonic_ns()
    assert before <= arrived_at(Transport()) <= time.monotonic_ns()
    ours.close()
    theirs.close()


def test_a_job_is_known_by_its_id_however_it_is_written() -> None:
    path = f"/api/v1/jobs/{str(JOB).upper()}/applications"

    with expected(scope_of(path)) as arrival:
        assert arrival
        assert arrival.job_id == UUID(str(JOB))
