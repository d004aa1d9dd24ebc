"""A web server in this process, with the product's protocol and any application behind it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import uvloop
from uvicorn.config import Config
from uvicorn.server import ServerState

from pipeline.server.http_protocol import BoundedProtocol
from pipeline.server.requests import RequestThreads
from pipeline.server.wsgi import WSGIAdapter

KEEP_ALIVE_SECONDS = 60


@contextmanager
def serving_here(
    application: Any,
    *,
    keep_alive_seconds: int = KEEP_ALIVE_SECONDS,
    protocol: Callable[..., Any] = BoundedProtocol,
) -> Iterator[int]:
    """Serve an ASGI application; gives the port."""
    config = Config(
        application, lifespan="off", log_config=None, timeout_keep_alive=keep_alive_seconds
    )
    loop, state = uvloop.new_event_loop(), ServerState()  # as the web server's own
    listening = loop.run_until_complete(
        loop.create_server(lambda: protocol(config, state, {}), "127.0.0.1", 0)
    )
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield listening.sockets[0].getsockname()[1]
    finally:
        asyncio.run_coroutine_threadsafe(_end(listening, state), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _end(listening: asyncio.Server, state: ServerState) -> None:
    listening.close()
    for connection in list(state.connections):
        connection.transport.abort()
    for task in (tasks := list(state.tasks)):
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.sleep(0.05)  # until the connections are closed


def adapter_of(application: Callable[..., Iterable[bytes]], threads: int = 2) -> WSGIAdapter:
    """The product's adapter around a WSGI application that needs no database."""
    adapter = WSGIAdapter(application)
    adapter._pool = RequestThreads(threads, lambda: None)
    return adapter
