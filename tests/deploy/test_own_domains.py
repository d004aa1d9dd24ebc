"""The proxy's file gets certificates for companies' own domains, and for no others."""

from __future__ import annotations

import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.environment import ROOT
from tests.support.smtp import free_port
from tests.support.tools import needed_tool

pytestmark = pytest.mark.slow
START_SECONDS = 120
DOMAIN = "jobs.acme.example"


@pytest.fixture
def upstream() -> Iterator[tuple[int, list[str]]]:
    """Answer as the site does: 200 for one domain, 404 for others. Gives the port and the asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            status = 200
            if url.path == "/health/domain":
                [domain] = parse_qs(url.query)["domain"]
                asked.append(domain)
                status = 200 if domain == DOMAIN else 404
            host = str(self.headers["Host"]).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(host)))
            self.end_headers()
            self.wfile.write(host)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1], asked
    server.shutdown()
    server.server_close()


@pytest.fixture
def proxy(upstream: tuple[int, list[str]], tmp_path: Path) -> Iterator[int]:
    """Run Caddy with our file, and certificates of its own authority; gives its port."""
    port, site, log = free_port(), upstream[0], tmp_path / "caddy.log"
    ports = f"\thttp_port {free_port()}\n\thttps_port {port}\n"
    text = (ROOT / "deploy" / "caddy" / "Caddyfile").read_text()
    text = text.replace(
        "\tadmin off\n", f"\tadmin off\n\tlocal_certs\n\tskip_install_trust\n{ports}"
    ).replace("127.0.0.1:2020", f"127.0.0.1:{free_port()}")
    (tmp_path / "Caddyfile").write_text(text)
    environment = {
        "PATH": os.environ["PATH"],
        **dict.fromkeys(("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"), str(tmp_path)),
        "PROXY_SITES": f"https://localhost:{port}",
        "PROXY_UPSTREAM": f"127.0.0.1:{site}",
        "PROXY_OWN_DOMAINS": "https://",
        "PROXY_ASK": f"http://127.0.0.1:{site}/health/domain",
    }
    caddy = needed_tool("caddy", "apt-get install caddy")
    with log.open("wb") as said:
        process = subprocess.Popen(
            [caddy, "run", "--adapter", "caddyfile", "--config", "Caddyfile"],
            cwd=tmp_path,
            env=environment,
            stdout=said,
            stderr=said,
        )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not host_behind(port, "localhost"):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield port
    finally:
        process.terminate()
        process.wait(60)


def host_behind(port: int, name: str) -> str:
    """Return the Host that the site gets from a request for a name; empty without a certificate."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(("127.0.0.1", port), timeout=10) as plain,
            context.wrap_socket(plain, server_hostname=name) as client,
        ):
            client.sendall(f"GET / HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
            answer = b""
            while piece := client.recv(4_096):
                answer += piece
    except (ssl.SSLError, OSError):
        return ""
    return answer.rpartition(b"\r\n\r\n")[2].decode() if b" 200 " in answer else ""


def test_only_served_domains_get_a_certificate(proxy: int, upstream: tuple[int, list[str]]) -> None:
    found = {name: host_behind(proxy, name) for name in (DOMAIN, "evil.example", "localhost")}

    assert found[DOMAIN] == DOMAIN
    assert found["evil.example"] == ""
    assert found["localhost"] == "localhost"
    assert set(upstream[1]) == {DOMAIN, "evil.example"}
