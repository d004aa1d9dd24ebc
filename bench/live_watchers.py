"""Cost of 500 idle pages that watch one job, and the delay until all learn of a change.

It measures only the streams: each page also polls every 30 seconds with an ETag, and gets 304.
"""

from __future__ import annotations

import argparse
import select
import socket
import time
from uuid import UUID

import harness
from adapter import Ours
from processes import cpu_seconds

GOAL_CORES, GOAL_SECONDS = 0.02, 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--watchers", type=int, default=500)
    parser.add_argument(
        "--seconds", type=int, default=30, help="idle seconds in which to measure CPU"
    )
    parser.add_argument("--changes", type=int, default=10)
    options = parser.parse_args()
    harness.start()
    job_id, server = harness.make_job(capacity=1), Ours()
    server.start()
    try:
        watchers = _open(server.address, job_id, options.watchers)
        idle = _idle_cores(server, options.seconds)
        print(f"{options.watchers} watchers, nothing happens: {idle:.4f} core of the web processes")
        times = [_time_to_all(watchers, job_id) for _ in range(options.changes)]
        print(
            f"a change has reached all: p50 {harness.median(times) * 1e3:.0f} ms, "
            f"slowest {max(times) * 1e3:.0f} ms after its commit"
        )
    finally:
        start = time.monotonic()
        server.stop()
    print(f"stopped with all streams open in {time.monotonic() - start:.1f} s")
    print(f"goal: at most {GOAL_CORES} core, and {GOAL_SECONDS * 1e3:.0f} ms")


def _open(address: tuple[str, int], job_id: str, count: int) -> list[socket.socket]:
    from pipeline.live import stream_tokens

    watchers = [socket.create_connection(address) for _ in range(count)]
    for watcher in watchers:
        ticket = stream_tokens.issue([UUID(job_id)])
        watcher.sendall(f"GET /live/{ticket} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    for watcher in watchers:
        assert b"200" in watcher.recv(4_096)
    time.sleep(2)
    _empty(watchers)
    return watchers


def _idle_cores(server: Ours, seconds: int) -> float:
    before = cpu_seconds(*server.processes())
    time.sleep(seconds)
    return (cpu_seconds(*server.processes()) - before) / seconds


def _time_to_all(watchers: list[socket.socket], job_id: str) -> float:
    """Return the seconds from a commit until every watcher has learned of it."""
    from pipeline.domain.states import Actor, ActorKind
    from pipeline.services.joining import apply

    harness.make_people(1)
    ((person,),) = harness.execute("SELECT id FROM bench_people ORDER BY n DESC LIMIT 1")
    time.sleep(0.3)
    _empty(watchers)
    actor = Actor(ActorKind.COMPANY, person)
    apply(job_id=UUID(job_id), applicant_id=person, name="Bench", actor=actor)
    start, waiting = time.monotonic(), set(watchers)
    poll = _poll_of(watchers)
    of_number = {watcher.fileno(): watcher for watcher in watchers}
    while waiting and time.monotonic() - start < 10:
        for number, _ in poll.poll(1_000):
            if b"event: change" in of_number[number].recv(65_536):
                waiting.discard(of_number[number])
    if waiting:
        raise SystemExit(f"{len(waiting)} watchers heard nothing")
    return time.monotonic() - start


def _empty(watchers: list[socket.socket]) -> None:
    poll, of_number = _poll_of(watchers), {watcher.fileno(): watcher for watcher in watchers}
    while ready := poll.poll(100):
        for number, _ in ready:
            of_number[number].recv(65_536)


def _poll_of(watchers: list[socket.socket]) -> select.poll:
    poll = select.poll()
    for watcher in watchers:
        poll.register(watcher, select.POLLIN)
    return poll


if __name__ == "__main__":
    main()
