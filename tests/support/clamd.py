"""Server that speaks the part of ClamAV's protocol that the site uses, as `clamd` does.

As in clamd: commands end with NUL after a `z`; INSTREAM takes pieces with their lengths until an
empty one; a stream over the limit is answered and closed before it has ended.
"""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# The harmless file that every scanner reports, in two halves so that none reports this one.
EICAR = rb"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR" + rb"-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"


class _Conversation(socketserver.StreamRequestHandler):
    server: Clamd

    def handle(self) -> None:
        command = b""
        while not command.endswith(b"\0"):
            if not (byte := self.rfile.read(1)):
                return
            command += byte
        self.server.commands.append(command.decode())
        if self.server.hangs.is_set():
            self.server.released.wait(30)
            return
        if command == b"zPING\0":
            self.wfile.write(b"PONG\0")
        elif command == b"zINSTREAM\0":
            self.wfile.write(self._scan())
        else:
            self.wfile.write(b"UNKNOWN COMMAND\0")

    def _scan(self) -> bytes:
        content = b""
        while length := int.from_bytes(self.rfile.read(4)):
            if len(content) + length > self.server.most_bytes:
                return b"INSTREAM size limit exceeded. ERROR\0"
            content += self.rfile.read(length)
        self.server.scanned.append(content)
        if EICAR in content:
            return b"stream: Eicar-Test-Signature FOUND\0"
        return b"stream: OK\0"


class Clamd(socketserver.ThreadingTCPServer):
    """Scanner on a port of this machine."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, *, most_bytes: int = 25 * 2**20) -> None:
        super().__init__(("127.0.0.1", 0), _Conversation)
        self.most_bytes = most_bytes
        self.commands: list[str] = []
        self.scanned: list[bytes] = []
        self.hangs, self.released = threading.Event(), threading.Event()

    @property
    def address(self) -> str:
        """The value of CLAMAV_ADDRESS."""
        return f"127.0.0.1:{self.server_address[1]}"

    def handle_error(self, *_: Any) -> None:
        """Say nothing of a client that leaves."""


@contextmanager
def clamd(**limits: Any) -> Iterator[Clamd]:
    """Run a scanner while the block runs."""
    with Clamd(**limits) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield server
        finally:
            server.released.set()
            server.shutdown()
            thread.join()
