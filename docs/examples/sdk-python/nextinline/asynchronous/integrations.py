"""Operations for systems that follow the company: feed, webhooks, schedules and test mode."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from nextinline import models
from nextinline.asynchronous.resources import AsyncResource


class AsyncEvents(AsyncResource):
    """All events of the company's jobs, in one feed."""

    async def pages(
        self,
        *,
        cursor: str | None = None,
        start: str | None = None,
        expand: str | None = None,
        wait_seconds: float | None = None,
    ) -> AsyncIterator[models.Feed]:
        """Yield pages of the feed after a cursor; from the first event without one.

        With `start="now"` and no cursor, the first page is empty: its `next_cursor` is the end.
        Save a page's `next_cursor` after the work on it: then no crash loses an event. Ends where
        the feed ends; with `wait_seconds`, waits that long and asks again, for ever.
        `expand="application"` brings each event's application along, as it is now.
        """
        async for page in self._follow("/events", cursor, start, expand, wait_seconds):
            yield cast(models.Feed, page)

    async def changes(
        self,
        *,
        cursor: str | None = None,
        start: str | None = None,
        expand: str | None = None,
        wait_seconds: float | None = None,
    ) -> AsyncIterator[models.Changes]:
        """Yield pages of the changes that are no events, like `pages`: erasures, names, texts."""
        async for page in self._follow("/changes", cursor, start, expand, wait_seconds):
            yield cast(models.Changes, page)

    async def _follow(
        self,
        path: str,
        cursor: str | None,
        start: str | None,
        expand: str | None,
        wait_seconds: float | None,
    ) -> AsyncIterator[Any]:
        while True:
            begins = None if cursor else start
            query = {"cursor": cursor, "start": begins, "limit": 200, "expand": expand}
            page = await self._client.call("GET", path, query=query)
            if page["data"] or begins:
                yield page
            elif wait_seconds is None:
                return
            else:
                await asyncio.sleep(wait_seconds)
            cursor = page["next_cursor"]


class AsyncWebhooks(AsyncResource):
    """Endpoints of the company that are told of events."""

    def list(self) -> AsyncIterator[models.Webhook]:
        """Yield the endpoints."""
        return self._client.items("/webhooks")

    async def get(self, webhook_id: str) -> models.Webhook:
        """Return an endpoint: whether it is on, and if not, why."""
        return cast(models.Webhook, await self._client.call("GET", f"/webhooks/{webhook_id}"))

    def deliveries(
        self, webhook_id: str, *, state: str | None = None, type: str | None = None
    ) -> AsyncIterator[models.WebhookDelivery]:
        """Yield the deliveries to an endpoint, newest first."""
        query = {"state": state, "type": type}
        return self._client.items(f"/webhooks/{webhook_id}/deliveries", query)

    async def delivery(self, webhook_id: str, delivery_id: str) -> models.FullWebhookDelivery:
        """Return a delivery with its body and its attempts."""
        path = f"/webhooks/{webhook_id}/deliveries/{delivery_id}"
        return cast(models.FullWebhookDelivery, await self._client.call("GET", path))

    async def create(
        self, url: str, *, types: Sequence[str] | None = None, idempotency_key: str | None = None
    ) -> models.NewWebhook:
        """Create an endpoint. Only this answer shows its secret, and a repetition for 5 minutes."""
        body = {"url": url, "types": [*(types or ())]}
        made = await self._client.call(
            "POST", "/webhooks", json=body, idempotency_key=idempotency_key
        )
        return cast(models.NewWebhook, made)

    async def delete(self, webhook_id: str) -> None:
        """Delete an endpoint and its secrets."""
        await self._client.call("DELETE", f"/webhooks/{webhook_id}")


class AsyncSchedules(AsyncResource):
    """Background work that starts repeatedly."""

    def list(self) -> AsyncIterator[models.TaskSchedule]:
        """Yield the company's schedules."""
        return self._client.items("/schedules")

    async def create(
        self, *, name: str, cron: str, type: str, idempotency_key: str | None = None, **more: Any
    ) -> models.TaskSchedule:
        """Create a schedule of five cron fields; `more`: zone, payload, enabled, catch_up …"""
        body = {"name": name, "cron": cron, "type": type, **more}
        made = await self._client.call(
            "POST", "/schedules", json=body, idempotency_key=idempotency_key
        )
        return cast(models.TaskSchedule, made)

    async def change(self, schedule_id: str, **changes: Any) -> models.TaskSchedule:
        """Change a schedule; `enabled=False` switches it off."""
        path = f"/schedules/{schedule_id}"
        return cast(models.TaskSchedule, await self._client.call("PATCH", path, json=changes))

    async def delete(self, schedule_id: str) -> None:
        """Delete a schedule. Work that it has started goes on."""
        await self._client.call("DELETE", f"/schedules/{schedule_id}")


class AsyncSandbox(AsyncResource):
    """Test mode: the clock of the sandbox. Needs a key that begins with `nilk_test_`."""

    async def clock(self) -> models.Clock:
        """Return the time in the sandbox, and how far it is ahead."""
        return cast(models.Clock, await self._client.call("GET", "/test/clock"))

    async def advance(
        self, seconds: int, *, idempotency_key: str | None = None
    ) -> models.ClockAdvance:
        """Move the clock forward: what falls due until then happens now."""
        made = await self._client.call(
            "POST",
            "/test/clock/advance",
            json={"seconds": seconds},
            idempotency_key=idempotency_key,
        )
        return cast(models.ClockAdvance, made)

    async def reset(self, company_id: str) -> models.Sandbox:
        """Put an empty sandbox in the place of that one, whose id `/companies/me` has."""
        body = {"company_id": company_id}
        return cast(models.Sandbox, await self._client.call("POST", "/test/reset", json=body))
