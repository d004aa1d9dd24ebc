"""Load generator over HTTP/1.1: persistent connections, each with one request at a time."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

ANSWER_SECONDS = 60.0


@dataclass
class Load:
    """Answers to a load: the seconds that each took, by status."""

    times: list[float] = field(default_factory=list)
    answers: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Return the number of successful answers per second."""
        return len(self.times) / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Answer:
    """Answer of a server: status, headers by lower-case name, body."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body) if self.body else None


def request(
    method: str, path: str, *, token: str = "", cookie: str = "", body: Any = None, place: str = ""
) -> bytes:
    """Return the bytes of a request."""
    content = b"" if body is None else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Accept: */*"]
    lines += [f"Authorization: Bearer {token}"] if token else []
    lines += [f"Cookie: {cookie}"] if cookie else []
    lines += [f"Place-Token: {place}"] if place else []
    if method != "GET":
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return "\r\n".join([*lines, "", ""]).encode() + content


class Connection:
    """Connection that the next request reopens if the server has closed it."""

    def __init__(self, host: str, port: int, source: str = "") -> None:
        self._address = (host, port)
        self._source = (source, 0) if source else None  # the local address to connect from
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, request: bytes) -> Answer:
        """Send a request and read the answer. Raises OSError, EOFError, TimeoutError."""
        was_open = self._streams is not None
        try:
            return await self._send_once(request)
        except (ConnectionError, asyncio.IncompleteReadError) as error:
            if not was_open or getattr(error, "partial", b""):
                raise
        return await self._send_once(request)  # the server had closed it while it was idle

    async def _send_once(self, request: bytes) -> Answer:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                if self._streams is None:
                    self._streams = await asyncio.open_connection(
                        *self._address, local_addr=self._source
                    )
                reader, writer = self._streams
                writer.write(request)
                return await self._read(reader)
        except BaseException:
            self.close()
            raise

    async def _read(self, reader: asyncio.StreamReader) -> Answer:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = await _chunks(reader)
        else:
            body = await reader.readexactly(int(headers.get("content-length", 0)))
        if headers.get("connection", "").lower() == "close":
            self.close()
        return Answer(int(first.split()[1]), headers, body)

    def close(self) -> None:
        """Close the connection if it is open."""
        if self._streams:
            self._streams[1].close()
            self._streams = None


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    pieces = []
    while length := int(await reader.readline(), 16):
        pieces.append(await reader.readexactly(length))
        await reader.readline()
    await reader.readline()
    return b"".join(pieces)


def closed_loop(
    address: tuple[str, int],
    requests: Iterator[bytes],
    *,
    connections: int,
    seconds: float = float("inf"),
    most: float = float("inf"),
) -> Load:
    """Send requests for some seconds or up to a number; each connection waits for its answer."""
    return asyncio.run(_closed_loop(address, requests, connections, seconds, most))


async def _closed_loop(
    address: tuple[str, int],
    requests: Iterator[bytes],
    connections: int,
    seconds: float,
    most: float,
) -> Load:
    load, start, sent = Load(), time.perf_counter(), 0

    async def one_connection() -> None:
        nonlocal sent
        connection = Connection(*address)
        while sent < most and time.perf_counter() - start < seconds:
            following = next(requests, None)
            if following is None:
                break
            sent += 1
            began = time.perf_counter()
            try:
                answer = await connection.send(following)
            except (OSError, EOFError) as error:
                load.answers[type(error).__name__] += 1
                continue
            load.answers[str(answer.status)] += 1
            if answer.status < 400:
                load.times.append(time.perf_counter() - began)
        connection.close()

    await asyncio.gather(*[one_connection() for _ in range(connections)])
    load.seconds = time.perf_counter() - start
    return load
