"""Adapter that runs Django's WSGI application under an ASGI server, in a pool of threads.

The body is read before a thread is taken, so slow senders hold none; a request that breaks off is
never answered. An answer goes back in one piece unless it is large; then the thread hands it over
piece by piece, as fast as the client takes it. So a usual request changes threads only once each
way; decision 0005 has the cost.
"""

from __future__ import annotations

import asyncio
import io
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar
from urllib.parse import unquote_to_bytes

from pipeline.server.request_threads import RequestThreads
from pipeline.web.asgi_types import Message, Receive, Send

# More than Django takes. A body that says it is longer is left unread; it is refused by that, and
# the connection ends.
MOST_BODY_BYTES = 3_000_000
BODY_SECONDS = 30.0
# The same where a file of people is taken in, which may have 16 MB beside its form.
MOST_FILE_BYTES = 17_000_000
FILE_SECONDS = 120.0
_TAKES_FILES = re.compile(r"/api/v1/jobs/[^/]+/applications/import|/company/jobs/[^/]+/import/")
# How long a client may take nothing of a large answer.
TAKING_SECONDS = 60.0
PIECE_BYTES = 65_536

Environ = dict[str, Any]
WSGIApplication = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


class _Gone(Exception):
    """The client no longer waits for an answer."""


class _Refused(Exception):
    """The body cannot be read; holds the status of the answer."""


class WSGIAdapter:
    """ASGI application that answers HTTP requests by a WSGI application in a pool of threads."""

    threads: ClassVar[int] = 16  # of each process; the worker sets it from gunicorn's --threads

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application
        self._pool = RequestThreads(self.threads)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer one request, or nothing if the client goes away before it has sent it all."""
        try:
            async with asyncio.timeout(FILE_SECONDS if _takes_files(scope) else BODY_SECONDS):
                body = await _read(scope, receive)
        except _Gone:
            return
        except TimeoutError:
            await _refuse(send, 408)
        except _Refused as refused:
            await _refuse(send, refused.args[0])
        else:
            loop = asyncio.get_running_loop()
            answer = _Answer(loop, receive, send, ends_connection=_is_left_unread(scope))
            work = partial(answer.make, self._application, environ_of(scope, body))
            rest = await loop.run_in_executor(self._pool, work)
            if rest is not None:
                await answer.finish(rest)


def _takes_files(scope: Message) -> bool:
    return _TAKES_FILES.fullmatch(scope["path"]) is not None


def _most_bytes(scope: Message) -> int:
    return MOST_FILE_BYTES if _takes_files(scope) else MOST_BODY_BYTES


def _is_left_unread(scope: Message) -> bool:
    return int(dict(scope["headers"]).get(b"content-length", 0)) > _most_bytes(scope)


async def _read(scope: Message, receive: Receive) -> bytes:
    if _is_left_unread(scope):
        return b""
    pieces, length, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        pieces.append(message.get("body", b""))
        length += len(pieces[-1])
        more = message.get("more_body", False)
        if length > _most_bytes(scope):
            raise _Refused(413)
    return b"".join(pieces)


async def _refuse(send: Send, status: int) -> None:
    headers = [(b"content-length", b"0"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b""})


class _Answer:
    """Answer of the application, on its way from its thread to the client."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        receive: Receive,
        send: Send,
        *,
        ends_connection: bool,
    ) -> None:
        self._loop = loop
        self._receive = receive
        self._send = send
        self._ends_connection = ends_connection
        self._start: Message = {}
        self._gone: asyncio.Future[Message] | None = None

    def make(self, application: WSGIApplication, environ: Environ) -> bytes | None:
        """Run the application, in its thread; gives what is left to send, None if nobody waits."""

        def start_response(status: str, headers: list[tuple[str, str]], *_: Any) -> None:
            said = [(k.lower().encode("latin1"), v.encode("latin1")) for k, v in headers]
            if self._ends_connection:
                said.append((b"connection", b"close"))
            code = int(status[:3])
            self._start = {"type": "http.response.start", "status": code, "headers": said}

        iterable = application(environ, start_response)
        try:
            return b"" if environ["REQUEST_METHOD"] == "HEAD" else self._drain(iterable)
        except (_Gone, TimeoutError):
            return None
        finally:
            if hasattr(iterable, "close"):
                iterable.close()

    def _drain(self, iterable: Iterable[bytes]) -> bytes:
        pieces: list[bytes] = []
        length = 0
        for piece in iterable:
            pieces.append(piece)
            length += len(piece)
            if length >= PIECE_BYTES:
                self._hand_over(b"".join(pieces))
                pieces, length = [], 0
        return b"".join(pieces)

    def _hand_over(self, piece: bytes) -> None:
        """Wait until the client has taken a piece. Raises _Gone, TimeoutError."""

        async def send_if_there() -> None:
            if self._gone is None:
                self._gone = asyncio.ensure_future(self._receive())  # there is nothing but the end
            if self._gone.done():
                raise _Gone
            await self._pass_on(piece)

        sending = asyncio.run_coroutine_threadsafe(send_if_there(), self._loop)
        try:
            sending.result(TAKING_SECONDS)
        except TimeoutError:
            sending.cancel()
            raise

    async def finish(self, rest: bytes) -> None:
        """Send what is left, and that this was all; who takes nothing more is not waited for."""
        try:
            async with asyncio.timeout(TAKING_SECONDS):
                await self._pass_on(rest, is_last=True)
        except TimeoutError:
            return

    async def _pass_on(self, piece: bytes, *, is_last: bool = False) -> None:
        if self._start:
            await self._send(self._start)
            self._start = {}
        await self._send({"type": "http.response.body", "body": piece, "more_body": not is_last})
        if is_last and self._gone:
            self._gone.cancel()


def environ_of(scope: Message, body: bytes) -> Environ:
    """Return the WSGI environ of a request.

    Headers with underscores are dropped: they could pass for those that a proxy sets.
    """
    server, port = scope.get("server") or ("localhost", 80)
    environ: Environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(scope["raw_path"]).decode("latin1"),
        "QUERY_STRING": scope["query_string"].decode("latin1"),
        "SERVER_PROTOCOL": f"HTTP/{scope['http_version']}",
        "SERVER_NAME": server,
        "SERVER_PORT": str(port or 0),
        "REMOTE_ADDR": (scope.get("client") or [""])[0],
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        if b"_" in name:
            continue
        key = name.decode("latin1").upper().replace("-", "_")
        if key not in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            key = f"HTTP_{key}"
        text = value.decode("latin1")
        between = "; " if key == "HTTP_COOKIE" else ","
        environ[key] = f"{environ[key]}{between}{text}" if key in environ else text
    return environ
