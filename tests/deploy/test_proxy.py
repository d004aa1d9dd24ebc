"""The TLS proxy of compose, with its own file, in front of the site as it runs in production."""

from __future__ import annotations

import http.client
import os
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.management.test_doctor import doctor
from tests.support.environment import ROOT
from tests.support.server import serving
from tests.support.smtp import free_port
from tests.support.tools import needed_tool

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
START_SECONDS = 120


@contextmanager
def proxy(upstream: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Caddy with our file; gives its address and the certificate of its authority."""
    port, log = free_port(), folder / "caddy.log"
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
        "PROXY_SITES": f"https://localhost:{port}",
        "PROXY_UPSTREAM": upstream,
    }
    text = (ROOT / "deploy" / "caddy" / "Caddyfile").read_text()
    # Ports that need no rights, and no certificate in this machine's own store.
    text = text.replace(
        "\tadmin off\n",
        f"\tadmin off\n\tskip_install_trust\n\thttp_port {free_port()}\n\thttps_port {port}\n",
    ).replace("127.0.0.1:2020", f"127.0.0.1:{(health := free_port())}")
    (folder / "Caddyfile").write_text(text)
    with log.open("wb") as said:
        process = subprocess.Popen(
            [
                needed_tool("caddy", "apt-get install caddy"),
                "run",
                "--adapter",
                "caddyfile",
                "--config",
                "Caddyfile",
            ],
            cwd=folder,
            env=environment,
            stdout=said,
            stderr=said,
        )
    root = folder / "caddy" / "pki" / "authorities" / "local" / "root.crt"
    try:
        deadline = time.monotonic() + START_SECONDS
        while not (root.exists() and _answers(health)):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield f"https://localhost:{port}", root
    finally:
        process.terminate()
        process.wait(60)


def _answers(port: int) -> bool:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        client.request("GET", "/health")
        return client.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        client.close()


def test_the_doctor_finds_the_site_behind_it_in_order_only_if_the_proxy_is_trusted(
    environment: dict[str, str], tmp_path: Path
) -> None:
    for trusted in ("127.0.0.1", ""):
        site = environment | {"TRUSTED_PROXIES": trusted, "ALLOWED_HOSTS": "localhost"}
        folder = tmp_path / f"trusted-{trusted}"
        folder.mkdir()
        with (
            serving(site, folder / "web.log", workers=1) as url,
            proxy(url.removeprefix("http://"), folder) as (address, root),
        ):
            mine = site | {"SITE_URL": address, "SSL_CERT_FILE": str(root)}
            _, checks = doctor(mine, "--url", address)
            if trusted:
                status = ask_securely(address, root)

        found = {message for level, message in checks["address"] if level != "ok"}
        if trusted:
            said = "The site sees https and this machine's address"
            assert any(message.startswith(said) for _, message in checks["address"]), checks
        else:
            assert any("believes that it is reached over http" in message for message in found)
    assert status == 200


def ask_securely(address: str, root: Path) -> int:
    """Return the status of the first page over TLS."""
    port = int(address.rpartition(":")[2])
    context = ssl.create_default_context(cafile=str(root))
    client = http.client.HTTPSConnection("localhost", port, timeout=60, context=context)
    client.request("GET", "/")
    status = client.getresponse().status
    client.close()
    return status
