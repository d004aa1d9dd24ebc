"""What happened to a task, event by event, in words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.pages.background.wording import seconds
from pipeline.wording.task_words import TASK_EVENT_WORDS
from tasks.models import EventKind, TaskEvent

PEOPLE = ("member", "key")
"""How the actors of a task begin that are no workers."""


@dataclass(frozen=True, slots=True)
class Told:
    """One event of a task's history in words."""

    title: str
    sentence: str
    tone: str
    event: TaskEvent


def told(event: TaskEvent, actors: Mapping[str, str]) -> Told:
    """An event in words; `actors` are people, keys and schedules by how the event names them."""
    data = event.data if isinstance(event.data, dict) else {}
    if event.kind == EventKind.EMITTED:
        return Told(str(data.get("name") or "Told"), _plain(data.get("data")), "plain", event)
    title, tone = TASK_EVENT_WORDS.get(event.kind, (event.kind, "plain"))
    who = actors.get(event.actor, "somebody")
    return Told(title, _sentence(event, data, who), tone, event)


_FIXED: dict[str, str] = {
    EventKind.RETURNED: "The worker ended before the task did. This attempt does not count.",
    EventKind.LEASE_LOST: "Nothing more was heard of its worker: another one may take it.",
    EventKind.DEAD: "Nothing tries it again unless somebody replays it.",
}
_BY_SOMEBODY = (
    EventKind.ENQUEUED,
    EventKind.CANCEL_REQUESTED,
    EventKind.REPLAYED,
)


def _sentence(event: TaskEvent, data: Mapping[str, Any], who: str) -> str:
    if event.kind in _FIXED:
        return _FIXED[event.kind]
    if event.kind in _BY_SOMEBODY:
        return f"By {who}, with another payload." if data.get("edited") else f"By {who}."
    if event.kind == EventKind.DISCARDED:
        by_hand = event.actor.partition(":")[0] in PEOPLE
        return f"By {who}." if by_hand else "The work itself said that nobody wants it any more."
    return _of_a_run(event, data)


def _of_a_run(event: TaskEvent, data: Mapping[str, Any]) -> str:
    match event.kind:
        case EventKind.STARTED:
            return f"Attempt {event.attempt}."
        case EventKind.PROGRESS:
            return _progress_told(data)
        case EventKind.FAILED:
            return f"Attempt {event.attempt} ended with {data.get('error') or 'an error'}."
        case EventKind.RETRY_SCHEDULED:
            wait = data.get("delay_seconds")
            return f"After {seconds(float(wait))}." if wait is not None else "At once."
        case EventKind.CANCELLED if data.get("finished"):
            return "The work ended by itself: it did not have to be stopped by force."
    return ""


def _progress_told(data: Mapping[str, Any]) -> str:
    done, total = data.get("done"), data.get("total")
    note = f", {data['note']}" if data.get("note") else ""
    return f"{done:,} of {total:,}{note}." if isinstance(done, int) and total else ""


def _plain(data: Any) -> str:
    return "" if data is None else str(data)[:500]
