"""A job's line at any past moment, and what is different between two."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_safe

from jobs.models import Job
from pipeline.domain.errors import FutureMoment, NoSuchMoment
from pipeline.pages.access import for_members, own_job
from pipeline.pages.history.event_rows import tell_one
from pipeline.pages.history.timeline import whole
from pipeline.pages.time_limit import reads_for_a_while
from pipeline.selectors.history import names_of
from pipeline.selectors.paging import database_now
from pipeline.selectors.past_states import (
    MOST_COMPARED,
    MOST_FOLDED,
    Moment,
    Place,
    differences,
    moment_of,
)

KINDS = {
    "seated": "Were offered a seat",
    "confirmed": "Confirmed their seat",
    "joined": "Joined",
    "left": "Left",
    "lost": "Lost their offer and wait again",
    "moved": "Moved in line",
    "passed": "Came and went in between",
}
"""How people can stand differently at a later moment, in the order in which it is told."""

BEFORE_ALL = "The job did not exist yet at that moment. This is how it began."
NOT_COMPARED = "There is no such event to compare with: choose one from 1 to {head:,}."
CLOCKS_DIFFER = timedelta(minutes=10)
"""By how much a browser's clock may be ahead without a word about it."""
NOT_YET = "That moment is still to come. This is how the line stands now."
NO_EVENT = "That is no number of an event. This is how the line stands now."
NO_TIME = "That is no date and time. This is how the line stands now."


@dataclass(frozen=True, slots=True)
class Asked:
    """Which moment was asked for: after an event, or at a time; and why it is another one."""

    seq: int | None = None
    as_of: datetime | None = None
    problem: str = ""


@require_safe
@for_members()
@reads_for_a_while
def replay(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """The line at a moment (`seq` or `at`), compared with another one (`with`)."""
    _, job = own_job(request, job_id)
    moment, problem = _moment(job.id, _asked(request))
    other, why_not = _other(job.id, request.GET.get("with", "").strip(), moment)
    context = {
        "job": job,
        "tab": "replay",
        "moment": moment,
        "problems": [each for each in (problem, why_not) if each],
        "told": tell_one(moment.event),
        "other": other,
        "local_at": _local(moment.event.at),
        "zone": timezone.get_current_timezone_name(),
        "first_at": _local(job.created_at),
        "most_folded": MOST_FOLDED,
    }
    context |= _people(moment) | (_compared(job, moment, other) if other else {})
    fragment = request.GET.get("fragment") == "1"
    response = render(request, f"history/{'_moment' if fragment else 'replay'}.html", context)
    response["Cache-Control"] = "private, no-cache"
    return response


def _asked(request: HttpRequest) -> Asked:
    text = request.GET.get("at", "").strip()
    if not text:
        wanted = request.GET.get("seq", "").strip()
        seq = whole(wanted)
        return Asked(seq=seq, problem=NO_EVENT if wanted and seq is None else "")
    try:
        at = parse_datetime(text)
    except ValueError:
        at = None
    if at is None:
        return Asked(problem=NO_TIME)
    if timezone.is_naive(at):
        at = timezone.make_aware(at, _zone(request.GET.get("zone", "")))
    return Asked(as_of=at)


def _zone(name: str) -> tzinfo:
    """The zone in which a page showed its time: that of the browser may not have been known yet."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return timezone.get_current_timezone()


def _moment(job_id: UUID, asked: Asked) -> tuple[Moment, str]:
    """The moment that was asked for; or the nearest there is, and a sentence about that."""
    try:
        return moment_of(job_id, seq=asked.seq, as_of=asked.as_of), asked.problem
    except NoSuchMoment:
        return moment_of(job_id, seq=1), BEFORE_ALL
    except FutureMoment:
        return moment_of(job_id), "" if _is_about_now(asked.as_of) else NOT_YET


def _is_about_now(at: datetime | None) -> bool:
    return at is not None and at - database_now() < CLOCKS_DIFFER


def _other(job_id: UUID, wanted: str, moment: Moment) -> tuple[Moment | None, str]:
    """The moment to compare with, of which only the counts are shown; or a sentence why none."""
    seq = whole(wanted)
    if seq is not None and 1 <= seq <= moment.head:
        return moment_of(job_id, seq=seq, shown=0), ""
    return None, NOT_COMPARED.format(head=moment.head) if wanted else ""


def _local(at: datetime) -> str:
    """A time as a date-time field takes it: of the reader's zone, to the second."""
    return timezone.localtime(at).strftime("%Y-%m-%dT%H:%M:%S")


def _people(moment: Moment) -> dict[str, Any]:
    everybody = [*moment.active, *moment.pending, *moment.waitlist]
    names = names_of(person.application_id for person in everybody)
    at = moment.event.at

    def rows(people: list[Place]) -> list[dict[str, Any]]:
        return [
            {
                "person": person,
                "name": names.get(person.application_id, ""),
                "left": person.acknowledge_by and person.acknowledge_by - at,
                "cooling": person.eligible_at and person.eligible_at > at,
            }
            for person in people
        ]

    counts = moment.counts
    return {
        "active": rows(moment.active),
        "pending": rows(moment.pending),
        "waiting": rows(moment.waitlist),
        "more_active": counts["active"] - len(moment.active),
        "more_pending": counts["pending"] - len(moment.pending),
        "more_waiting": counts["waiting"] - len(moment.waitlist),
    }


def _compared(job: Job, moment: Moment, other: Moment) -> dict[str, Any]:
    earlier, later = sorted((moment, other), key=lambda each: each.seq)
    differing = differences(job.id, earlier.seq, later.seq)
    found = differing or []
    names = names_of(each.application_id for each in found)
    groups = []
    for kind, words in KINDS.items():
        of_kind = [each for each in found if each.kind == kind]
        if of_kind:
            total = of_kind[0].total
            people = [(names.get(each.application_id, ""), each) for each in of_kind]
            groups.append((words, total, people, total - len(of_kind)))
    return {
        "earlier": earlier,
        "later": later,
        "groups": groups,
        "is_far": differing is None,
        "most_compared": MOST_COMPARED,
        "counted": _counts(earlier, later),
    }


def _counts(earlier: Moment, later: Moment) -> list[tuple[str, int, int, int]]:
    rows = [
        ("Seats", earlier.job["capacity"], later.job["capacity"]),
        ("In review", earlier.counts["active"], later.counts["active"]),
        ("Must confirm", earlier.counts["pending"], later.counts["pending"]),
        ("Waiting", earlier.counts["waiting"], later.counts["waiting"]),
    ]
    return [(words, before, after, after - before) for words, before, after in rows]
