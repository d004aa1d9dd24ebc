"""Calling a running site's API from a command: JSON both ways, and refusals in words."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

ANSWER_SECONDS = 30.0


class Refused(Exception):
    """The site refuses, or does not answer; the text is for people."""

    def __init__(self, text: str, *, code: str = "", wait_seconds: float = 0.0) -> None:
        super().__init__(text)
        self.code = code
        self.wait_seconds = wait_seconds
        """After how long to try again; 0 if that is of no use."""


class ApiClient:
    """A site's API, called with a key, over one connection; a context. Raises Refused."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Refused(f"{url!r} is no address like http://127.0.0.1:8000.")
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        self._url = url
        self._connection = kind(parts.hostname, parts.port, timeout=ANSWER_SECONDS)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, path: str, **query: Any) -> Any:
        """What an address answers."""
        return self._call("GET", f"{path}?{urlencode(query)}" if query else path, None)

    def post(self, path: str, body: Any, *, idempotency_key: str) -> Any:
        """What an address answers to a body. If the connection breaks, it is sent once more."""
        given = {"Idempotency-Key": idempotency_key}
        return self._call("POST", path, json.dumps(body), given)

    def _call(
        self, method: str, path: str, body: str | None, more: dict[str, str] | None = None
    ) -> Any:
        headers = self._headers | (more or {})

        def send() -> http.client.HTTPResponse:
            self._connection.request(method, f"/api/v1{path}", body, headers)
            return self._connection.getresponse()

        answer, said = self._heard(send)
        if answer.status >= 400:
            raise _refusal(answer, said)
        return json.loads(said)

    def _heard(
        self, send: Callable[[], http.client.HTTPResponse]
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """The answer and what it says; a connection that was closed is opened once more."""
        for is_last in (False, True):
            try:
                answer = send()
                return answer, answer.read()
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if is_last:
                    raise Refused(
                        f"Nothing answers at {self._url} ({error}). Is the site running there?"
                        " Start it with python3 run.py, or name another address with --url."
                    ) from None
        raise AssertionError("the last try returns or raises")


def _refusal(answer: http.client.HTTPResponse, said: bytes) -> Refused:
    try:
        told = json.loads(said)
        text, code = str(told["detail"]), str(told["code"])
    except (ValueError, KeyError, TypeError):
        return Refused(f"The site answers {answer.status} {answer.reason}.")
    if answer.status == 401:
        return Refused("The key is not valid there. Name one with --key.", code=code)
    wait = answer.headers.get("Retry-After", "")
    return Refused(text, code=code, wait_seconds=float(wait) if wait.isdecimal() else 0.0)
