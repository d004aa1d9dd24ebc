"""Heartbeats of a web server process: people can confirm a seat only while one runs."""

from __future__ import annotations

import asyncio
import logging
import socket
from contextlib import suppress

from django.db import Error, connection
from django.db.models.functions import Now

from pipeline.config.release import COMMIT, VERSION
from pipeline.database.errors import ClusterError
from pipeline.models import WebServer
from pipeline.server.requests import NoThread, RequestThreads
from pipeline.services.outage import SIGN_SECONDS, WEB, watch_for_outage
from tasks.failure_log import failures

logger = logging.getLogger(__name__)
MACHINE = socket.gethostname()[:100]


async def record_web_server_heartbeats() -> None:
    """Record every few seconds that this process answers, until it is cancelled.

    Runs in a separate thread that does not keep the process from ending. A server that is stopped
    leaves the list of web servers; one that is killed stays there, silent.
    """
    thread = RequestThreads(most=1)
    try:
        await _record_web_server_heartbeats_in(thread)
    finally:
        with suppress(Error, ClusterError, NoThread):
            await thread.call(_remove_web_server)


async def _record_web_server_heartbeats_in(thread: RequestThreads) -> None:
    while True:
        try:
            await thread.call(_record_web_server_heartbeat)
            failures.write_answer(logger)
        except NoThread as error:  # such a process cannot answer either
            logger.warning("A heartbeat of this process was not recorded: %s", error)
        except Exception as error:
            failures.write_failure(logger, "A heartbeat of this process was not recorded", error)
        await asyncio.sleep(SIGN_SECONDS)


def _record_web_server_heartbeat() -> None:
    try:
        watch_for_outage(WEB)
        WebServer.objects.update_or_create(
            name=MACHINE,
            defaults={"version": f"{VERSION} {COMMIT}".strip()[:60], "answered_at": Now()},
        )
    finally:
        connection.close()  # it is needed for a moment only


def _remove_web_server() -> None:
    """Leave the list of web servers. Another process on this machine soon puts it back."""
    try:
        WebServer.objects.filter(name=MACHINE).delete()
    finally:
        connection.close()
