"""A web server's process beside serving: its heartbeats, and its part in handing turns over."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime

from django.db import Error, connection
from django.db.models.functions import Now

from pipeline.config.release import COMMIT, VERSION
from pipeline.database.errors import ClusterError
from pipeline.line.handover import MOST_LEADERS, Handover, take_part_in_handover
from pipeline.line.peers import Peers
from pipeline.models import WebServer
from pipeline.server.requests import NoThread, RequestThreads
from pipeline.services import outage
from pipeline.services.outage import SIGN_SECONDS, WEB
from tasks.failure_log import failures

logger = logging.getLogger(__name__)


MOST_NAME_LENGTH = 100


def listener_name(listener: socket.socket) -> str:
    """Return the machine with the port or path at which its web server listens.

    All processes of a web server share this, and no other web server of the machine has it.
    """
    address = listener.getsockname()
    place = address[1] if isinstance(address, tuple) else address
    return f"{socket.gethostname()}:{place}"[-MOST_NAME_LENGTH:]


async def record_heartbeats(name: str) -> None:
    """Record every few seconds that the web server of this name answers, until cancelled.

    Runs in a separate thread that does not keep the process from ending. A server that is stopped
    leaves the list of web servers; one that is killed stays there, silent.
    """
    thread, heart = RequestThreads(most=1), Heart(name)
    try:
        while True:
            try:
                await thread.call(heart.beat)
                failures.write_answer(logger)
            except NoThread as error:  # such a process cannot answer either
                logger.warning("A heartbeat of this process was not recorded: %s", error)
            except Exception as error:
                failures.write_failure(
                    logger, "A heartbeat of this process was not recorded", error
                )
            await asyncio.sleep(SIGN_SECONDS)
    finally:
        with suppress(Error, ClusterError, NoThread):
            await thread.call(heart.stop)  # after a beat that is still under way


class Heart:
    """Heart of a process of a web server. Its thread alone beats and stops it."""

    def __init__(self, name: str) -> None:
        self._own = WebServer.objects.filter(name=name)
        self._name = name
        self._last: datetime | None = None

    def beat(self) -> None:
        """Record that the process answers."""
        try:
            outage.watch(WEB)
            WebServer.objects.update_or_create(
                name=self._name,
                defaults={"version": f"{VERSION} {COMMIT}".strip()[:60], "answered_at": Now()},
            )
            self._last = self._own.values_list("answered_at", flat=True).first()
        finally:
            connection.close()  # it is needed for a moment only

    def stop(self) -> None:
        """Leave the list of web servers, unless another process of this server answered later.

        After a reload, a new process answers while the old ones still end.
        """
        try:
            own = self._own.filter(answered_at__lte=self._last) if self._last else self._own.all()
            own.delete()
        finally:
            connection.close()


# Part of a web server's process in the hand-over of turns.


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
