"""Two processes of a web server whose turns meet, each with a thread for each request.

Usage: python -m tests.line.meeting_processes STORY
Prints a JSON object: what each process saw. Needs no database.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing import Pipe
from typing import Any
from uuid import UUID

import django
from django.db import OperationalError
from psycopg.errors import LockNotAvailable

from pipeline.domain.errors import JobNotOpen
from pipeline.line.arrivals import thread_of_arrival
from pipeline.line.handover import Handover, Turn, handover_of_process, take_part_in_handover
from pipeline.line.peers import Peers
from pipeline.line.turns import Turns
from pipeline.server.requests import RequestThreads
from tests.support.waiting import eventually

OWNER, OTHER = 0, 1
JOB = UUID(int=2)  # of two processes, the first one owns it
peers = Peers(2)


class Process:
    """What one process does: its batches, in order, and the outcomes of its requests."""

    def __init__(self, row: int, *, meets: bool = True, first_batch_waits_for: int = 0) -> None:
        self.batches: list[list[str]] = []
        self.outcomes: dict[str, str] = {}
        self.turns = Turns(self.run, kind="test")
        self._waits_for = first_batch_waits_for
        self._threads: list[threading.Thread] = []
        if meets:
            handover = Handover(peers, row, RequestThreads(4, lambda: None).begin)
            take_part_in_handover(handover)
            handover.start()

    def run(self, job_id: UUID, batch: Sequence[Turn[str, str]]) -> None:
        self.batches.append([turn.request for turn in batch])
        if len(self.batches) == 1:
            eventually(lambda: len(self.turns._lines[job_id].waiting) == self._waits_for)
        for turn in batch:
            if turn.request == "refused":
                turn.error = JobNotOpen(status="CLOSED")
            elif turn.request == "busy":
                error = OperationalError("locked")
                raise error from LockNotAvailable("lock timeout")
            else:
                turn.result = turn.request.upper()

    def take(self, request: str, stamp: int | None = None) -> None:
        """Take a turn in a thread, as a request that arrived at a time."""

        def take_in_thread() -> None:
            handover = handover_of_process()
            arrival = handover.arrivals.expect(JOB, stamp) if handover and stamp else None
            try:
                with thread_of_arrival(arrival):
                    self.outcomes[request] = self.turns.take_turn(JOB, request)
            except Exception as error:
                cause = f" from {type(error.__cause__).__name__}" if error.__cause__ else ""
                self.outcomes[request] = f"{type(error).__name__}: {error}{cause}"

        self._threads.append(threading.Thread(target=take_in_thread))
        self._threads[-1].start()

    def finish(self) -> dict[str, Any]:
        for thread in self._threads:
            thread.join()
        return {"batches": self.batches, "outcomes": self.outcomes}


def forked(act: Callable[[Any], dict[str, Any]]) -> tuple[int, Any]:
    """Do something in a process of its own; its id, and the pipe to it and for what it saw."""
    ours, theirs = Pipe()
    if pid := os.fork():
        return pid, ours
    theirs.send(act(theirs))
    os._exit(0)


def order(*, meets: bool = True) -> dict[str, Any]:
    """Requests of both processes wait behind the first; they were sent in another order."""
    most = 4 if meets else 2

    def owner(pipe: Any) -> dict[str, Any]:
        process = Process(OWNER, meets=meets, first_batch_waits_for=most)
        process.take("first")
        eventually(lambda: process.batches)
        pipe.send("ready")
        process.take("fourth", 40)
        process.take("second", 20)
        return process.finish()

    def other(pipe: Any) -> dict[str, Any]:
        process = Process(OTHER, meets=meets)
        pipe.recv()
        process.take("fifth", 50)
        process.take("third", 30)
        return process.finish()

    (_, to_owner), (_, to_other) = forked(owner), forked(other)
    to_owner.recv()
    to_other.send("go on")
    return {"other": to_other.recv(), "owner": to_owner.recv()}


def apart() -> dict[str, Any]:
    return order(meets=False)


def killed() -> dict[str, Any]:
    """The owner is killed while it works on the other's request."""

    def owner(pipe: Any) -> dict[str, Any]:
        process = Process(OWNER, first_batch_waits_for=99)
        eventually(lambda: process.batches)
        pipe.send("at work")
        time.sleep(60)
        return {}

    def other(pipe: Any) -> dict[str, Any]:
        process = Process(OTHER)
        eventually(lambda: peers.open_rows() == [OWNER, OTHER])
        process.take("request")
        return process.finish()

    (pid, to_owner), (_, to_other) = forked(owner), forked(other)
    to_owner.recv()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    start = time.monotonic()
    peers.release(OWNER)
    return {"other": to_other.recv(), "seconds": time.monotonic() - start}


def full() -> dict[str, Any]:
    """The owner reads nothing, and its inbox is full."""
    process = Process(OTHER)
    peers.open(OWNER)
    handover = handover_of_process()
    assert handover
    while handover._send(OWNER, ("noise" * 1_000,)):
        pass
    process.take("request")
    return {"other": process.finish()}


def outcomes() -> dict[str, Any]:
    """The owner refuses one request, and cannot get the lock for another."""

    def owner(pipe: Any) -> dict[str, Any]:
        process = Process(OWNER)
        pipe.recv()
        return process.finish()

    def other(_: Any) -> dict[str, Any]:
        process = Process(OTHER)
        eventually(lambda: peers.open_rows() == [OWNER, OTHER])
        for request in ("refused", "busy"):
            process.take(request)
            process.finish()
        return process.finish()

    (_, to_owner), (_, to_other) = forked(owner), forked(other)
    seen = to_other.recv()
    to_owner.send("end")
    return {"other": seen, "owner": to_owner.recv()}


def silent() -> dict[str, Any]:
    """The owner reads nothing, as if it were stopped; two requests come one after the other.

    Then it goes on, and reads what was sent to it meanwhile.
    """

    def owner(_: Any) -> dict[str, Any]:
        process = Process(OWNER, meets=False)
        handover = Handover(peers, OWNER, RequestThreads(4, lambda: None).begin)
        take_part_in_handover(handover)  # without `start`, which would begin with an empty inbox
        handover.receive()
        eventually(lambda: not handover._leaders)
        process.take("later")
        return process.finish()

    process = Process(OTHER)
    peers.open(OWNER)
    times = []
    for request in ("first", "second"):
        start = time.monotonic()
        process.take(request)
        process.finish()
        times.append(time.monotonic() - start)
    _, to_owner = forked(owner)
    return {"other": process.finish(), "owner": to_owner.recv(), "seconds": times}


STORIES = {each.__name__: each for each in (order, apart, killed, full, outcomes, silent)}


if __name__ == "__main__":
    django.setup()  # refusals are said in somebody's language
    print(json.dumps(STORIES[sys.argv[1]]()))  # noqa: T201  read by the test
    sys.stdout.flush()
    os._exit(0)
