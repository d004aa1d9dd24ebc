"""Replay: a job's line at any past moment, and the differences between two moments."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_safe

from jobs.models import Job, JobStatus
from pipeline.database.instants import database_now
from pipeline.domain.errors import FutureMoment, NoSuchMoment
from pipeline.pages.access import for_members, own_job
from pipeline.pages.event_rows import EventRow, row_of_event
from pipeline.pages.line_picture import LinePicture
from pipeline.pages.page_urls import page_seq_in_url
from pipeline.pages.time_limit import time_limited
from pipeline.selectors.event_trees import names_in_event_trees
from pipeline.selectors.past_states import (
    MOST_COMPARED,
    MOST_FOLDED,
    SHOWN,
    Difference,
    PastPlace,
    PastState,
    past_differences,
    past_state_of,
)
from pipeline.templatetags.line import tag_time_in_short
from pipeline.wording.event_words import status_event_words
from tasks.time_zones import is_known_time_zone

# Headings of the differences between two moments, in the order in which they are shown.
DIFFERENCES = {
    "seated": "Offered a seat",
    "confirmed": "Confirmed their seat",
    "joined": "Joined",
    "returned": "Came back: their place was given back",
    "left": "Left",
    "lost": "Lost their offer and are waiting again",
    "verified": "Verified the email address",
    "drawn": "Got a place by the draw",
    "moved": "Moved in line",
    "passed": "Joined and left in between",
}

BEFORE_ALL = "The job did not exist at that time. This is how it began."
NOT_COMPARED = "There is no such event to compare with. Enter a number from 1 to {head:,}."
CLOCKS_DIFFER = timedelta(minutes=10)  # a browser's clock may be this far ahead without a message
NOT_YET = "That time is in the future. This is the line now."
NOT_THAT_FAR = "The log does not have that many events. This is the line now."
NO_EVENT = "Enter the number of an event. This is the line now."
NO_TIME = "Enter a date and time. This is the line now."


@dataclass(frozen=True, slots=True)
class Asked:
    """Requested moment: after an event, at a time, or the problem with the request."""

    seq: int | None = None
    as_of: datetime | None = None
    problem: str = ""


@require_safe
@for_members()
@time_limited
def replay(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show the line at a moment (`seq` or `at`), compared with another one (`with`).

    `?fragment=1` is the part that changes; `?fragment=picture` only the line as a picture, which
    reads no more of the log than the moment's event.
    """
    _, job = own_job(request, job_id)
    asked, fragment = _requested_replay(request), request.GET.get("fragment")
    if fragment == "picture":
        return _replay_picture(request, job, asked)
    moment, problem = _moment_to_replay(job, asked)
    wanted = request.GET.get("with", "").strip()
    seq, other, why_not = page_seq_in_url(request, "with"), None, ""
    if seq is not None and 1 <= seq <= moment.head:
        other = past_state_of(job.id, seq=seq, shown=0)
    elif wanted:
        why_not = NOT_COMPARED.format(head=moment.head)
    row = row_of_event(moment.event)
    context = {
        "job": job,
        "tab": "replay",
        "moment": moment,
        "problems": [each for each in (problem, why_not) if each],
        "row": row,
        "picture": _picture_of(moment),
        **_replay_words(moment, row),
        "steps": _replay_steps(moment),
        "other": other,
        "local_at": _local_replay_time(moment.event.at),
        "zone": timezone.get_current_timezone_name(),
        "first_at": _local_replay_time(job.created_at),
        "most_folded": MOST_FOLDED,
    }
    context |= _replay_people(moment) | (_compared_replays(job, moment, other) if other else {})
    name = "_moment" if fragment == "1" else "replay"
    response = render(request, f"history/{name}.html", context)
    response["Cache-Control"] = "private, no-cache"
    return response


def _replay_picture(request: HttpRequest, job: Job, asked: Asked) -> HttpResponse:
    moment, _ = _moment_to_replay(job, asked, shown=0)
    words = _replay_words(moment, row_of_event(moment.event))
    context = {"moment": moment, "picture": _picture_of(moment), **words}
    response = render(request, "history/_picture.html", context)
    response["Cache-Control"] = "private, no-cache"
    return response


def _picture_of(moment: PastState) -> LinePicture:
    counts = moment.counts
    seats = {"active": counts["active"], "pending": counts["pending"], "free": moment.seats_free}
    if moment.job["status"] == JobStatus.CLOSED:
        seats["free"] = 0
    return LinePicture.of_counts(seats, counts["waiting"] - counts["unverified"])


def _replay_words(moment: PastState, row: EventRow) -> dict[str, str]:
    return {
        "title": f"{row.name} {row.title}" if row.name else row.title,
        "at_words": tag_time_in_short(moment.event.at, seconds=True),
    }


