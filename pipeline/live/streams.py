"""`GET /live/<token>`: server-sent events when a line changes, without Django.

`GET /live/clock` answers 204 with the time, to a page whose device has slept.

Open streams hold no thread and no database connection. Events: `change` with the job and its log's
last seq, and `check` if changes may have been missed. The page then fetches what changed.
"""

from __future__ import annotations

import json
import random
from asyncio import ensure_future
from datetime import UTC, datetime

from django.conf import settings
from django.http import parse_cookie

from pipeline.live import stream_tokens
from pipeline.live.hub import Hub, HubFull, HubWatcher, StreamEnded
from pipeline.web.addresses import client_network
from pipeline.web.asgi_types import Message, Receive, Send, await_disconnect
from pipeline.web.refusal_log import refusal_log

PREFIX = "/live/"
CLOCK = "clock"
TIME_HEADER = "Server-Time"
# How often a silent stream sends a sign of life, so that no proxy closes it.
HEARTBEAT_SECONDS = 20.0
RETRY_MS = (2_000, 6_000)
FULL_RETRY_SECONDS = 30

_ALWAYS = [(b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff")]


async def respond(hub: Hub, scope: Message, receive: Receive, send: Send) -> None:
    """Respond to one request below /live/, with a stream or immediately.

    204, which tells an EventSource to stop, for a token that is invalid, expired or not for this
    session, or whose member has lost a job. 503 if there are too many watchers. 405 for any method
    but GET.
    """
    if scope["method"] != "GET":
        return await _answer_empty(send, 405, (b"allow", b"GET"))
    name = scope["path"].removeprefix(PREFIX)
    if name == CLOCK:
        now = datetime.now(UTC).isoformat().encode()
        return await _answer_empty(send, 204, (TIME_HEADER.lower().encode(), now))
    token = stream_tokens.read(name)
    cookies = b"; ".join(value for name, value in scope["headers"] if name == b"cookie")
    session_key = parse_cookie(cookies.decode("latin1")).get(settings.SESSION_COOKIE_NAME, "")
    if token is None or not token.is_for(session_key):
        return await _answer_empty(send, 204)
    address = client_network((scope.get("client") or ("",))[0])
    try:
        with hub.watching(token, address=address, session_key=session_key) as watcher:
            await _send_news(watcher, receive, send)
    except StreamEnded:
        await _answer_empty(send, 204)
    except HubFull:
        refusal_log.note(address, 503)
        wait = (b"retry-after", str(FULL_RETRY_SECONDS).encode())
        await _answer_empty(send, 503, wait, (b"connection", b"close"))


async def _answer_empty(send: Send, status: int, *headers: tuple[bytes, bytes]) -> None:
    length = [] if status == 204 else [(b"content-length", b"0")]
    start = {"type": "http.response.start", "status": status}
    await send(start | {"headers": [*_ALWAYS, *length, *headers]})
    await send({"type": "http.response.body", "body": b""})


async def _send_news(watcher: HubWatcher, receive: Receive, send: Send) -> None:
    kind = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"x-accel-buffering", b"no")]
    await send({"type": "http.response.start", "status": 200, "headers": [*_ALWAYS, *kind]})
    await _write(send, f"retry: {random.randint(*RETRY_MS)}\n\n")  # noqa: S311  no secret

    gone = ensure_future(await_disconnect(receive))
    gone.add_done_callback(lambda _: watcher.close_stream())
    try:
        while not watcher.is_over:
            await watcher.wait(HEARTBEAT_SECONDS)
            if not watcher.is_over:
                news, missed = watcher.take_changes()
                changes = [{"job": str(job), "seq": seq} for job, seq in news.items()]
                events = ["event: check\ndata: {}\n\n"] if missed else []
                events += [f"event: change\ndata: {json.dumps(each)}\n\n" for each in changes]
                await _write(send, "".join(events) or ":\n\n")
    finally:
        gone.cancel()
    await send({"type": "http.response.body", "body": b""})


async def _write(send: Send, text: str) -> None:
    await send({"type": "http.response.body", "body": text.encode(), "more_body": True})
