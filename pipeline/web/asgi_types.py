"""Types of an ASGI application's three arguments, and the end that all of them wait for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def until_gone(receive: Receive) -> None:
    """Wait until the client has left; forget what it still sends."""
    while (await receive())["type"] != "http.disconnect":
        pass
