"""Synchronous client: requests, retries, pages."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import httpx

from nextinline.synchronous.integrations import Events, Sandbox, Webhooks
from nextinline.synchronous.resources import (
    Applicants,
    Applications,
    Jobs,
    Tasks,
)
from nextinline.errors import ApiError, ConnectionFailed
from nextinline.queries import Query, query_parameters
from nextinline.retries import pause_before_retry


class Client:
    """Client with one credential: an API key, an applicant's token or a portal token.

    A request is retried up to `max_retries` times, after the pause that the API asks for. Each POST
    carries an Idempotency-Key, so a retry does not act twice; see the README for an exception.
    `base_url` is the site's address, with or without `/api/v1`.
    """

    def __init__(
        self,
        token: str | None = None,
        *,
        base_url: str = "http://127.0.0.1:8000",
        timeout: float = 30.0,
        max_retries: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"Accept": "application/json", "User-Agent": "nextinline-client/0.1.0"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.max_retries = max_retries
        self._http = httpx.Client(
            base_url=f"{base_url.rstrip('/').removesuffix('/api/v1')}/api/v1",
            headers=headers,
            timeout=timeout,
            transport=transport,
        )
        self.jobs = Jobs(self)
        self.applications = Applications(self)
        self.applicants = Applicants(self)
        self.events = Events(self)
        self.tasks = Tasks(self)
        self.webhooks = Webhooks(self)
        self.sandbox = Sandbox(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        json: Any = None,
        content: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> httpx.Response:
        """Send any request of the API, such as `GET /schedules`, and return the answer.

        Raises ApiError for a refusal, and ConnectionFailed if no answer came.
        """
        sent = dict(headers or {})
        if method == "POST":
            sent["Idempotency-Key"] = idempotency_key or str(uuid4())
        request = self._http.build_request(
            method,
            path,
            params=query_parameters(query or {}),
            json=json,
            content=content,
            headers=sent,
        )
        attempt = 0
        while True:
            attempt += 1
            answer, failure = self._try(request)
            if answer is not None and answer.status_code < 400:
                return answer
            pause = pause_before_retry(answer, attempt=attempt, max_retries=self.max_retries)
            if pause is None:
                if answer is None:
                    raise ConnectionFailed(f"{method} {request.url}: {failure}") from failure
                raise ApiError(answer)
            time.sleep(pause)

    def _try(
        self, request: httpx.Request
    ) -> tuple[httpx.Response | None, httpx.TransportError | None]:
        try:
            return self._http.send(request), None
        except httpx.TransportError as error:
            return None, error

    def call(self, method: str, path: str, **how: Any) -> Any:
        """Send a request and return the decoded JSON; None if it is empty. For files, `request`."""
        answer = self.request(method, path, **how)
        return answer.json() if answer.content else None

    def items(self, path: str, query: Query | None = None) -> Iterator[Any]:
        """Yield every row of a list, fetching page after page."""
        asked = dict(query or {})
        while True:
            page = self.call("GET", path, query=asked)
            for row in page["data"]:
                yield row
            if page["next_cursor"] in (None, asked.get("cursor")):
                return  # the feed of events has no last page, but an end for now
            asked["cursor"] = page["next_cursor"]
