"""Forward webhooks to a program on this machine, which the site itself could not reach.

Without an endpoint, they are made from the feed of events, as the site makes them. With one, they
are copies of what the site sends to it: messages and background work too.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import httpx

from nextinline.commands.connection import is_sandbox
from nextinline.commands.follow import CursorFile, followed_pages, sit_out
from nextinline.commands.output import tell, write_line
from nextinline.synchronous.client import Client
from nextinline.webhooks import sign_webhook, webhook_of_event

TIMEOUT_SECONDS = 15.0
# Deliveries of one moment can become visible in another order than that of their creation.
OVERLAP = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class Delivery:
    """A webhook to forward."""

    message_id: str
    type: str
    body: bytes


class Forwarder:
    """Sends webhooks, signed, to a local address, and prints what became of each.

    One that is not accepted is sent again, after 1, 2, 4 … seconds, `attempts` times in all.
    """

    def __init__(self, address: str, *, secret: str, types: list[str], attempts: int) -> None:
        self._address, self._secret, self._types = address, secret, types
        self._attempts = attempts
        # A proxy of the environment cannot reach this machine.
        self._http = httpx.Client(timeout=TIMEOUT_SECONDS, trust_env=False)

    def forward(self, delivery: Delivery) -> None:
        """Send a webhook if its type is wanted."""
        if self._types and not any(fnmatchcase(delivery.type, each) for each in self._types):
            return
        attempt, status, trouble = 0, None, ""
        while attempt < self._attempts:
            if attempt:
                time.sleep(2.0 ** (attempt - 1))
            attempt += 1
            status, trouble = self._send(delivery)
            if status is not None and 200 <= status < 300:
                break
        told = {"type": delivery.type, "webhook_id": delivery.message_id, "status": status}
        write_line(told | {"attempts": attempt} | ({"error": trouble} if trouble else {}))

    def _send(self, delivery: Delivery) -> tuple[int | None, str]:
        headers = sign_webhook(
            secret=self._secret, message_id=delivery.message_id, body=delivery.body
        )
        try:
            answer = self._http.post(self._address, content=delivery.body, headers=headers)
        except httpx.TransportError as error:
            return None, str(error) or type(error).__name__
        return answer.status_code, ""


def forward_feed(
    client: Client, forwarder: Forwarder, *, kept: CursorFile | None, every_seconds: float
) -> None:
    """Forward each event from now on, or from the kept cursor, for ever."""
    company_id, test = client.own_company()["id"], is_sandbox()
    cursor = kept.read() if kept else None
    pages = followed_pages(
        client, "/events", cursor=cursor, start="now", wait_seconds=every_seconds
    )
    for page in pages:
        for event in page["data"]:
            body = webhook_of_event(event, company_id=company_id, test=test)
            type_ = json.loads(body)["type"]
            forwarder.forward(Delivery(f"msg_{event['id']}", type_, body))
        if kept:
            kept.write(page["next_cursor"])


def forward_deliveries(
    client: Client, forwarder: Forwarder, *, webhook_id: str, every_seconds: float
) -> None:
    """Forward a copy of each delivery to an endpoint that the site makes from now on, for ever."""

    def newest(moment: str | None) -> list[Any]:
        return list(_since(client.webhooks.deliveries(webhook_id), moment))

    rows = sit_out(partial(newest, None))
    while True:
        seen = {row["id"] for row in rows}
        began = rows[0]["created_at"] if rows else None
        time.sleep(every_seconds)
        rows = sit_out(partial(newest, began))
        for row in reversed(rows):
            if row["id"] not in seen:
                found = sit_out(partial(client.webhooks.delivery, webhook_id, row["id"]))
                content = json.dumps(found["body"], ensure_ascii=False).encode()
                forwarder.forward(Delivery(found["webhook_id"], found["type"], content))


def _since(rows: Iterable[Any], moment: str | None) -> Iterator[Any]:
    """Yield the rows, which come newest first, from shortly before a moment or before the first."""
    for row in rows:
        moment = moment or row["created_at"]
        if _time(row["created_at"]) < _time(moment) - OVERLAP:
            return
        yield row


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def announce(address: str, secret: str, what: str) -> None:
    """Say what is forwarded where, and with which secret it is signed."""
    tell(f"Forwarding {what} to {address}. Stop with Ctrl-C.")
    tell(f"WEBHOOK_SECRET={secret}")
