"""The client and the scheme of requests that come through proxies."""

from __future__ import annotations

import asyncio
from ipaddress import ip_network
from typing import Any

import pytest

from pipeline.server.clients import behind_proxies
from pipeline.web.addresses import client_network


def seen(proxies: list[str], remote: str | None, headers: dict[str, str]) -> tuple[str, str]:
    """The client's network and the scheme that the application sees."""
    found: dict[str, Any] = {}

    async def application(scope: Any, receive: Any, send: Any) -> None:
        found.update(scope)

    pairs = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    client = None if remote is None else (remote, 1234)
    scope = {"type": "http", "scheme": "http", "client": client, "headers": pairs}
    nobody: Any = None
    networks = [ip_network(proxy) for proxy in proxies]
    asyncio.run(behind_proxies(application, networks)(scope, nobody, nobody))
    return client_network((found["client"] or ("",))[0]), found["scheme"]


@pytest.mark.parametrize(
    ("proxies", "remote", "forwarded", "expected"),
    [
        ([], "192.0.2.1", "", "192.0.2.1"),
        ([], "192.0.2.1", "198.51.100.7", "192.0.2.1"),
        (["10.0.0.0/8"], "192.0.2.1", "198.51.100.7", "192.0.2.1"),
        (["10.0.0.0/8"], "10.0.0.1", "198.51.100.7", "198.51.100.7"),
        (["10.0.0.0/8"], "10.0.0.1", "198.51.100.7:5678", "198.51.100.7"),
        (["10.0.0.0/8"], "10.0.0.1", "[2001:db8:1:2::9]:5678", "2001:db8:1:2::/64"),
        (["10.0.0.0/8"], "10.0.0.1", "6.6.6.6, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        (["10.0.0.0/8"], "10.0.0.1", "", "10.0.0.1"),
        (["10.0.0.0/8"], "10.0.0.1", "198.51.100.7, nonsense", "10.0.0.1"),
        (["10.0.0.1"], "::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7"),
        (["10.0.0.1"], None, "198.51.100.7", "198.51.100.7"),
        (["10.0.0.1"], "", "198.51.100.7", "198.51.100.7"),
        (["10.0.0.1"], None, "", "unknown"),
        ([], None, "198.51.100.7", "unknown"),
        ([], "2001:db8:1:2:3:4:5:6", "", "2001:db8:1:2::/64"),
        (["fd00::/8"], "fd00::1", "2001:db8:1:2::9", "2001:db8:1:2::/64"),
    ],
)
def test_the_client_is_who_the_trusted_proxies_say(
    proxies: list[str], remote: str | None, forwarded: str, expected: str
) -> None:
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}

    assert seen(proxies, remote, headers)[0] == expected


@pytest.mark.parametrize(
    ("proxies", "said", "scheme"),
    [
        (["127.0.0.0/8"], "https", "https"),
        (["127.0.0.0/8"], "gopher", "http"),
        (["10.0.0.0/8"], "https", "http"),
        ([], "https", "http"),
    ],
)
def test_the_scheme_is_what_a_trusted_proxy_says(
    proxies: list[str], said: str, scheme: str
) -> None:
    assert seen(proxies, "127.0.0.1", {"X-Forwarded-Proto": said})[1] == scheme
