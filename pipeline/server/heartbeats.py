"""Heartbeats of a web server process: people can confirm a seat only while one runs."""

from __future__ import annotations

import asyncio
import logging

from django.db import connection

from pipeline.server.request_threads import NoThread, RequestThreads
from pipeline.services.outage import SIGN_SECONDS, WEB, watch_for_outage
from tasks.failure_log import failures

logger = logging.getLogger(__name__)


async def record_web_server_heartbeats() -> None:
    """Record every few seconds that this process answers, until it is cancelled.

    Runs in a separate thread that does not keep the process from ending.
    """
    thread = RequestThreads(most=1)
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
    finally:
        connection.close()  # it is needed for a moment only
