"""Chats on this machine that answer as Slack and Microsoft Teams do, and channels in tests."""

from __future__ import annotations

import time
from http.server import BaseHTTPRequestHandler
from typing import Any
from uuid import UUID

import pytest
from django.db.models.functions import Now

from pipeline.chat import channels
from pipeline.chat.delivery import deliver_due
from pipeline.models import ChatCard, ChatChannel, ChatMessage, ChatService
from pipeline.notifications.chat_delivery import tell_off
from pipeline.notifications.chats import compose
from tests.support.receiver import Receiver, reply

SLACK_PATH, TEAMS_PATH = "/services/T000/B000/aB3dEfGh", "/workflows/f00/triggers/manual"
ALL_CARDS = [card for card in ChatCard if card is not ChatCard.TEST]
HOST = "127.0.0.1"


class ChatServer:
    """A chat's address: it refuses what the chat refuses, by Slack's and Microsoft's words.

    More than one post a second to an address gets 429 with Retry-After, as Slack answers.
    """

    def __init__(self, receiver: Receiver) -> None:
        self.receiver, self.receiver.answer = receiver, self._answer
        self.posted: list[Any] = []
        self.refused = 0
        self._last: dict[str, float] = {}

    @property
    def slack(self) -> str:
        return f"http://{HOST}:{self.receiver.port}{SLACK_PATH}"

    @property
    def teams(self) -> str:
        return f"http://{HOST}:{self.receiver.port}{TEAMS_PATH}"

    def titles(self) -> list[str]:
        """Return the titles of what was posted, in order."""
        return [title_of(each) for each in self.posted]

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        got = handler.got  # type: ignore[attr-defined]
        now = time.monotonic()
        if now - self._last.get(got.path, 0.0) < 0.95:
            self.refused += 1
            return reply(handler, 429, b"rate_limited", retry_after="1")
        self._last[got.path] = now
        if got.path == SLACK_PATH:
            known = is_slack_message(got.json)
            status, said = (200, b"ok") if known else (400, b"invalid_payload")
        elif got.path == TEAMS_PATH:
            known = is_teams_message(got.json)
            status, said = (202, b"") if known else (400, b'{"error":{"code":"BadRequest"}}')
        else:
            known, status, said = False, 404, b"no_service"
        if known:
            self.posted.append(got.json)
        return reply(handler, status, said)


def is_slack_message(body: Any) -> bool:
    """Tell whether Slack would take a message: a fallback, and blocks within its limits."""
    blocks = {"header": _is_header, "section": _is_section, "actions": _is_actions}
    return (
        0 < len(body["text"]) <= 40_000
        and 0 < len(body["blocks"]) <= 50
        and all(blocks[each["type"]](each) for each in body["blocks"])
    )


def _is_text(text: Any, most: int, *kinds: str) -> bool:
    return text["type"] in kinds and 0 < len(text["text"]) <= most


def _is_header(block: Any) -> bool:
    return _is_text(block["text"], 150, "plain_text")


def _is_section(block: Any) -> bool:
    fields = block.get("fields", [])
    texts = [block["text"]] if "text" in block else []
    return (
        bool(texts or fields)
        and len(fields) <= 10
        and all(_is_text(each, 3_000, "plain_text", "mrkdwn") for each in texts)
        and all(_is_text(each, 2_000, "plain_text", "mrkdwn") for each in fields)
    )


def _is_actions(block: Any) -> bool:
    ids = [each["action_id"] for each in block["elements"]]
    return (
        0 < len(ids) <= 25
        and len(ids) == len(set(ids))
        and all(
            each["type"] == "button"
            and _is_text(each["text"], 75, "plain_text")
            and len(each.get("value", "")) <= 2_000
            and len(each.get("url", "")) <= 3_000
            for each in block["elements"]
        )
    )


def is_teams_message(body: Any) -> bool:
    """Tell whether the flow that posts a card to a channel would take a message."""
    [attachment] = body["attachments"]
    card = attachment["content"]
    return (
        body["type"] == "message"
        and attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
        and card["type"] == "AdaptiveCard"
        and card["version"] in ("1.2", "1.3", "1.4", "1.5")
        and {each["type"] for each in card["body"]} <= {"TextBlock", "FactSet"}
        and all(each["type"] == "Action.OpenUrl" for each in card["actions"])
        and len(str(body)) < 28_000
    )


def title_of(body: Any) -> str:
    """Return the title of a message of either chat."""
    if "blocks" in body:
        return str(body["blocks"][0]["text"]["text"])
    return str(body["attachments"][0]["content"]["body"][0]["text"])


def words_of(body: Any) -> str:
    """Return all words of a message."""
    return repr(body)


@pytest.fixture
def chat(receiver: Receiver, settings: Any) -> ChatServer:
    """Return a chat on this machine, to which this site may post."""
    settings.CHAT_HOSTS = [HOST]
    settings.NOTIFY = True
    settings.SITE_URL = "https://line.example"
    return ChatServer(receiver)


def channel(
    company_id: UUID, address: str, *cards: ChatCard, job_id: UUID | None = None, **given: Any
) -> ChatChannel:
    """Return a channel of a company; of Slack, in English and with all cards, unless given."""
    usual = {"service": ChatService.SLACK, "name": "#hiring", "language": "en"}
    return channels.add(
        company_id=company_id,
        address=address,
        cards=list(cards) or ALL_CARDS,
        job_id=job_id,
        **usual | given,
    )


def deliver(seconds: float = 20.0) -> int:
    """Post what is due, as a worker does."""
    return deliver_due(compose, tell_off, seconds=seconds)


def make_due() -> None:
    """End the waits of messages and channels."""
    ChatMessage.objects.filter(state="PENDING").update(next_attempt_at=Now())
    ChatChannel.objects.update(free_at=Now())


def states() -> dict[str, int]:
    found = list(ChatMessage.objects.values_list("state", flat=True))
    return {state: found.count(state) for state in set(found)}
