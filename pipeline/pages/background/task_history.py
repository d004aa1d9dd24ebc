"""History of a task in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from pipeline.background.task_actors import worker_mark
from pipeline.pages.background.task_descriptions import describe_task_seconds
from pipeline.wording.task_words import TASK_EVENT_WORDS
from tasks.models import EventKind, TaskEvent

PEOPLE = ("member", "key")  # prefixes of actors that are not workers


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """Event of a task's history in words."""

    title: str
    sentence: str
    tone: str
    event: TaskEvent


def task_history_entry(event: TaskEvent, actors: Mapping[str, str]) -> HistoryEntry:
    """Describe an event; `actors` maps actor ids to the names of people, keys and schedules."""
    data = event.data if isinstance(event.data, dict) else {}
    if event.kind == EventKind.EMITTED:
        text = "" if data.get("data") is None else str(data["data"])[:500]
        return HistoryEntry(str(data.get("name") or "Message"), text, "plain", event)
    title, tone = TASK_EVENT_WORDS.get(event.kind, (event.kind, "plain"))
    who = actors.get(event.actor, "someone")
    return HistoryEntry(title, _task_history_sentence(event, data, who), tone, event)


_FIXED: dict[str, str] = {
    EventKind.RETURNED: "The worker stopped too early. This attempt does not count.",
    EventKind.LEASE_LOST: "Its worker stopped responding. Another worker can take the task.",
    EventKind.DEAD: "It will not be retried automatically. You can replay it.",
}
_BY_PEOPLE = (
    EventKind.ENQUEUED,
    EventKind.CANCEL_REQUESTED,
    EventKind.REPLAYED,
)


def _task_history_sentence(event: TaskEvent, data: Mapping[str, Any], who: str) -> str:
    by_hand = event.actor.partition(":")[0] in PEOPLE
    if event.kind in _FIXED:
        return _FIXED[event.kind]
    if event.kind in _BY_PEOPLE:
        return f"By {who}, with an edited payload." if data.get("edited") else f"By {who}."
    if event.kind == EventKind.DISCARDED:
        return f"By {who}." if by_hand else "The task reported that it is no longer needed."
    return _task_history_of_a_run(event, data, who if by_hand else "")


def _task_history_of_a_run(event: TaskEvent, data: Mapping[str, Any], by_hand: str) -> str:
    match event.kind:
        case EventKind.STARTED:
            worker = worker_mark(event.actor)
            return f"Attempt {event.attempt}" + (f", by worker {worker}." if worker else ".")
        case EventKind.PROGRESS:
            done, total = data.get("done"), data.get("total")
            note = f", {data['note']}" if data.get("note") else ""
            return f"{done:,} of {total:,}{note}." if isinstance(done, int) and total else ""
        case EventKind.FAILED:
            return f"Attempt {event.attempt} ended with {data.get('error') or 'an error'}."
        case EventKind.RETRY_SCHEDULED:
            wait = data.get("delay_seconds")
            if by_hand:
                return _("Now, by %(who)s.") % {"who": by_hand}
            return (
                f"After {describe_task_seconds(float(wait))}."
                if wait is not None
                else "Immediately."
            )
        case EventKind.CANCELLED if data.get("finished"):
            return "The task stopped on its own."
    return ""
