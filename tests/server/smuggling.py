"""A site that notes what it is asked, and clients that try to have it misunderstand."""

from __future__ import annotations

import http.client
import itertools
import re
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from tests.server.ambiguous_requests import Ambiguous

QUIET_SECONDS = 0.1
PATIENCE_SECONDS = 20
# How long a client waits after each segment, so that the server reads it on its own.
SEGMENT_SECONDS = 0.005
_STATUS = re.compile(rb"HTTP/1\.1 ([2-5]\d\d) ")
_MARK = "secret-of-the-victim-"


class Site:
    """WSGI application that notes the path of each request, and who got hold of a victim's head."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.thefts: list[str] = []
        self.upgrades: list[str] = []  # to which protocols it was asked to change

    def __call__(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        path, secret = environ["PATH_INFO"], environ.get("HTTP_X_SECRET", "")
        if path != "/health/live":
            self.paths.append(path)
        self.upgrades += [environ["HTTP_UPGRADE"]] if "HTTP_UPGRADE" in environ else []
        own = ("HTTP_X_SECRET", "HTTP_COOKIE") if path == "/victim" else ()
        said = [str(value) for name, value in environ.items() if name not in own]
        said.append(environ["wsgi.input"].read().decode("latin1"))
        if any(_MARK in text for text in said):
            self.thefts.append(f"{environ['REQUEST_METHOD']} {path}: {said[-1]!r}")
        start("200 OK", [("Content-Length", str(len(body := secret.encode() or b"ok")))])
        return [body]


class Victim:
    """Someone who asks through the same proxy, and says something that nobody else may see."""

    _numbers = itertools.count()

    def __init__(self, port: int) -> None:
        self._client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def wrong_answer(self) -> str:
        """Ask once; return what was wrong with the answer, or nothing."""
        secret = f"{_MARK}{next(self._numbers)}"
        try:
            headers = {"Host": "localhost", "Cookie": f"sessionid={secret}", "X-Secret": secret}
            self._client.request("GET", "/victim", headers=headers)
            answer = self._client.getresponse()
            found = answer.status, answer.read().decode("latin1")
        except (OSError, http.client.HTTPException) as error:
            self._client.close()
            return repr(error)
        return "" if found == (200, secret) else f"{found} instead of {secret}"

    def close(self) -> None:
        """Leave."""
        self._client.close()


def answers_to(
    port: int,
    segments: Iterable[bytes],
    *,
    count: int = 0,
    must_end: bool = False,
    quiet_seconds: float = QUIET_SECONDS,
    then: Callable[[], object] = lambda: None,
) -> tuple[list[int], bytes, bool]:
    """Send segments; return the statuses of the answers, their text, and if the server ended.

    Waits patiently for this many answers (and for the end), then a little for more. `then` is
    called when all is sent.
    """
    text, has_ended = b"", False
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for segment in segments:
            client.settimeout(PATIENCE_SECONDS)
            with suppress(OSError):
                client.sendall(segment)
            client.settimeout(SEGMENT_SECONDS)
            with suppress(OSError):
                text += client.recv(65_536)
        then()
        with suppress(OSError):
            while not has_ended:
                is_due = must_end or len(_STATUS.findall(text)) < count
                client.settimeout(PATIENCE_SECONDS if is_due else quiet_seconds)
                try:
                    piece = client.recv(65_536)
                except ConnectionError:  # it ended before it had read everything
                    piece = b""
                text, has_ended = text + piece, not piece
    return [int(status) for status in _STATUS.findall(text)], text, has_ended


def harm_by(
    port: int, site: Site, case: Ambiguous, victim: Victim, quiet_seconds: float
) -> list[str]:
    """Send an ambiguous request, let a victim ask twice meanwhile, and return what went wrong."""
    wrong: list[str] = []

    def ask_as_victim() -> None:
        wrong.extend(each for each in (victim.wrong_answer(), victim.wrong_answer()) if each)

    _, text, _ = answers_to(port, case.segments, quiet_seconds=quiet_seconds, then=ask_as_victim)
    if _MARK.encode() in text:
        wrong.append("the attacker was told a victim's secret")
    wrong += site.thefts
    site.thefts.clear()
    return [f"{case}: {each}" for each in wrong]
