"""Types of an ASGI application, its headers, and waiting for its client to leave."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def await_disconnect(receive: Receive) -> None:
    """Wait until the client has left; forget what it still sends."""
    while (await receive())["type"] != "http.disconnect":
        pass


def find_header(scope: Message, name: bytes) -> bytes:
    """Return the first header with a name, or no bytes."""
    return next((value for each, value in scope["headers"] if each == name), b"")
