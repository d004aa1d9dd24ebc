"""Requests to servers that a company named, while a page waits: few, short and to checked hosts.

For libraries that speak with `requests`. As in `pipeline.outgoing.client`, an address is checked
between its look-up and the connection, which goes to exactly that address; redirects are not
followed, TLS is verified, and proxies in the environment are not used.
"""

from __future__ import annotations

import socket
from typing import Any

import certifi
import requests
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import NameResolutionError, NewConnectionError

from pipeline.outgoing.addresses import absolute_webhook_host, is_webhook_address_allowed

CONNECT_SECONDS, READ_SECONDS = 4.0, 6.0
MOST_BODY_BYTES = 512 * 1024


class AnswerTooLong(requests.RequestException):
    """The server's answer is longer than MOST_BODY_BYTES."""


def guard(session: requests.Session, *, inside: bool) -> None:
    """Let a session connect to checked addresses only, with limits; `inside`: to any address."""
    session.trust_env = False
    session.verify = certifi.where()
    session.max_redirects = 0
    session.adapters.clear()
    session.mount("https://", _GuardedAdapter(inside))
    if inside or is_webhook_address_allowed("127.0.0.1"):  # as in development
        session.mount("http://", _GuardedAdapter(inside))


class _GuardedAdapter(HTTPAdapter):
    """Adapter of `requests` for guarded connections."""

    def __init__(self, inside: bool) -> None:
        self._inside = inside
        super().__init__(max_retries=0)

    def init_poolmanager(self, *given: Any, **named: Any) -> None:
        """Make the pools of connections."""
        super().init_poolmanager(*given, **named)
        if not self._inside:
            manager: PoolManager = self.poolmanager
            manager.pool_classes_by_scheme = {"http": _GuardedPool, "https": _GuardedTLSPool}

    def send(self, request: requests.PreparedRequest, **named: Any) -> requests.Response:  # type: ignore[override]
        """Send a request, and read at most MOST_BODY_BYTES of the answer."""
        named |= {"timeout": (CONNECT_SECONDS, READ_SECONDS), "stream": True}
        response = super().send(request, **named)
        body = b"".join(_limited(response))
        response._content, response._content_consumed = body, True  # type: ignore[attr-defined]
        return response


def _limited(response: requests.Response) -> list[bytes]:
    parts, size = [], 0
    for part in response.iter_content(16 * 1024):
        size += len(part)
        if size > MOST_BODY_BYTES:
            response.close()
            raise AnswerTooLong(response=response)
        parts.append(part)
    return parts


class _Guarded:
    """Part of a connection that checks the addresses that it connects to."""

    _dns_host: str
    host: str
    port: int

    def _new_conn(self) -> socket.socket:
        host = self._dns_host
        try:
            found = socket.getaddrinfo(
                absolute_webhook_host(host), self.port, type=socket.SOCK_STREAM
            )
        except (socket.gaierror, UnicodeError) as error:
            failure = error if isinstance(error, socket.gaierror) else socket.gaierror(str(error))
            raise NameResolutionError(host, self, failure) from None  # type: ignore[arg-type]
        addresses = dict.fromkeys(str(each[4][0]) for each in found)
        for address in addresses:
            if is_webhook_address_allowed(address):
                try:
                    return socket.create_connection((address, self.port), CONNECT_SECONDS)
                except OSError:
                    continue
        raise NewConnectionError(self, f"{host} has no address that answers")  # type: ignore[arg-type]


class _GuardedConnection(_Guarded, HTTPConnection):
    pass


class _GuardedTLSConnection(_Guarded, HTTPSConnection):
    pass


class _GuardedPool(HTTPConnectionPool):
    ConnectionCls = _GuardedConnection


class _GuardedTLSPool(HTTPSConnectionPool):
    ConnectionCls = _GuardedTLSConnection
