"""API client of a running site, for commands: JSON both ways, refusals as sentences."""

from __future__ import annotations

import http.client
import json
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

ANSWER_SECONDS = 30.0


class Refused(Exception):
    """The site refused, or did not answer. The text is for people.

    `wait_seconds`: when to try again; 0 if a retry does not help.
    """

    def __init__(self, text: str, *, code: str = "", wait_seconds: float = 0.0) -> None:
        super().__init__(text)
        self.code = code
        self.wait_seconds = wait_seconds


class ApiClient:
    """A site's API, called with a key over one connection. A context manager. Raises Refused."""

    def __init__(self, url: str, key: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Refused(f"{url!r} is not an address like http://127.0.0.1:8000.")
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
        """Send a GET, and return the answer."""
        return self._call("GET", f"{path}?{urlencode(query)}" if query else path, None)

    def post(self, path: str, body: Any, *, idempotency_key: str) -> Any:
        """Send a POST, again if the connection breaks, and return the answer."""
        given = {"Idempotency-Key": idempotency_key}
        return self._call("POST", path, json.dumps(body), given)

    def _call(
        self, method: str, path: str, body: str | None, more: dict[str, str] | None = None
    ) -> Any:
        headers = self._headers | (more or {})
        for is_last in (False, True):  # a closed connection is opened again, once
            try:
                self._connection.request(method, f"/api/v1{path}", body, headers)
                answer = self._connection.getresponse()
                content = answer.read()
                break
            except (OSError, http.client.HTTPException) as error:
                self._connection.close()
                if is_last:
                    raise Refused(
                        f"Nothing answers at {self._url} ({error}). Is the site running there?"
                        " Start it with python3 run.py, or name another address with --url."
                    ) from None
        if answer.status >= 400:
            raise _refusal(answer, content)
        return json.loads(content)


def _refusal(answer: http.client.HTTPResponse, content: bytes) -> Refused:
    """Build a Refused from a problem's JSON, or from the status alone."""
    try:
        problem = json.loads(content)
        text, code = str(problem["detail"]), str(problem["code"])
    except (ValueError, KeyError, TypeError):
        return Refused(f"The site answers {answer.status} {answer.reason}.")
    if answer.status == 401:
        return Refused("The site does not accept this key. Give another one with --key.", code=code)
    wait = answer.headers.get("Retry-After", "")
    return Refused(text, code=code, wait_seconds=float(wait) if wait.isdecimal() else 0.0)
