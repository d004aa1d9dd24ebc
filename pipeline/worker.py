"""gunicorn's worker: uvicorn's, with bounds for what a client may send before it is answered.

It ends the open streams when it is asked to end, so that a restart waits for nobody who only looks.
"""

from __future__ import annotations

import asyncio
import sys
from types import FrameType
from typing import Any

from gunicorn.arbiter import Arbiter
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import Server
from uvicorn_worker import UvicornWorker

from pipeline.gunicorn import GRACE_SECONDS

MOST_HEAD_BYTES = 65_536
HEAD_SECONDS = 20.0
"""How long the first request of a connection may take until its headers are there."""


class BoundedProtocol(HttpToolsProtocol):
    """HTTP, where a request's head has to end somewhere, and soon."""

    _waiting: asyncio.TimerHandle | None = None
    _is_in_head = True
    _head_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Give the client so long to ask something."""
        super().connection_made(transport)
        self._waiting = self.loop.call_later(HEAD_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the client."""
        self._ask_no_longer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take what came, unless the head gets too long."""
        super().data_received(data)
        if self._is_in_head and self._head_bytes + len(data) > MOST_HEAD_BYTES:
            self.send_400_response("The request's head is too long.")
        elif self._is_in_head:
            self._head_bytes += len(data)

    def on_headers_complete(self) -> None:
        """The head has ended."""
        self._is_in_head = False
        self._ask_no_longer()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next that comes is another head."""
        self._is_in_head, self._head_bytes = True, 0
        super().on_message_complete()

    def _ask_no_longer(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None


class _LiveServer(Server):
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.should_exit = True  # and nothing more: the process is to end in order, not by a signal

    async def shutdown(self, sockets: Any = None) -> None:
        from pipeline.asgi import hub

        hub.close()
        await super().shutdown(sockets)


class LiveWorker(UvicornWorker):
    """One of the web server's processes."""

    CONFIG_KWARGS = {
        "loop": "asyncio",
        "http": BoundedProtocol,
        "ws": "none",
        "lifespan": "off",
        "access_log": False,
        "server_header": False,
        "proxy_headers": False,  # TRUSTED_PROXIES says whom we believe, see pipeline.api.addresses
        "timeout_graceful_shutdown": GRACE_SECONDS,
    }

    async def _serve(self) -> None:
        self.config.app = self.wsgi
        server = _LiveServer(config=self.config)
        self._install_sigquit_handler()
        await server.serve(sockets=self.sockets)
        if not server.started:
            sys.exit(Arbiter.WORKER_BOOT_ERROR)
