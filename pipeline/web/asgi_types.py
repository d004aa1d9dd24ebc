"""Types of the three arguments of an ASGI application, and waiting for its client to leave."""

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
