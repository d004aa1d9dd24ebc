"""Heartbeats of a web server process: people can confirm a seat only while one runs."""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress
from datetime import datetime
from functools import partial

from django.db import Error, connection
from django.db.models.functions import Now

from pipeline.config.release import COMMIT, VERSION
from pipeline.database.errors import ClusterError
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
    thread, last = RequestThreads(most=1), None
    try:
        while True:
            try:
                last = await thread.call(partial(_record, name))
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
            await thread.call(partial(_remove, name, last))


def _record(name: str) -> datetime | None:
    try:
        outage.watch(WEB)
        WebServer.objects.update_or_create(
            name=name,
            defaults={"version": f"{VERSION} {COMMIT}".strip()[:60], "answered_at": Now()},
        )
        return WebServer.objects.filter(name=name).values_list("answered_at", flat=True).first()
    finally:
        connection.close()  # it is needed for a moment only


def _remove(name: str, last: datetime | None) -> None:
    """Leave the list of web servers, unless another process of this one answered after `last`.

    After a reload, a new process answers while the old ones still end.
    """
    try:
        own = WebServer.objects.filter(name=name)
        (own.filter(answered_at__lte=last) if last else own).delete()
    finally:
        connection.close()
