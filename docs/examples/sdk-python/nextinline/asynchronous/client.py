"""Asynchronous client: requests, retries, pages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Self, cast
from uuid import uuid4

import httpx

from nextinline import models
from nextinline.asynchronous.integrations import (
    AsyncEvents,
    AsyncSandbox,
    AsyncSchedules,
    AsyncWebhooks,
)
from nextinline.asynchronous.resources import (
    AsyncApplicants,
    AsyncApplications,
    AsyncJobs,
    AsyncTasks,
)
from nextinline.errors import ApiError, ConnectionFailed
from nextinline.queries import Query, query_parameters
from nextinline.retries import pause_before_retry
from nextinline.version import __version__


class AsyncClient:
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
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        headers = {"Accept": "application/json", "User-Agent": f"nextinline-client/{__version__}"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self.max_retries = max_retries
        self._http = httpx.AsyncClient(
            base_url=f"{base_url.rstrip('/').removesuffix('/api/v1')}/api/v1",
            headers=headers,
            timeout=timeout,
            transport=transport,
        )
        self.jobs = AsyncJobs(self)
        self.applications = AsyncApplications(self)
        self.applicants = AsyncApplicants(self)
        self.events = AsyncEvents(self)
        self.tasks = AsyncTasks(self)
        self.webhooks = AsyncWebhooks(self)
        self.schedules = AsyncSchedules(self)
        self.sandbox = AsyncSandbox(self)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def own_company(self) -> models.Company:
        """Return the company of the key, with the key's own id and scopes."""
        return cast(models.Company, await self.call("GET", "/companies/me"))

    async def request(
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
            answer, failure = await self._try(request)
            if answer is not None and answer.status_code < 400:
                return answer
            pause = pause_before_retry(answer, attempt=attempt, max_retries=self.max_retries)
            if pause is None:
                if answer is None:
                    raise ConnectionFailed(f"{method} {request.url}: {failure}") from failure
                raise ApiError(answer)
            if answer is not None and (place := answer.headers.get("place-token")):
                request.headers["Place-Token"] = place  # the retry keeps its place before newcomers
            await asyncio.sleep(pause)

    async def _try(
        self, request: httpx.Request
    ) -> tuple[httpx.Response | None, httpx.TransportError | None]:
        try:
            return await self._http.send(request), None
        except httpx.TransportError as error:
            return None, error

    async def call(self, method: str, path: str, **how: Any) -> Any:
        """Send a request and return the decoded JSON; None if it is empty. For files, `request`."""
        answer = await self.request(method, path, **how)
        return answer.json() if answer.content else None

    async def items(self, path: str, query: Query | None = None) -> AsyncIterator[Any]:
        """Yield every row of a list, fetching page after page."""
        asked = dict(query or {})
        while True:
            page = await self.call("GET", path, query=asked)
            for row in page["data"]:
                yield row
            if page["next_cursor"] in (None, asked.get("cursor")):
                return  # the feed of events has no last page, but an end for now
            asked["cursor"] = page["next_cursor"]
