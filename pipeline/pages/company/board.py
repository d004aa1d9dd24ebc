"""Page of a job's pipeline: seats, waitlist, and the reason why nobody is being promoted."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core.cache import caches
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from jobs.models import MAX_CAPACITY, Job, JobStatus
from pipeline.domain.permissions import Action
from pipeline.figures.series import Series, read_series
from pipeline.form import answers
from pipeline.line.removed_logs import removal_time
from pipeline.pages import charts, page_urls
from pipeline.pages.access import Member, for_members, own_job
from pipeline.pages.company import decisions
from pipeline.pages.company.consequences import describe_added_seat, describe_promotion
from pipeline.pages.company.jobs import REFRESH_SECONDS
from pipeline.pages.line_picture import LinePicture, SeatBar
from pipeline.pages.live_page import live_page
from pipeline.selectors.applications import BEFORE_THE_FIRST
from pipeline.selectors.board import (
    BOARD_MISSES_SPAN,
    LOOKED_AHEAD,
    Board,
    DecayWorkerStatus,
    SeatPlace,
    find_place,
    previous_page_place,
    read_board,
    read_decay_worker,
    seat_place,
)
from pipeline.selectors.jobs import recent_events, recent_misses
from pipeline.selectors.pages import encode_cursor
from pipeline.wording.events import find_words
from pipeline.wording.status import describe_pending_draw, explain_promotion

MISSES_SHOWN, ACTIVITY_SHOWN, DEADLINES_SHOWN = 5, 5, 2
CHART_SPAN, CHART_SECONDS = timedelta(hours=24), 60  # and for how long a chart is kept
MANY_EVENTS = 2_000  # in the chart's span: from here on, it is not read again after each change
IDLE_SHOWN = 6  # free seats drawn one by one; the rest are only counted
ANSWER_ICONS = {"good": "check-circle", "bad": "exclamation-triangle", "warn": "hand-raised"}


@for_members()
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show a job's pipeline; the page keeps itself up to date.

    `?place=` opens the page of the waitlist that begins with that position.
    """
    member, job = own_job(request, job_id)
    wanted = request.GET.get("place", "")
    if wanted.isdecimal() and len(wanted) < 10:
        start = find_place(job_id, min(int(wanted), job.people_waiting))
        place = encode_cursor(*start)
        return redirect(page_urls.change_query(request, place=None, waiting=place) + "#waitlist")
    worker = read_decay_worker(job_id)
    # Besides the line, the page shows whether the worker is late, and counts of past hours.
    overdue = job.next_due_at is not None and job.next_due_at <= worker.now
    period = int(worker.now.timestamp()) // REFRESH_SECONDS
    status = (worker.alive, overdue, worker.decisions)
    return live_page(
        request,
        "company/board.html",
        "company/_board.html",
        build=lambda: (
            _context(request, member, job_id, worker)
            | (decisions.read_notices(job_id, member) if worker.decisions else {})
        ),
        tag=f"{job.seq}-{job.posting.version}-{status}-{period}",
        jobs=[job_id],
    )


def _context(
    request: HttpRequest, member: Member, job_id: UUID, worker: DecayWorkerStatus
) -> dict[str, Any]:
    seat = page_urls.read_place(request, "seats", str, datetime, UUID)
    shown = read_board(
        job_id,
        seats_after=SeatPlace(seat[0] == "pending", *seat[1:]) if seat else None,
        waiting_after=page_urls.read_place(request, "waiting", int, int) or BEFORE_THE_FIRST,
        worker=worker,
    )
    answer, last_promotion = explain_promotion(shown.facts), shown.activity.last_promotion
    if shown.job.awaits_draw and shown.job.draw_at and shown.job.status == JobStatus.OPEN:
        answer = describe_pending_draw(shown.facts, shown.job.draw_at)
    urls, is_closed = _page_urls(request, shown), shown.job.status == JobStatus.CLOSED
    places = [seen.position for seen in shown.waitlist.rows if seen.position]
    is_paged = "waiting_next" in urls or "waiting_first" in urls
    idle = 0 if shown.seats.more or is_closed else shown.job.seats_free
    return {
        "member": member,
        "job": shown.job,
        "is_closed": is_closed,
        "public_link": request.build_absolute_uri(reverse("opening", args=[job_id])),
        "tab": "board",
        "board": shown,
        "now": shown.now,
        "awaited": {},
        "summaries": answers.read_summaries(
            shown.job, [seen.application.id for seen in (*shown.seats.rows, *shown.waitlist.rows)]
        ),
        "bar": SeatBar.of(shown.job),
        "picture": LinePicture.of(shown.job),
        "answer": answer,
        "answer_icon": ANSWER_ICONS.get(answer.tone, "clock"),
        "last_promotion": last_promotion if answer.cause != "MOVING" else None,
        "idle_shown": range(min(idle, IDLE_SHOWN)),
        "idle_more": max(0, idle - IDLE_SHOWN),
        "most_seats": MAX_CAPACITY,
        **_recent_events(request, shown),
        "log_removed_at": removal_time(shown.job),
        "more_seats": describe_added_seat(shown.job, shown.next_names),
        "may": _permitted_buttons(member, shown.job),
        **{name: _held_people(shown, column) for name, column in RUNNING_ON_BOARD.items()},
        "on_resuming": _resume_consequence(shown),
        "owner_could": not is_closed
        and member.may(Action.EDIT_POSTING)
        and not member.may(Action.CHANGE_RULES),
        "shown_places": places and is_paged and f"{places[0]:,} to {places[-1]:,}",
        **last_day_chart(shown.job),
        **urls,
    }


