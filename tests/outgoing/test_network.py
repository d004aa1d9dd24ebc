"""Connections of the client, including one whose request is given up."""

from __future__ import annotations

import socket
from uuid import uuid4

from pipeline.outgoing.client import Failure, Outgoing, WebhookClient


def test_a_handshake_that_is_cut_off_closes_its_connection() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        WebhookClient(timeout_seconds=1) as sender,
    ):
        url = f"https://127.0.0.1:{silent.getsockname()[1]}/hook"
        sender.send([Outgoing(uuid4(), uuid4(), uuid4(), url, {}, b"{}")])
        peer, _ = silent.accept()
        peer.settimeout(10)
        while peer.recv(4096):  # a hello that nobody answers, then the end of the connection
            pass
        [answer] = sender.answers(5)
        peer.close()

    assert answer.failure == Failure.TIMEOUT
