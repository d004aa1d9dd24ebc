"""Clients of a site on machines: readers, open streams, and a writer beside the primary."""

from __future__ import annotations

import http.client
import random
import sys
import threading
import time
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from machines import Machine

READERS, STREAMS = 2, 40
ATTEMPT_SECONDS, PAUSE_SECONDS = 5.0, 0.1
# After which a page whose stream has ended tries again, as its stream tells it.
RETRY_SECONDS, STREAM_SECONDS = (2.0, 6.0), 60.0
# A client that was connected to the primary itself, and sees no failover: which of its rows were
# acknowledged, and when.
WITNESS = """
import sys, time, psycopg
with psycopg.connect(sys.argv[1], autocommit=True) as connection:
    for n in range(1_000_000):
        connection.execute("INSERT INTO witness VALUES (%s)", [n])
        print(n, time.time(), flush=True)
        time.sleep(0.02)
"""


class Watchers:
    """Threads that read, and threads that follow a stream; each notes when it learned something."""

    def __init__(self, address: tuple[str, int], path: str, tokens: list[str]) -> None:
        self.read: list[float] = []
        self.heard: list[list[float]] = [[] for _ in tokens]
        self._address, self._over = address, threading.Event()
        for _ in range(READERS):
            threading.Thread(target=self._read, args=(path,), daemon=True).start()
        for token, heard in zip(tokens, self.heard, strict=True):
            threading.Thread(target=self._follow, args=(token, heard), daemon=True).start()

    def stop(self) -> None:
        """Begin nothing more."""
        self._over.set()

    def have_heard_since(self, moment: float) -> bool:
        """Return whether each stream has learned of a change after a moment."""
        return all(heard and heard[-1] > moment for heard in self.heard)

    def longest_silence(self, since: float) -> float:
        """Return the longest time in which one of the streams learned nothing."""
        return max(longest_gap([at for at in heard if at > since - 5]) for heard in self.heard)

    def _read(self, path: str) -> None:
        while not self._over.wait(PAUSE_SECONDS):
            client = http.client.HTTPConnection(*self._address, timeout=ATTEMPT_SECONDS)
            with suppress(OSError, http.client.HTTPException):
                client.request("GET", path)
                if client.getresponse().status == 200:
                    self.read.append(time.monotonic())
            client.close()

    def _follow(self, token: str, heard: list[float]) -> None:
        while not self._over.is_set():
            client = http.client.HTTPConnection(*self._address, timeout=STREAM_SECONDS)
            with suppress(OSError, http.client.HTTPException):
                client.request("GET", f"/live/{token}")
                answer = client.getresponse()
                while (line := answer.readline()) and not self._over.is_set():
                    if line.startswith(b"event: change"):
                        heard.append(time.monotonic())
            client.close()
            self._over.wait(random.uniform(*RETRY_SECONDS))


class Witness:
    """Writer on a node's own machine, which the network being cut does not disturb."""

    def __init__(self, machine: Machine, url: str, folder: Path) -> None:
        self._log = folder / "witness.log"
        machine.start(
            [sys.executable, "-c", WITNESS, url], log=self._log, environment={}, folder=folder
        )

    def acknowledged(self) -> dict[int, float]:
        """Return the rows that were acknowledged, and when, in seconds since 1970."""
        lines = [line.split() for line in self._log.read_text().splitlines()]
        return {int(n): float(at) for n, at in (each for each in lines if _is_row(each))}


def _is_row(words: list[str]) -> bool:
    return len(words) == 2 and words[0].isdecimal()


def longest_gap(moments: list[float]) -> float:
    """Return the longest time between two moments, in seconds."""
    ordered = sorted(moments)
    return max((later - earlier for earlier, later in pairwise(ordered)), default=float("inf"))
