"""gunicorn's worker: uvicorn's, which also closes its open streams when asked to end.

So a restart does not wait for live streams, or for Python to free a large program's objects.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import logging
import os
import resource
import socket
import sys
from types import FrameType
from typing import Any

from gunicorn.arbiter import Arbiter
from uvicorn.server import Server
from uvicorn_worker import UvicornWorker

from pipeline.config import env
from pipeline.server.gunicorn_config import GRACE_SECONDS
from pipeline.server.http_protocol import BoundedProtocol
from pipeline.server.requests import RequestQueue
from tasks.parent import end_with_parent

# How long a stream may take to end when the server stops. Clients that do not read cannot delay it.
STUCK_SECONDS = 1.0
# How long to wait until this process has left the list of web servers.
FAREWELL_SECONDS = 1.0
# Connections accepted in one turn of the event loop. While threads hold the interpreter, a turn
# takes about 20 ms, and a crowd would wait in the kernel for one connection a turn.
ACCEPTED_AT_ONCE = 8
# Objects made since the last collection, and collections of each generation before the next one.
COLLECT_AFTER = (10_000, 20, 50)


def duplicate_listeners(sockets: list[socket.socket]) -> list[socket.socket]:
    """Return several handles of each socket: uvloop accepts one connection from each.

    The sockets themselves are among them, so that the port refuses connections once the server has
    closed all its handles.
    """
    return [
        handle
        for each in sockets
        for handle in (each, *(each.dup() for _ in range(ACCEPTED_AT_ONCE - 1)))
    ]


class _WorkerServer(Server):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.should_exit = (
            True  # and nothing more: the process should end normally, not by a signal
        )

    async def shutdown(self, sockets: Any = None) -> None:
        from pipeline.line.handover import handover_of_process
        from pipeline.live.hub import hub_of_process
        from pipeline.live.streams import PREFIX

        def close_streams_of_worker() -> None:
            for connection in list(self.server_state.connections):
                scope = getattr(connection, "scope", None) or {}
                if scope.get("path", "").startswith(PREFIX):
                    connection.transport.abort()

        if handover := handover_of_process():
            handover.stop()
        hub_of_process().close()
        asyncio.get_running_loop().call_later(STUCK_SECONDS, close_streams_of_worker)
        await super().shutdown(sockets)


class LiveWorker(UvicornWorker):
    """One of the web server's processes."""

    CONFIG_KWARGS = {
        "loop": "uvloop",
        "http": BoundedProtocol,
        "ws": "none",
        "lifespan": "off",
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,  # read by `pipeline.server.clients`, from TRUSTED_PROXIES only
        "timeout_graceful_shutdown": GRACE_SECONDS,
    }

    def init_process(self) -> None:
        """Load the application with gunicorn's number of threads."""
        RequestQueue.threads_of_process = self.cfg.threads
        BoundedProtocol.connection_limits.trust(env.trusted_proxies())
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)  # a connection needs one each
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        super().init_process()

    def run(self) -> None:
        """Serve until asked to end, then exit at once."""
        # Everything loaded so far stays, so the collector does not need to scan it again.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECT_AFTER)
        # After kill -9 of the master, nobody else would end this process, which holds the port.
        end_with_parent(self.ppid, grace_seconds=self.cfg.graceful_timeout)
        super().run()
        atexit._run_exitfuncs()
        logging.shutdown()
        os._exit(0)  # the system frees everything at once; Python would take seconds

    async def _serve(self) -> None:
        from pipeline.server.process import listener_name, record_heartbeats, turns_handed_over

        self.config.app = self.wsgi
        server = _WorkerServer(config=self.config)
        self._install_sigquit_handler()
        name = listener_name(self.sockets[0])
        heartbeats = asyncio.create_task(record_heartbeats(name))
        with turns_handed_over(self.peers, self.row):
            await server.serve(sockets=duplicate_listeners(self.sockets))
        heartbeats.cancel()
        await asyncio.wait([heartbeats], timeout=FAREWELL_SECONDS)
        if not server.started:
            sys.exit(Arbiter.WORKER_BOOT_ERROR)
