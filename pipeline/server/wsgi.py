"""WSGI under ASGI: Django runs in threads, and the event loop talks to clients."""

from __future__ import annotations

import asyncio
import re
import sys
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO, Any, ClassVar
from urllib.parse import unquote_to_bytes
from uuid import UUID

from django.conf import settings
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from pipeline.api.problem_type import ProblemType
from pipeline.api.problem_types import PAYLOAD_TOO_LARGE, THROTTLED, UNAVAILABLE
from pipeline.line.arrivals import Arrival, thread_of_arrival
from pipeline.server.clients import Client, Clients, find_credential
from pipeline.server.places import FIELD, MOST_BYTES, Attempt, is_multipart
from pipeline.server.places import HEADER as PLACE_TOKEN
from pipeline.server.refusals import (
    OVERLOADED,
    TOO_MANY_AT_ONCE,
    TOO_MANY_BODIES,
    TOO_MANY_PAGES,
    WaitingPage,
    refuse,
    send_waiting_page,
)
from pipeline.server.request_body import (
    Body,
    BodyRoom,
    Gone,
    NoRoom,
    TooLong,
    TooSlow,
    declared_length,
    may_have_files,
)
from pipeline.server.requests import (
    NoThread,
    Overloaded,
    RequestQueue,
    RequestThreads,
    TooManyAtOnce,
)
from pipeline.server.stamps import expected_at_job, joined_job
from pipeline.web.addresses import PROGRAMS
from pipeline.web.asgi_types import Message, Receive, Send, await_disconnect
from pipeline.web.rate_limit import ProcessRate, RateUsedUp
from pipeline.web.refusal_log import refusal_log

Environ = dict[str, Any]


