"""A slow, plain computation of a job's numbers from the rows of its log."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pipeline.models import Event


def by_person(log: list[Event]) -> Iterable[list[Event]]:
    ids = {event.application_id for event in log if event.application_id}
    return [[event for event in log if event.application_id == each] for each in ids]


def slow_promotions(log: list[Event]) -> list[float]:
    found = []
    for events in by_person(log):
        promoted = [event.at for event in events if event.event == "PROMOTED"]
        if promoted:
            found.append((promoted[0] - events[0].at).total_seconds())
    return found


def slow_answers(log: list[Event]) -> list[float]:
    found, offered = [], {}
    for event in log:
        if event.to_status == "PENDING_ACKNOWLEDGMENT" and event.event != "DEADLINE_EXTENDED":
            offered[event.application_id] = event.at
        elif event.event == "ACKNOWLEDGED":
            found.append((event.at - offered[event.application_id]).total_seconds())
    return found


def frees_a_seat(event: Event) -> bool:
    seats = ("ACTIVE", "PENDING_ACKNOWLEDGMENT")
    return event.from_status in seats and event.to_status not in seats


def slow_idle(log: list[Event], now: datetime) -> tuple[float, float]:
    idle = with_people = 0.0
    status, capacity = "", 0
    for event, until in zip(log, [*(event.at for event in log[1:]), now], strict=True):
        if event.application_id is None:
            status, capacity = event.data["status"], event.data["capacity"]
        free = max(0, capacity - event.data["active"] - event.data["pending"])
        if status == "OPEN":
            idle += free * (until - event.at).total_seconds()
            if event.data["waiting"]:
                with_people += free * (until - event.at).total_seconds()
    return idle, with_people
