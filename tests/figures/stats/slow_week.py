"""A slow, plain computation of a week's figures from the rows of a log."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from itertools import pairwise
from statistics import median, quantiles
from typing import Any

from pipeline.figures.series import Week
from pipeline.models import Event


def is_offer(event: Event) -> bool:
    offered = event.to_status == "PENDING_ACKNOWLEDGMENT"
    return event.event == "PROMOTED" or (event.event == "APPLIED" and offered)


def missed(log: list[Event]) -> int:
    """Count the offers that were not answered in time."""
    ends = ("DECAYED", "LAPSED")
    return sum(e.event in ends and e.from_status == "PENDING_ACKNOWLEDGMENT" for e in log)


def slow_counts(log: list[Event], week: Week) -> dict[str, Any]:
    """Count the events of the week one by one."""
    inside = [event for event in log if week.start <= event.at < week.end]
    kinds = Counter(event.event for event in inside)
    return {
        "events": len(inside),
        "applied": kinds["APPLIED"],
        "seated": sum(e.event == "APPLIED" and e.to_status == "ACTIVE" for e in inside),
        "offered": sum(map(is_offer, inside)),
        "promoted": kinds["PROMOTED"],
        "confirmed": kinds["ACKNOWLEDGED"],
        "missed": missed(inside),
        "lapsed": missed(inside) - kinds["DECAYED"],
        "withdrawn": kinds["WITHDRAWN"],
        "closed_out": kinds["CLOSED_OUT"],
        "decided": dict(Counter(e.outcome for e in inside if e.event == "REMOVED")),
        "days": [_day(inside, start, end) for start, end in pairwise(week.days)],
    }


def _day(inside: list[Event], start: datetime, end: datetime) -> list[int]:
    of_day = [event for event in inside if start <= event.at < end]
    kinds = Counter(event.event for event in of_day)
    return [kinds["APPLIED"], sum(map(is_offer, of_day)), kinds["ACKNOWLEDGED"], missed(of_day)]


def slow_times(log: list[Event], week: Week) -> dict[str, Any]:
    """Compute how long people took to confirm, and waited for a first offer."""
    applied: dict[Any, datetime] = {}
    offered: dict[Any, datetime] = {}
    answers, waits = [], []
    for event in log:
        who, counts = event.application_id, week.start <= event.at < week.end
        if event.event == "APPLIED":
            applied[who] = event.at
        if event.event == "ACKNOWLEDGED" and counts:
            answers.append((event.at - offered[who]).total_seconds())
        if is_offer(event):
            if who not in offered and counts:
                waits.append((event.at - applied[who]).total_seconds())
            offered[who] = event.at
    return {"confirm_seconds": _spread(answers), "wait_seconds": _spread(waits)}


def _spread(seconds: list[float]) -> dict[str, Any]:
    if not seconds:
        return {"count": 0, "median": None, "p90": None}
    several = seconds if len(seconds) > 1 else seconds * 2
    p90 = quantiles(several, n=10, method="inclusive")[-1]
    return {"count": len(seconds), "median": median(seconds), "p90": p90}


def slow_seats(log: list[Event], week: Week) -> dict[str, float]:
    """Compute how the seats' time was used: seconds times seats."""
    spent = dict.fromkeys(("review", "offered", "nobody", "cooldown", "paused"), 0.0)
    status, capacity = "", 0
    for event, until in zip(log, [*(e.at for e in log[1:]), week.end], strict=True):
        if event.application_id is None:
            status, capacity = event.data["status"], event.data["capacity"]
        start, end = max(event.at, week.start), min(until, week.end)
        seconds = max(0.0, (end - start).total_seconds())
        free = max(0, capacity - event.data["active"] - event.data["pending"])
        if status in ("OPEN", "PAUSED"):
            spent["review"] += seconds * event.data["active"]
            spent["offered"] += seconds * event.data["pending"]
            why = "paused" if status == "PAUSED" else _why_free(event)
            spent[why] += seconds * free
    return spent


def _why_free(event: Event) -> str:
    return "cooldown" if event.data["waiting"] else "nobody"


def slow_ends(log: list[Event], week: Week) -> dict[str, Any]:
    """Compute the state of the line at the beginning and end of the week."""
    before = [event.data for event in log if event.at < week.start]
    after = [event.data for event in log if event.at < week.end]
    job = [e.data for e in log if e.at < week.end and e.application_id is None][-1]
    first = before[-1] if before else {"waiting": 0, "active": 0, "pending": 0}
    return {
        "waiting_at_start": first["waiting"],
        "waiting_at_end": after[-1]["waiting"],
        "held_at_start": first["active"] + first["pending"],
        "held_at_end": after[-1]["active"] + after[-1]["pending"],
        "seats_at_end": job["capacity"],
        "status_at_end": job["status"],
    }


def slow_points(log: list[Event], week: Week) -> list[tuple[int, int]]:
    """Compute people seated and waiting, at the end of each hour in which that changed."""
    last: dict[int, tuple[int, int]] = {}
    for event in log:
        if event.at < week.end:
            hour = max(0, int((event.at - week.start).total_seconds() // 3_600))
            data = event.data
            last[hour] = (data["active"] + data["pending"], data["waiting"])
    return [last[hour] for hour in sorted(last)]
