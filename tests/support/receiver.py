"""A receiver of webhooks on this machine, which records requests and answers as told."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass(frozen=True)
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class Receiver:
    """HTTP server; `answer` writes the answer to a request, and may take its time."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.received: list[Received] = []
        self.answer: Callable[[BaseHTTPRequestHandler], None] = lambda handler: reply(handler, 204)
        self._guard = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                length = int(self.headers["content-length"])
                body = self.rfile.read(length)
                if len(body) < length:  # the sender was killed before it had sent everything
                    self.close_connection = True
                    return
                headers = {name.lower(): value for name, value in self.headers.items()}
                self.got = Received(self.path, headers, body)
                with outer._guard:
                    outer.received.append(self.got)
                outer.answer(self)

            do_GET = do_POST

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_: Any) -> None:
                pass  # a client that went away

        self.server = Server(("127.0.0.1", 0), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.scheme = "https" if context else "http"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/hook"

    @property
    def types(self) -> list[str]:
        """Return the received types, in order."""
        return [each.json["type"] for each in self.received]

    def answers(self, status: int, **headers: str) -> None:
        """Answer every request with a status."""
        self.answer = lambda handler: reply(handler, status, b"", **headers)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def reply(handler: BaseHTTPRequestHandler, status: int, body: bytes = b"", **headers: str) -> None:
    """Answer a request."""
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Return a receiver that takes everything."""
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def second_receiver() -> Iterator[Receiver]:
    """Return another receiver."""
    made = Receiver()
    yield made
    made.close()