def _requested_replay(request: HttpRequest) -> Asked:
    text = request.GET.get("at", "").strip()
    if not text:
        wanted = request.GET.get("seq", "").strip()
        seq = page_seq_in_url(request, "seq")
        return Asked(seq=seq, problem=NO_EVENT if wanted and seq is None else "")
    try:
        at = parse_datetime(text)
    except ValueError:
        at = None
    if at is None:
        return Asked(problem=NO_TIME)
    if timezone.is_naive(at):
        # The form names the zone of its times, because the browser's zone may not have been known
        # yet.
        zone: tzinfo = timezone.get_current_timezone()
        if is_known_time_zone(name := request.GET.get("zone", "")):
            zone = ZoneInfo(name)
        at = timezone.make_aware(at, zone)
    return Asked(as_of=at)


def _moment_to_replay(job: Job, asked: Asked, *, shown: int = SHOWN) -> tuple[PastState, str]:
    """Return the requested moment, or the nearest one with a sentence that says so."""
    try:
        return past_state_of(job.id, seq=asked.seq, as_of=asked.as_of, shown=shown), asked.problem
    except NoSuchMoment:
        return past_state_of(job.id, seq=1, shown=shown), BEFORE_ALL
    except FutureMoment:
        if asked.as_of is None:
            return past_state_of(job.id, shown=shown), NOT_THAT_FAR
        now = database_now(ahead_seconds=job.clock_offset_seconds)
        is_now = asked.as_of - now < CLOCKS_DIFFER
        return past_state_of(job.id, shown=shown), "" if is_now else NOT_YET


def _replay_steps(moment: PastState) -> list[dict[str, Any]]:
    """Return the four steps from a moment; `seq` is False for a step that leads nowhere."""
    seq, back, on = moment.seq, moment.seq > 1, moment.seq < moment.head
    return [
        {"label": "First", "icon": "chevron-double-left", "seq": back and 1},
        {
            "label": "Previous",
            "icon": "chevron-left",
            "seq": back and seq - 1,
            "rel": "prev",
        },
        {"label": "Next", "icon": "chevron-right", "seq": on and seq + 1, "rel": "next"},
        {"label": "Last", "icon": "chevron-double-right", "seq": on and moment.head},
    ]


def _local_replay_time(at: datetime) -> str:
    """Format a time for a date-time field: in the reader's zone, to the second."""
    return timezone.localtime(at).strftime("%Y-%m-%dT%H:%M:%S")


def _replay_people(moment: PastState) -> dict[str, Any]:
    everyone = [*moment.active, *moment.pending, *moment.waitlist]
    names = names_in_event_trees(person.application_id for person in everyone)
    at = moment.event.at

    def replay_rows(people: list[PastPlace]) -> list[dict[str, Any]]:
        return [
            {
                "person": person,
                "name": names.get(person.application_id, ""),
                "left": person.acknowledge_by and person.acknowledge_by - at,
                "cooling": person.eligible_at and person.eligible_at > at,
                "deferring": person.not_before and person.not_before > at,
                "accepting": person.accept_until and person.accept_until > at,
            }
            for person in people
        ]

    counts = moment.counts
    return {
        "active": replay_rows(moment.active),
        "pending": replay_rows(moment.pending),
        "waiting": replay_rows(moment.waitlist),
        "more_active": counts["active"] - len(moment.active),
        "more_pending": counts["pending"] - len(moment.pending),
        "more_waiting": counts["waiting"] - len(moment.waitlist),
    }


def _note_on_replay_change(change: Difference) -> str:
    """Describe a person's difference briefly. Empty if the heading says it all."""
    if change.outcome:
        return status_event_words(change.outcome)
    if change.before and change.after:
        return f"{change.before} → {change.after}"
    if change.after:
        return f"now {change.after} in line"
    if change.kind == "joined" and change.status != "WAITLIST":
        return "has a seat"
    return f"was {change.before} in line" if change.before else ""


def _compared_replays(job: Job, moment: PastState, other: PastState) -> dict[str, Any]:
    earlier, later = sorted((moment, other), key=lambda each: each.seq)
    has_places = (not earlier.awaits_draw, not later.awaits_draw)
    differing = past_differences(job.id, earlier.seq, later.seq, has_places=has_places)
    found = differing or []
    names = names_in_event_trees(each.application_id for each in found)
    groups = []
    for kind, words in DIFFERENCES.items():
        of_kind = [each for each in found if each.kind == kind]
        if of_kind:
            total = of_kind[0].total
            people = [
                (names.get(each.application_id, ""), _note_on_replay_change(each))
                for each in of_kind
            ]
            groups.append((words, total, people, total - len(of_kind)))
    counts: list[tuple[str, int, int]] = [
        ("Seats", earlier.job["capacity"], later.job["capacity"]),
        ("In review", earlier.counts["active"], later.counts["active"]),
        ("Must confirm", earlier.counts["pending"], later.counts["pending"]),
        ("Waiting", earlier.counts["waiting"], later.counts["waiting"]),
    ]
    return {
        "earlier": earlier,
        "later": later,
        "groups": groups,
        "is_far": differing is None,
        "most_compared": MOST_COMPARED,
        "counted": [(words, before, after, after - before) for words, before, after in counts],
    }
