"""Accepting connections: a crowd is let in within a few turns of the event loop."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import uvloop

from pipeline.server.gunicorn_worker import ACCEPTED_AT_ONCE, duplicate_listeners

CROWD = 64


@pytest.fixture
def crowded() -> Iterator[socket.socket]:
    """A listening socket to which a crowd has connected, and of which nobody is accepted yet."""
    with ExitStack() as opened:
        listening = opened.enter_context(socket.create_server(("127.0.0.1", 0), backlog=2 * CROWD))
        for _ in range(CROWD):
            opened.enter_context(socket.create_connection(listening.getsockname(), timeout=5))
        yield listening


def turns_until_all_are_accepted(listeners: list[socket.socket]) -> int:
    """Count the turns of an event loop that serves these sockets until the crowd is in."""
    accepted: list[asyncio.BaseTransport] = []

    class Visitor(asyncio.Protocol):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            accepted.append(transport)

    async def serve() -> int:
        loop, turns = asyncio.get_running_loop(), 0
        servers = [await loop.create_server(Visitor, sock=each) for each in listeners]
        while len(accepted) < CROWD and turns < 100 * CROWD:
            await asyncio.sleep(0)
            turns += 1
        for server in servers:
            server.close()
        for transport in accepted:
            transport.close()
        return turns

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(serve())


def test_a_crowd_is_accepted_in_a_few_turns(crowded: socket.socket) -> None:
    turns = turns_until_all_are_accepted(duplicate_listeners([crowded]))

    assert turns <= CROWD / ACCEPTED_AT_ONCE + 5


def test_the_port_refuses_connections_once_all_handles_are_closed() -> None:
    listening = socket.create_server(("127.0.0.1", 0))
    address = listening.getsockname()

    for each in duplicate_listeners([listening]):
        each.close()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(address, timeout=5)


def test_control_one_socket_lets_in_one_connection_a_turn(crowded: socket.socket) -> None:
    assert turns_until_all_are_accepted([crowded.dup()]) >= CROWD / 2
