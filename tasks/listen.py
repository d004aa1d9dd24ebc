"""LISTEN connections: their parameters, keepalives and reconnection policy.

LISTEN does not work through a pooler in transaction mode, so a listener has its own connection.
After a loss, the first attempt to reconnect waits up to 0.1 s. Each further one waits up to twice
as long, at most 5 s.
"""

from __future__ import annotations

import logging
import random
import time
from typing import Any

import psycopg
from django.db import connection, connections
from psycopg import sql

log = logging.getLogger(__name__)

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.1, 5.0
CONNECT_SECONDS = 3
# A listener sends nothing, so only keepalives show it that its server has vanished.
_LISTENER = {
    "connect_timeout": CONNECT_SECONDS,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
_OF_DJANGO = ("cursor_factory", "context", "prepare_threshold", "options", "server_side_binding")


class ListenerWaits:
    """Waits between attempts to connect. They double each time, with jitter."""

    def __init__(self) -> None:
        self._ceiling_seconds = 0.0

    def next_seconds(self) -> float:
        """Return the seconds to wait before the next attempt."""
        doubled = max(FIRST_WAIT_SECONDS, 2 * self._ceiling_seconds)
        self._ceiling_seconds = min(LONGEST_WAIT_SECONDS, doubled)
        return self._ceiling_seconds * random.uniform(0.5, 1.0)  # noqa: S311 -- no secret

    def reset(self) -> None:
        """Start again with the shortest wait; call it once a connection works."""
        self._ceiling_seconds = 0.0


def listen_parameters() -> dict[str, Any]:
    """Return parameters for a psycopg connection to Django's database, in autocommit mode."""
    given = connections["default"].get_connection_params()
    own = {name: value for name, value in given.items() if name not in _OF_DJANGO}
    return _LISTENER | own | {"autocommit": True}


def connect_to_listen(channel: str, session: str = "SELECT") -> psycopg.Connection[Any]:
    """Open an autocommit connection with Django's type adapters, and LISTEN on it.

    The statement `session` runs first and sets up the session. A standby server refuses LISTEN.
    Raises psycopg.Error.
    """
    wrapper = connection.copy()
    raw = wrapper.get_new_connection(_LISTENER | wrapper.get_connection_params())
    raw.autocommit = True
    try:
        raw.execute(session)
        raw.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
    except psycopg.Error:
        raw.close()
        raise
    listening: psycopg.Connection[Any] = raw
    return listening


class Listener:
    """Connection that only listens, and reconnects after a loss."""

    def __init__(self, channel: str) -> None:
        self._channel = channel
        self._connection: psycopg.Connection[Any] | None = None
        self._waits = ListenerWaits()
        self._not_before = 0.0

    def fileno(self) -> int | None:
        """Return the descriptor that notifications make readable; None while disconnected."""
        return self._connection.fileno() if self._connection else None

    def poll(self) -> list[str]:
        """Return the payloads received since the last call; first reconnect if that is due."""
        if self._connection is None and time.monotonic() < self._not_before:
            return []
        try:
            if self._connection is None:
                self._connection = connect_to_listen(self._channel)
                self._waits.reset()
            return [note.payload for note in self._connection.notifies(timeout=0)]
        except psycopg.Error as error:
            self.close()
            wait_seconds = self._waits.next_seconds()
            self._not_before = time.monotonic() + wait_seconds
            log.warning("reconnecting in %.1f s: %s", wait_seconds, error)
            return []

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
