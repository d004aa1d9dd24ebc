"""A network of its own with a hostile name server, and what our client reaches from there.

Run as a program in a new network and mount namespace: it takes the loopback interface and
/etc/resolv.conf there, so that the system's own resolver asks the name server. `PUBLIC` is an
address of that loopback interface, as if it were a machine of the internet.
"""

from __future__ import annotations

import ctypes
import fcntl
import json
import os
import socket
import struct
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import uuid4

import django
from django.test import override_settings

PUBLIC, INSIDE = "93.184.216.34", "127.0.0.1"
PORT = 8080
A, CNAME, AAAA = 1, 5, 28
TRUNCATED = 0x0200
_MS_BIND = 4096


def rr(kind: int, value: str) -> tuple[int, bytes]:
    """Make the data of a record."""
    if kind == CNAME:
        return kind, encode_name(value)
    return kind, socket.inet_pton(socket.AF_INET if kind == A else socket.AF_INET6, value)


def encode_name(name: str) -> bytes:
    parts = name.rstrip(".").encode().split(b".")
    return b"".join(bytes([len(part)]) + part for part in parts) + b"\0"


# What each name answers, query by query; the last answer is repeated. "T": too long for UDP.
ANSWERS: dict[str, list[list[tuple[int, str]] | str]] = {
    "public.example.": [[(A, PUBLIC)]],
    "rebinding.example.": [[(A, PUBLIC)], [(A, INSIDE)]],
    "inside.example.": [[(A, INSIDE)]],
    "chain.example.": [[(CNAME, "link.example."), (CNAME, "end.example."), (A, INSIDE)]],
    "mixed.example.": [[(A, INSIDE), (A, PUBLIC), (A, "10.0.0.1"), (A, "169.254.169.254")]],
    "many.example.": [[*[(A, f"10.0.0.{n}") for n in range(1, 26)], (A, PUBLIC)]],
    "mapped.example.": [[(AAAA, "::ffff:127.0.0.1")]],
    "loopback6.example.": [[(AAAA, "::1")]],
    "nat64.example.": [[(AAAA, "64:ff9b::7f00:1")]],
    "truncated.example.": ["T", [(A, INSIDE)]],
    "zero.example.": [[(A, "0.0.0.0")]],  # noqa: S104
}


class NameServer:
    """Answers over UDP and TCP with a time to live of 0, and counts what is asked for."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 53))
        tcp = socket.create_server(("127.0.0.1", 53))
        threading.Thread(target=self._serve_udp, args=(udp,), daemon=True).start()
        threading.Thread(target=self._serve_tcp, args=(tcp,), daemon=True).start()

    def _serve_udp(self, udp: socket.socket) -> None:
        while True:
            query, asker = udp.recvfrom(4_096)
            udp.sendto(self._answer(query), asker)

    def _serve_tcp(self, tcp: socket.socket) -> None:
        while True:
            asker, _ = tcp.accept()
            with asker:
                while length := asker.recv(2):  # for both kinds of address, one after the other
                    query = asker.recv(*struct.unpack("!H", length))
                    answer = self._answer(query, is_tcp=True)
                    asker.sendall(struct.pack("!H", len(answer)) + answer)

    def _answer(self, query: bytes, *, is_tcp: bool = False) -> bytes:
        end = query.index(b"\0", 12) + 1
        labels, at = [], 12
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode())
            at += query[at] + 1
        name = ".".join(labels) + "."
        wanted = struct.unpack("!H", query[end : end + 2])[0]
        turns = ANSWERS.get(name, [[]])
        if wanted == A or name in ("mapped.example.", "loopback6.example.", "nat64.example."):
            self.asked[name] += wanted in (A, AAAA) and not is_tcp
        turn = turns[-1] if is_tcp else turns[min(max(self.asked[name], 1), len(turns)) - 1]
        is_cut = turn == "T" and not is_tcp
        records, owner = b"", query[12:end]
        count = 0
        for kind, value in [] if isinstance(turn, str) else turn:
            if kind not in (wanted, CNAME):
                continue
            kind, data = rr(kind, value)
            records += owner + struct.pack("!HHIH", kind, 1, 0, len(data)) + data
            owner = data if kind == CNAME else owner
            count += 1
        flags = 0x8180 | (TRUNCATED if is_cut else 0)
        head = query[:2] + struct.pack("!HHHHH", flags, 1, 0 if is_cut else count, 0, 0)
        return head + query[12 : end + 4] + (b"" if is_cut else records)


def take_network() -> None:
    """Bring this namespace's loopback interface up with PUBLIC on it, and its resolv.conf."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        for name, address in (("lo", INSIDE), ("lo:1", PUBLIC)):
            request = struct.pack(
                "16sH2s4s8x", name.encode(), socket.AF_INET, b"", socket.inet_aton(address)
            )
            fcntl.ioctl(control, 0x8916, request)  # SIOCSIFADDR
        fcntl.ioctl(control, 0x8914, struct.pack("16sH14x", b"lo", 0x49))  # up, loopback, running
    own = os.path.join(os.environ["TMPDIR"], "resolv.conf")
    with open(own, "w") as file:
        file.write("nameserver 127.0.0.1\nsearch inside.example\noptions timeout:1 attempts:1\n")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(own.encode(), b"/etc/resolv.conf", None, _MS_BIND, None):
        raise OSError(ctypes.get_errno(), "the resolver's file cannot be replaced")


def serve_everywhere(reached: list[str]) -> None:
    """Answer HTTP at every address of this machine, and note which one was asked."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            reached.append(self.connection.getsockname()[0].removeprefix("::ffff:"))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Everywhere(ThreadingHTTPServer):
        address_family = socket.AF_INET6

        def server_bind(self) -> None:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
            super().server_bind()

    threading.Thread(target=Everywhere(("::", PORT), Handler).serve_forever, daemon=True).start()


def connect(server: NameServer, reached: list[str]) -> dict[str, tuple[str, list[str], int]]:
    """Send two requests to each name: the last failure, the addresses reached, the queries."""
    from pipeline.outgoing.client import Outgoing, WebhookClient

    found = {}
    for name in ANSWERS:
        reached.clear()
        server.asked.clear()
        with WebhookClient(timeout_seconds=5) as sender:
            url = f"http://{name.rstrip('.')}:{PORT}/hook"
            for _ in range(2):
                sender.send([Outgoing(uuid4(), uuid4(), uuid4(), url, {}, b"{}")])
                [answer] = sender.answers(10)
        found[name] = (str(answer.failure or ""), sorted(set(reached)), server.asked[name])
    return found


def main() -> None:
    """Print what our client does as it is, and as a control without its guard."""
    django.setup()
    take_network()
    reached: list[str] = []
    server = NameServer()
    serve_everywhere(reached)
    with override_settings(WEBHOOK_ALLOW_PRIVATE=False):
        guarded = connect(server, reached)
    with override_settings(WEBHOOK_ALLOW_PRIVATE=True):
        control = connect(server, reached)
    sys.stdout.write(json.dumps([guarded, control]))


if __name__ == "__main__":
    main()
