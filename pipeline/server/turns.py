"""Part of a web server's process in the hand-over of turns."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.line.handover import MOST_LEADERS, Handover, take_part_in_handover
from pipeline.line.peers import Peers
from pipeline.server.requests import RequestThreads


@contextmanager
def turns_handed_over(peers: Peers | None, row: int | None) -> Iterator[None]:
    """Take part in the hand-over while the event loop of this process serves.

    A process without a row, or on a system without these means, decides on its own.
    """
    if peers is None or row is None:
        yield
        return
    handover = Handover(peers, row, RequestThreads(MOST_LEADERS).begin)
    take_part_in_handover(handover)
    handover.arrivals.watch(asyncio.get_running_loop())
    handover.start()
    try:
        yield
    finally:
        handover.finish()
        handover.arrivals.unwatch()
