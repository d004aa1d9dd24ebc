"""LISTEN connections: their parameters, keepalives and reconnection policy.

LISTEN does not work through a pooler in transaction mode, so a listener has its own connection.
After a loss, the first attempt to reconnect waits up to 0.1 s. Each further one waits up to twice
as long, at most 5 s.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

import psycopg
from django.conf import settings
from django.db import connections
from psycopg import sql

from tasks.failure_log import failures

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
# How long a notification may take from one connection to another.
HEARD_SECONDS = 2.0
_OF_DJANGO = ("cursor_factory", "context", "prepare_threshold", "options", "server_side_binding")


class TransactionPooler(psycopg.OperationalError):
    """The address of PostgreSQL itself is that of a pooler in transaction mode."""

    def __init__(self) -> None:
        super().__init__(
            "this address goes through a pooler in transaction mode, where LISTEN, settings of a"
            " session and locks of a session do not work. Set DATABASE_DIRECT_URL to the address of"
            " PostgreSQL itself, or of a pooler in session mode."
        )


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


def listener_database() -> Any:
    """Return a new database wrapper of Django's that reaches PostgreSQL without a pooler.

    In a process that has moved its usual connections to a pooler, DIRECT_DATABASE in the settings
    says where PostgreSQL is.
    """
    wrapper = connections["default"].copy()
    wrapper.settings_dict = getattr(settings, "DIRECT_DATABASE", None) or wrapper.settings_dict
    return wrapper


@contextmanager
def listener_session() -> Iterator[Any]:
    """Yield a connection on which a result can be kept for longer than a transaction.

    Behind a pooler, each statement of a request can be on another connection.
    """
    if getattr(settings, "DIRECT_DATABASE", None) is None:
        yield connections["default"]
        return
    database = listener_database()
    try:
        yield database
    finally:
        database.close()


def refuse_pooled_connection(raw: psycopg.Connection[Any]) -> None:
    """Raise TransactionPooler if this new connection has no session to itself.

    A pooler makes up the number under which a client can cancel its statements, so it differs from
    that of the server's process. In session mode LISTEN still works, which is then tried.
    """
    row = raw.execute("SELECT pg_backend_pid()").fetchone()
    if row and next(iter(row)) == raw.info.backend_pid:
        return
    channel = f"pooler_{uuid4().hex}"
    raw.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
    with psycopg.connect(**listen_parameters()) as another:
        another.execute("SELECT pg_notify(%s, '')", [channel])
        heard = any(raw.notifies(timeout=HEARD_SECONDS, stop_after=1))
    raw.execute(sql.SQL("UNLISTEN {}").format(sql.Identifier(channel)))
    if not heard:
        raise TransactionPooler


def refuse_pooled_address() -> None:
    """Raise TransactionPooler at the start of a process that needs sessions to itself.

    It still starts if the database is away.
    """
    if getattr(settings, "EMBEDDED_POSTGRES", None):
        return
    wrapper = listener_database()
    parameters = wrapper.get_connection_params() | {"connect_timeout": CONNECT_SECONDS}
    try:
        raw = wrapper.get_new_connection(parameters)
    except psycopg.OperationalError as error:
        if "unsupported startup parameter" in str(error):  # as PgBouncer answers
            raise TransactionPooler from error
        return
    with raw, suppress(psycopg.errors.ReadOnlySqlTransaction):
        raw.autocommit = True
        refuse_pooled_connection(raw)


def listen_parameters() -> dict[str, Any]:
    """Return parameters for a psycopg connection to Django's database, in autocommit mode."""
    given = listener_database().get_connection_params()
    own = {name: value for name, value in given.items() if name not in _OF_DJANGO}
    return _LISTENER | own | {"autocommit": True}


def connect(channel: str, session: str = "SELECT") -> psycopg.Connection[Any]:
    """Open an autocommit connection with Django's type adapters, and LISTEN on it.

    The statement `session` runs first and sets up the session. A standby server refuses LISTEN.
    Raises psycopg.Error, and TransactionPooler behind one.
    """
    wrapper = listener_database()
    raw = wrapper.get_new_connection(_LISTENER | wrapper.get_connection_params())
    raw.autocommit = True
    try:
        refuse_pooled_connection(raw)
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
                self._connection = connect(self._channel)
                self._waits.reset()
                failures.write_answer(log)
            return [note.payload for note in self._connection.notifies(timeout=0)]
        except psycopg.Error as error:
            self.close()
            self._not_before = time.monotonic() + self._waits.next_seconds()
            failures.write_failure(log, "listening failed", error)
            return []

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
