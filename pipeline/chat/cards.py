"""Messages as the chats take them: cards as pure functions. Nothing here reads or sends.

A card names the job and the company, never an applicant: nobody can erase a message in a chat, and
a channel has readers who may not open the page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from pipeline.models import ChatService

# Limits of Slack's blocks, in characters, and of its escaped text.
MOST_TITLE, MOST_TEXT, MOST_LABEL = 150, 2_900, 75
_SCHEMA = "http://adaptivecards.io/schemas/adaptive-card.json"


@dataclass(frozen=True, slots=True)
class Card:
    """Message: a title, sentences below it, figures by their names, and the page it leads to."""

    title: str
    text: str
    link: str
    label: str
    figures: tuple[tuple[str, str], ...] = ()


def body_of(card: Card, service: ChatService) -> dict[str, Any]:
    """Return the JSON that a chat takes."""
    return slack_body(card) if service == ChatService.SLACK else teams_body(card)


def slack_body(card: Card) -> dict[str, Any]:
    """Return the message for an incoming webhook of Slack, in blocks.

    Nothing in it is read as a mention, a link or markup of ours: `text` is the fallback that
    notifications show, and is escaped as the sections are.
    """
    button = {
        "type": "button",
        "text": _plain(card.label, MOST_LABEL),
        "url": card.link,
        "action_id": "open",
    }
    blocks: list[dict[str, Any]] = [
        {"type": "header", "text": _plain(card.title, MOST_TITLE)},
        {"type": "section", "text": _plain(card.text, MOST_TEXT)},
        {"type": "actions", "elements": [button]},
    ]
    if card.figures:
        fields = [_plain(f"{name}: {value}", MOST_TITLE) for name, value in card.figures]
        blocks.insert(2, {"type": "section", "fields": fields[:10]})
    fallback = escape_slack(_cut(f"{card.title}. {card.text}", MOST_TEXT))
    return {"text": fallback, "blocks": blocks, "unfurl_links": False, "unfurl_media": False}


def escape_slack(text: str) -> str:
    """Escape Slack's three control characters, so that no name becomes a mention or a link."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _plain(text: str, most: int) -> dict[str, Any]:
    """Return a text object that is shown as it is; without `emoji`, ":name:" stays as written."""
    return {"type": "plain_text", "text": _cut(text, most), "emoji": False}


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


# Characters that Markdown gives a meaning, in a text block of an Adaptive Card.
_MARKDOWN = re.compile(r"([\\`*_\[\]()#+\-!|>~<])")


def escape_teams(text: str) -> str:
    """Escape the Markdown of an Adaptive Card's text, and the mentions that Teams makes of tags."""
    return _MARKDOWN.sub(r"\\\1", text)


def teams_body(card: Card) -> dict[str, Any]:
    """Return the message for a webhook of Teams: an Adaptive Card, as Workflows expects it."""
    body: list[dict[str, Any]] = [
        {
            "type": "TextBlock",
            "text": escape_teams(_cut(card.title, MOST_TITLE)),
            "weight": "Bolder",
            "size": "Medium",
            "wrap": True,
            "style": "heading",
        },
        {"type": "TextBlock", "text": escape_teams(_cut(card.text, MOST_TEXT)), "wrap": True},
    ]
    if card.figures:
        facts = [
            {"title": escape_teams(name), "value": escape_teams(value)}
            for name, value in card.figures
        ]
        body.append({"type": "FactSet", "facts": facts})
    content = {
        "$schema": _SCHEMA,
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": body,
        "actions": [
            {"type": "Action.OpenUrl", "title": _cut(card.label, MOST_LABEL), "url": card.link}
        ],
    }
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": content,
    }
    return {"type": "message", "attachments": [attachment]}
