"""A network that can be made slow, silent or broken: a proxy between two parts of the site."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

CHUNK = 65_536


class Proxy:
    """Proxy that forwards bytes, and can delay them, swallow the answers, and cut connections."""

    def __init__(self, listener: socket.socket, target: tuple[str, int] | Path) -> None:
        self.delay_seconds = 0.0
        self.is_swallowing = False  # answers do not arrive; requests do
        self.is_cut = False  # new connections end at once
        self.swallowed_bytes = 0
        self._listener, self._target = listener, target
        self._open: set[asyncio.StreamWriter] = set()
        self._loop = asyncio.new_event_loop()
        self._ready, self._over = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),))

    def start(self) -> None:
        """Begin to accept connections."""
        self._thread.start()
        assert self._ready.wait(30)

    def cut(self) -> None:
        """End every connection, without a word."""

        def abort() -> None:
            for writer in list(self._open):
                writer.transport.abort()

        self._do(abort)

    def end(self) -> None:
        """Cut everything and accept nothing more."""
        self.is_cut = True
        self._do(self._over.set)
        self._thread.join(30)
        self._loop.close()

    def _do(self, act: Callable[[], None]) -> None:
        done = threading.Event()
        self._loop.call_soon_threadsafe(lambda: (act(), done.set()))
        assert done.wait(30)

    async def _serve(self) -> None:
        start = (
            asyncio.start_unix_server
            if self._listener.family == socket.AF_UNIX
            else asyncio.start_server
        )
        server = await start(self._forward, sock=self._listener)
        self._ready.set()
        await self._over.wait()
        server.close()
        while self._open:
            for writer in list(self._open):
                writer.transport.abort()
            await asyncio.sleep(0.01)

    async def _forward(self, client: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self._open.add(back)
        try:
            await self._connect_and_forward(client, back)
        except OSError:
            pass  # the other end is away, and so is this one now
        finally:
            back.transport.abort()
            self._open.discard(back)

    async def _connect_and_forward(
        self, client: asyncio.StreamReader, back: asyncio.StreamWriter
    ) -> None:
        if self.is_cut:
            return
        if isinstance(self._target, Path):
            answers, there = await asyncio.open_unix_connection(self._target)
        else:
            answers, there = await asyncio.open_connection(*self._target)
        self._open.add(there)
        try:
            await asyncio.gather(self._pump(client, there), self._pump(answers, back, True))
        finally:
            there.transport.abort()
            self._open.discard(there)

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_answer: bool = False
    ) -> None:
        while data := await reader.read(CHUNK):
            await asyncio.sleep(self.delay_seconds)
            if is_answer and self.is_swallowing:
                self.swallowed_bytes += len(data)
            else:
                writer.write(data)
                await writer.drain()
        writer.write_eof()


@contextmanager
def proxied(listener: socket.socket, target: tuple[str, int] | Path) -> Iterator[Proxy]:
    """A running proxy."""
    proxy = Proxy(listener, target)
    proxy.start()
    try:
        yield proxy
    finally:
        proxy.end()