def build_environ(scope: Message, body: IO[bytes]) -> Environ:
    """Return the WSGI environ of a request.

    Headers with underscores are dropped, because they could be mistaken for a proxy's.
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
        "wsgi.input": body,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
    }
    for name, value in scope["headers"]:
        if b"_" in name:
            continue
        key, text = name.decode("latin1").upper().replace("-", "_"), value.decode("latin1")
        between = "; " if key == "COOKIE" else ","
        key = key if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else f"HTTP_{key}"
        environ[key] = f"{environ[key]}{between}{text}" if key in environ else text
    return environ


# Buffer between a thread that produces a large response and a client that reads it. The thread
# writes as fast as it can and then turns to other work. The event loop sends as fast as the client
# reads. The bytes in between are on disk, within limits.


MEMORY_BYTES = 262_144
# How much of one response, and of all responses of a process, may wait for clients. Beyond that,
# the thread waits, and abandons a client that reads too little meanwhile: other requests need the
# thread, and the client can tell that the response is incomplete.
MOST_WAITING_BYTES = 33_554_432
MOST_BYTES_OF_ALL = 536_870_912
FEW_BYTES = 1_048_576
PATIENCE_SECONDS = 10.0


class Abandoned(Exception):
    """The client no longer reads the response."""


class AnswerSpool:
    """Part of a response that is produced but not yet sent.

    `wake` is called in the writing thread if there is more to send.
    """

    bytes_of_all: ClassVar[int] = 0
    _of_all = threading.Lock()

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._changed = threading.Condition()
        self._file = SpooledTemporaryFile(max_size=MEMORY_BYTES)  # noqa: SIM115  closed by `close`
        self._written = self._taken = 0
        self._is_whole = self._is_abandoned = False

    def write(self, piece: bytes) -> None:
        """Store a piece. Raises Abandoned."""
        with self._changed:
            if not self._changed.wait_for(self._has_room, PATIENCE_SECONDS) or self._is_abandoned:
                raise Abandoned
            self._file.seek(self._written)
            self._file.write(piece)
            self._written += len(piece)
            self._count(len(piece))
        self._wake()

    def end(self) -> None:
        """Mark the response as complete."""
        with self._changed:
            self._is_whole = True
        self._wake()

    def take_bytes(self, length: int) -> tuple[bytes, bool]:
        """Return the next bytes to send, and whether nothing follows them."""
        with self._changed:
            if self._is_abandoned:
                return b"", False
            self._file.seek(self._taken)
            piece = self._file.read(min(length, self._written - self._taken))
            self._taken += len(piece)
            self._count(-len(piece))
            is_last = self._is_whole and self._taken == self._written
            if self._taken == self._written:  # the file stays short for a client that keeps up
                self._file.seek(0)
                self._file.truncate()
                self._taken = self._written = 0
            self._changed.notify()
        return piece, is_last

    def close(self) -> None:
        """Discard the rest, and tell the writing thread."""
        with self._changed:
            self._is_abandoned = True
            self._count(self._taken - self._written)
            self._taken = self._written
            self._file.close()
            self._changed.notify()

    def _has_room(self) -> bool:
        is_tight = AnswerSpool.bytes_of_all > MOST_BYTES_OF_ALL
        most = FEW_BYTES if is_tight else MOST_WAITING_BYTES
        return self._is_abandoned or self._written - self._taken < most

    def _count(self, change: int) -> None:
        with AnswerSpool._of_all:
            AnswerSpool.bytes_of_all += change


# Adapter that runs Django's WSGI application under an ASGI server, in a pool of threads. A thread
# is held only while Django works. The event loop receives the body before and sends the response
# after, so slow clients hold no thread. A request that breaks off gets no response. A small
# response is passed back in one piece, a large one through a spool, so a usual request switches
# threads only once each way; decision 0005 has the cost.


PIECE_BYTES = 65_536
# URLs whose responses take long: whole logs and lines, uploads and downloads.
_HEAVY = re.compile(
    r"/api/v1/jobs/[^/]+/(replay|verify|summary|idle-seats|applications/import)"
    r"|/api/v1/companies/me/idle-seats|/company/idle-seats/"
    r"|/api/v1/(files/[^/]+|tasks/[^/]+/refused-rows)"
    r"|/api/v1/applications/[^/]+/(receipt|log)"
    r"|/me/applications/[^/]+/(signed-receipt/|receipt\.json|log\.jsonl)"
    r"|/company/jobs/[^/]+/(replay/|verify/|figures/|import/|export/.*)|/company/files/[^/]+/"
)

_REFUSALS: dict[type[Exception], tuple[ProblemType, str | Promise]] = {
    RateUsedUp: (THROTTLED, TOO_MANY_PAGES),
    TooManyAtOnce: (THROTTLED, TOO_MANY_AT_ONCE),
    NoRoom: (UNAVAILABLE, TOO_MANY_BODIES),
    Overloaded: (UNAVAILABLE, OVERLOADED),
    NoThread: (UNAVAILABLE, OVERLOADED),
    TooLong: (PAYLOAD_TOO_LARGE, gettext_lazy("The body is too long.")),
}


@dataclass(frozen=True, slots=True)
class _Received:
    """A request whose body has been received."""

    scope: Message
    client: Client
    body: Body
    content: IO[bytes]
    receive: Receive
    send: Send
    is_kept: bool  # its body may be read again after the application

    @property
    def caller(self) -> str:
        return self.client.name if self.client.is_known else "anonymous"


WSGIApplication = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


class WSGIAdapter:
    """ASGI application that runs a WSGI application in a pool of threads."""

    def __init__(self, application: WSGIApplication) -> None:
        threads = RequestQueue.threads_of_process
        self._application = application
        self._pool = RequestThreads(threads)
        self._queue = RequestQueue(threads)
        self._room = BodyRoom()
        self._clients = Clients()
        self._pages = ProcessRate(settings.THROTTLE_RATES["pages"])
        self._retrying: set[bytes] = set()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Respond to one request, unless the client leaves before it has sent everything."""
        client = self._clients.find_client(scope)
        caller = client.name if client.is_known else "anonymous"
        try:
            if not client.is_known and not scope["path"].startswith(PROGRAMS):
                self._pages.count(client.name, asyncio.get_running_loop().time())
            job_id = joined_job(scope)
            is_long = declared_length(scope) > MOST_BYTES
            is_kept = job_id is not None and may_have_files(scope) and is_multipart(scope)
            gets_place = is_kept or (job_id is not None and not is_long)
            admitted = self._queue.admitted(client.name, is_read_first=gets_place)
            with admitted, Body(scope, self._room, client) as body:
                content = await body.receive(receive)
                request = _Received(scope, client, body, content, receive, send, is_kept)
                if job_id is not None and gets_place:
                    make = partial(Attempt, scope, job_id, find_credential(scope), content)
                    attempt = await asyncio.to_thread(make) if is_long else make()
                    await self._join(request, job_id, attempt)
                else:
                    with expected_at_job(scope, job_id) as arrival:
                        answer, rest = await self._make_answer(request, arrival)
                    await answer.finish(rest)
        except tuple(_REFUSALS) as reason:
            await refuse(scope, send, *_REFUSALS[type(reason)], caller)
        except TooSlow:
            refusal_log.note((scope.get("client") or ("",))[0], 408, caller)
            headers = [(b"content-length", b"0"), (b"connection", b"close")]
            await send({"type": "http.response.start", "status": 408, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
        except (Gone, Abandoned):
            return

    async def _join(self, request: _Received, job_id: UUID, attempt: Attempt) -> None:
        """Answer a request that joins a job's line. If the site is full, it gets a place token.

        So it does if Django refuses it because the job or the database is too busy.
        """
        # Of attempts with one token, only one at a time counts as early.
        place = None if attempt.id in self._retrying else attempt.place()
        if place is not None:
            self._retrying.add(attempt.id)
        try:
            with expected_at_job(request.scope, job_id, place) as arrival:
                answer, rest = await self._make_answer(request, arrival)
        except (Overloaded, NoThread):
            if arrival is None:
                raise
            await asyncio.to_thread(attempt.read_parts)
            await self._ask_to_wait(request, attempt, arrival)
            return
        finally:
            if place is not None:
                self._retrying.discard(attempt.id)
        if arrival is not None and answer.status == UNAVAILABLE.status:
            await asyncio.to_thread(attempt.read_parts)
            if attempt.kept_fields() is not None:
                await self._ask_to_wait(request, attempt, arrival)
                return
            self._queue.note_refusal(request.client.name, arrival)
            answer.add_header(PLACE_TOKEN, attempt.issue(arrival.came_at))
        await answer.finish(rest)

    async def _ask_to_wait(self, request: _Received, attempt: Attempt, arrival: Arrival) -> None:
        wait = self._queue.note_refusal(request.client.name, arrival)
        token = attempt.issue(arrival.came_at)
        fields = attempt.kept_fields()
        if fields is not None:
            ahead = wait.ahead * max(1, len(arrival.of.peers.open_rows()))
            files, kept = attempt.chosen_files(), (FIELD, token)
            # In parts, it is first: only the beginning of a long form is searched for it.
            fields = [kept, *fields] if files else [*fields, kept]
            page = WaitingPage(fields, files, ahead, wait.seconds)
            await send_waiting_page(request.scope, request.send, page, request.caller)
            return
        headers = {PLACE_TOKEN: token, "Retry-After": str(wait.seconds)}
        await refuse(
            request.scope, request.send, UNAVAILABLE, OVERLOADED, request.caller, headers=headers
        )

    async def _make_answer(
        self, request: _Received, arrival: Arrival | None
    ) -> tuple[_WSGIAnswer, bytes]:
        """Run the application in a thread; return its answer and what is left to send of it."""
        environ = build_environ(request.scope, request.content)
        is_heavy = _HEAVY.fullmatch(request.scope["path"]) is not None
        client, body = request.client, request.body
        answer = _WSGIAnswer(
            asyncio.get_running_loop(),
            request.receive,
            request.send,
            ends_connection=body.is_left_unread,
        )
        await self._queue.begin(client.name, is_heavy=is_heavy, arrival=arrival)
        try:
            work = partial(answer.make, self._application, environ, arrival)
            rest = await self._pool.call(work)
        except BaseException:
            answer.abandon()
            raise
        finally:
            self._queue.end(client.name, is_heavy=is_heavy, arrival=arrival)
            if not request.is_kept:
                body.close()  # its room is freed before the client reads the response
        self._clients.note_client(client, request.scope, environ)
        return answer, rest


class _WSGIAnswer:
    """The application's response, on its way from a thread to the client."""

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
        self._spool: AnswerSpool | None = None
        self._sending: Future[None] | None = None
        self._more = asyncio.Event()
        self.status = 0

    def make(
        self, application: WSGIApplication, environ: Environ, arrival: Arrival | None = None
    ) -> bytes:
        """Run the application in its thread, and return the unsent rest of a small response.

        Raises Abandoned.
        """
        with thread_of_arrival(arrival):
            iterable = application(environ, self._begin)
            try:
                return b"" if environ["REQUEST_METHOD"] == "HEAD" else self._drain(iterable)
            finally:
                if hasattr(iterable, "close"):
                    iterable.close()

    def _begin(self, status: str, headers: list[tuple[str, str]], *_: Any) -> None:
        # Stripped, because Django's Set-Cookie begins with a space, which is not part of a value.
        said = [(k.lower().encode("latin1"), v.strip().encode("latin1")) for k, v in headers]
        # A client that is asked to come later would often find a kept connection just closed.
        if self._ends_connection or any(name == b"retry-after" for name, _ in said):
            said.append((b"connection", b"close"))
        self.status = int(status[:3])
        self._start = {"type": "http.response.start", "status": self.status, "headers": said}

    def _drain(self, iterable: Iterable[bytes]) -> bytes:
        pieces: list[bytes] = []
        length = 0
        for piece in iterable:
            pieces.append(piece)
            length += len(piece)
            if length >= PIECE_BYTES:
                if self._spool is None:
                    self._spool = AnswerSpool(
                        lambda: self._loop.call_soon_threadsafe(self._more.set)
                    )
                self._spool.write(b"".join(pieces))
                if self._sending is None:  # in the event loop; this does not wait for the client
                    self._sending = asyncio.run_coroutine_threadsafe(
                        self._send_stored(self._spool), self._loop
                    )
                pieces, length = [], 0
        rest = b"".join(pieces)
        if self._spool is None:
            return rest
        self._spool.write(rest)
        self._spool.end()
        return b""

    def add_header(self, name: str, value: str) -> None:
        """Add a header to a response of which nothing is sent yet."""
        self._start["headers"].append((name.lower().encode(), value.encode("latin1")))

    def abandon(self) -> None:
        """Send nothing more. uvicorn closes a connection whose response is incomplete."""
        if self._sending is not None:
            self._sending.cancel()
        if self._spool is not None:  # here too, because a task that has not begun closes nothing
            self._spool.close()

    async def finish(self, rest: bytes) -> None:
        """Send the rest, and end the response."""
        if self._sending is not None:
            await asyncio.wrap_future(self._sending)
        else:
            await self._pass_on(rest, is_last=True)

    async def _send_stored(self, spool: AnswerSpool) -> None:
        """Send stored bytes as fast as the client reads and the thread writes them."""
        gone = asyncio.ensure_future(await_disconnect(self._receive))
        gone.add_done_callback(lambda _: self._more.set())
        is_last = False
        try:
            while not (is_last or gone.done()):
                piece, is_last = spool.take_bytes(PIECE_BYTES)
                if piece or is_last:
                    await self._pass_on(piece, is_last=is_last)
                else:
                    await self._more.wait()
                self._more.clear()
        finally:
            gone.cancel()
            spool.close()

    async def _pass_on(self, piece: bytes, *, is_last: bool = False) -> None:
        if self._start:
            await self._send(self._start)
            self._start = {}
        await self._send({"type": "http.response.body", "body": piece, "more_body": not is_last})
