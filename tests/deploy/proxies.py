"""The proxies that we describe, each with its file of `deploy/`, over plain HTTP on a free port."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.environment import ROOT
from tests.support.smtp import free_port
from tests.support.tools import needed_tool

DEPLOY = ROOT / "deploy"
START_SECONDS = 60
NAMES = ("caddy", "nginx", "haproxy")
# Around our file, what Debian's own nginx.conf says, in places that a test may write.
_NGINX = """
pid {folder}/nginx.pid; error_log {folder}/error.log; daemon off; {user}
events {{}}
http {{
    access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
    {ours}
}}
"""


@contextmanager
def proxy_before(name: str, sites: int | list[int], folder: Path) -> Iterator[int]:
    """Run a proxy before a site on this port, or several; gives the port of the proxy."""
    port = free_port()
    command, environment = _COMMANDS[name](
        [sites] if isinstance(sites, int) else sites, port, folder
    )
    log = folder / f"{name}.log"
    with log.open("wb") as said:
        process = subprocess.Popen(
            [needed_tool(name, f"apt-get install {name}"), *command],
            cwd=folder,
            env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment},
            stdout=said,
            stderr=said,
        )
    try:
        _wait_until_it_answers(port, process, log)
        yield port
    finally:
        process.terminate()
        process.wait(30)


def _wait_until_it_answers(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    request = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    deadline, answer = time.monotonic() + START_SECONDS, b""
    while b" 200 " not in answer:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.05)
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
                client.sendall(request)
                answer = client.recv(1_000)
        except OSError:
            continue


def _caddy(sites: list[int], port: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    text = (DEPLOY / "caddy" / "Caddyfile").read_text()
    text = text.replace("127.0.0.1:2020", f"127.0.0.1:{free_port()}")
    text = text.replace(
        "\tadmin off\n", f"\tadmin off\n\thttp_port {port}\n\thttps_port {free_port()}\n"
    )
    (folder / "Caddyfile").write_text(text)
    addresses = {
        "PROXY_SITES": f"http://localhost:{port}",
        "PROXY_UPSTREAM": " ".join(f"127.0.0.1:{site}" for site in sites),
    }
    return ["run", "--adapter", "caddyfile", "--config", "Caddyfile"], addresses


def _nginx(sites: list[int], port: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    text = (DEPLOY / "nginx" / "next-in-line.conf").read_text()
    servers = "".join(f"\tserver 127.0.0.1:{site};\n" for site in sites)
    text = text.replace("\tserver 127.0.0.1:8000;\n", servers)
    text = text.replace("listen 443 ssl http2;", f"listen 127.0.0.1:{port};")
    text = re.sub(r"\tssl_certificate.*\n", "", text)
    user = "user root;" if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder, user=user, ours=text))
    return ["-p", str(folder), "-c", str(folder / "nginx.conf")], {}


def _haproxy(sites: list[int], port: int, folder: Path) -> tuple[list[str], dict[str, str]]:
    text = (DEPLOY / "haproxy" / "haproxy.cfg").read_text()
    servers = "".join(
        f"\tserver web{n} 127.0.0.1:{site} check inter 500ms\n" for n, site in enumerate(sites)
    )
    text = text.replace("\tserver web1 127.0.0.1:8000 check inter 500ms\n", servers)
    text = re.sub(r"bind :443 .*", f"bind 127.0.0.1:{port}", text)
    (folder / "haproxy.cfg").write_text(text)
    return ["-db", "-f", "haproxy.cfg"], {}


_COMMANDS = {"caddy": _caddy, "nginx": _nginx, "haproxy": _haproxy}
