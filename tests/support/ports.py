"""Ports for servers that are killed and started again."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

# Below those that the system gives to clients: nobody takes the port while its server is down.
LOWEST, HIGHEST = 20_000, 32_000


def port_for_server() -> int:
    """Return a free port that stays free while nobody listens on it."""
    while True:
        port = random.randrange(LOWEST, HIGHEST)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