def _recent_events(request: HttpRequest, shown: Board) -> dict[str, Any]:
    """Return the last events, the next deadlines and the last misses, in at most two queries."""
    return {
        "latest": [
            (event, name, find_words(event))
            for event, name in recent_events(shown.job.id, limit=ACTIVITY_SHOWN)
        ],
        "deadlines": [
            seen
            for seen in shown.seats.rows[:DEADLINES_SHOWN]
            if seen.application.acknowledge_by and "seats" not in request.GET
        ],
        "misses": (
            recent_misses(shown.job.id, BOARD_MISSES_SPAN, limit=MISSES_SHOWN)
            if shown.activity.misses
            else []
        ),
    }


def _permitted_buttons(member: Member, job: Job) -> dict[str, bool]:
    status, runs = JobStatus(job.status), member.may(Action.OPEN_OR_PAUSE_JOB)
    closed = status is JobStatus.CLOSED
    return {
        "delete_draft": member.may(Action.DELETE_DRAFT) and status is JobStatus.DRAFT,
        "open": runs and status is JobStatus.DRAFT,
        "resume": runs and status is JobStatus.PAUSED,
        "pause": runs and status is JobStatus.OPEN,
        "add": member.may(Action.SUBMIT_APPLICATION) and status is JobStatus.OPEN,
        "decide": member.may(Action.DECIDE),
        "extend": member.may(Action.DECIDE) and not closed,
        "capacity": member.may(Action.CHANGE_RULES) and not closed,
        "copy": closed and member.may(Action.CREATE_JOB),
        "close": member.may(Action.CLOSE_JOB) and status in (JobStatus.OPEN, JobStatus.PAUSED),
    }


# What the board marks while a time of a person on the waitlist is ahead.
RUNNING_ON_BOARD = {
    "cooling": "eligible_at",
    "deferring": "not_before",
    "accepting": "accept_until",
}


def _held_people(shown: Board, column: str) -> set[UUID]:
    """Return the ids of people on the shown page of the waitlist for whom a time is still ahead."""
    ends = {seen.application.id: getattr(seen.application, column) for seen in shown.waitlist.rows}
    return {application_id for application_id, end in ends.items() if end and end > shown.now}


def last_day_chart(job: Job) -> dict[str, Any]:
    """Return the chart of a job's last day as context; {} for a draft, or without the log.

    A long log is read again at most once a minute, a short one also after each change.
    """
    if not job.opened_at or removal_time(job):
        return {}
    key = f"board-chart:{job.id}"
    kept: tuple[int, Series] | None = caches["local"].get(key)
    if kept is None or (kept[0] != job.seq and kept[1].events < MANY_EVENTS):
        kept = job.seq, read_series(job, back=CHART_SPAN, zone="UTC")
        caches["local"].set(key, kept, CHART_SECONDS)
    series = kept[1]
    if not series.points:
        return {}
    zone = timezone.get_current_timezone()
    as_of = f"As of {series.end.astimezone(zone):%H:%M:%S}"
    chart = charts.draw_occupancy(series.points, series.start, series.end, zone, as_of=as_of)
    return {"occupancy": chart, "is_new_job": job.opened_at > series.end - CHART_SPAN}


def _resume_consequence(shown: Board) -> str:
    """Describe what follows when a paused job resumes."""
    free = shown.job.seats_free
    if not free or not shown.job.people_waiting or shown.job.awaits_draw:
        return "people can apply again"
    names = shown.next_names[:free]
    if not names or (len(names) < free and shown.job.people_waiting > LOOKED_AHEAD):
        return "free seats go to the next in line"
    return f"{describe_promotion(names[:2], len(names))} at once"


def _page_urls(request: HttpRequest, shown: Board) -> dict[str, str]:
    """Return the URLs of the next and the first page of both lists."""
    urls = {}
    if shown.seats.more:
        seat = seat_place(shown.seats.rows[-1])
        place = encode_cursor("pending" if seat.pending else "active", seat.moment, seat.id)
        urls["seats_next"] = page_urls.change_query(request, seats=place) + "#seats"
    if "seats" in request.GET:
        urls["seats_first"] = page_urls.change_query(request, seats=None) + "#seats"
    if shown.waitlist.more:
        last = shown.waitlist.rows[-1].application
        place = encode_cursor(last.ticket or 0, last.tie or 0)
        urls["waiting_next"] = page_urls.change_query(request, waiting=place) + "#waitlist"
    if "waiting" in request.GET:
        here = page_urls.read_place(request, "waiting", int, int) or BEFORE_THE_FIRST
        back = previous_page_place(shown.job.id, here)
        before = None if back == BEFORE_THE_FIRST else encode_cursor(*back)
        urls["waiting_before"] = page_urls.change_query(request, waiting=before) + "#waitlist"
        urls["waiting_first"] = page_urls.change_query(request, waiting=None) + "#waitlist"
    return urls
