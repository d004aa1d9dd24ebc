"""A job's pipeline: who holds a seat, who waits, and why nobody is being promoted."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from jobs.models import Job, JobStatus
from pipeline.domain.permissions import Action
from pipeline.pages.access import Member, for_members, own_job
from pipeline.pages.company.consequences import are_promoted
from pipeline.pages.company.jobs import A_WHILE_SECONDS
from pipeline.pages.company.seat_bar import SeatBar
from pipeline.pages.live_page import live_page
from pipeline.pages.paging import place_in, url_with
from pipeline.selectors.applications import BEFORE_THE_FIRST
from pipeline.selectors.board import Board, SeatPlace, Worker, board_of, decay_worker, place_of
from pipeline.selectors.paging import encode_cursor
from pipeline.wording.promotion_status import why_nobody_is_promoted

IDLE_SHOWN = 6
"""Up to so many empty seats are shown one by one."""


@for_members()
def board(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """A job's pipeline, which keeps itself up to date."""
    member, job = own_job(request, job_id)
    return live_page(
        request,
        "company/board.html",
        "company/_board.html",
        build=lambda: _board(request, member, job_id),
        tag=_tag(job, decay_worker()),
        jobs=[job_id],
    )


def _tag(job: Job, worker: Worker) -> str:
    """Beside the line itself the page shows whether the worker is late, and the last hours."""
    overdue = job.next_due_at is not None and job.next_due_at <= worker.now
    late = (worker.alive, overdue)
    while_ago = int(worker.now.timestamp()) // A_WHILE_SECONDS
    return f"{job.seq}-{job.posting.version}-{late}-{while_ago}"


def _board(request: HttpRequest, member: Member, job_id: UUID) -> dict[str, Any]:
    seat = place_in(request, "seats", str, datetime, UUID)
    shown = board_of(
        job_id,
        seats_after=SeatPlace(seat[0] == "pending", *seat[1:]) if seat else None,
        waiting_after=place_in(request, "waiting", int, int) or BEFORE_THE_FIRST,
    )
    is_closed = shown.job.status == JobStatus.CLOSED
    idle = 0 if shown.seats.more or is_closed else shown.job.seats_free
    return {
        "member": member,
        "job": shown.job,
        "tab": "board",
        "board": shown,
        "now": shown.now,
        "bar": SeatBar.of(shown.job),
        "answer": why_nobody_is_promoted(shown.facts),
        "idle_shown": range(min(idle, IDLE_SHOWN)),
        "idle_more": max(0, idle - IDLE_SHOWN),
        "may": _may(member, shown.job),
        "cooling": {s.application.id for s in shown.waitlist.rows if _is_cooling(s, shown)},
        "on_resuming": _on_resuming(shown),
        "owner_could": not is_closed
        and member.may(Action.EDIT_POSTING)
        and not member.may(Action.CHANGE_RULES),
        **_pages(request, shown),
    }


def _may(member: Member, job: Job) -> dict[str, bool]:
    """Which buttons the member has in the job's present state."""
    status, runs = JobStatus(job.status), member.may(Action.OPEN_OR_PAUSE_JOB)
    closed = status is JobStatus.CLOSED
    return {
        "open": runs and status is JobStatus.DRAFT,
        "resume": runs and status is JobStatus.PAUSED,
        "pause": runs and status is JobStatus.OPEN,
        "add": member.may(Action.SUBMIT_APPLICATION) and status is JobStatus.OPEN,
        "decide": member.may(Action.DECIDE),
        "capacity": member.may(Action.CHANGE_RULES) and not closed,
        "close": member.may(Action.CLOSE_JOB) and status in (JobStatus.OPEN, JobStatus.PAUSED),
    }


def _is_cooling(seen: Any, shown: Board) -> bool:
    end = seen.application.eligible_at
    return end is not None and end > shown.now


def _on_resuming(shown: Board) -> str:
    """What follows when a paused job goes on, as far as this page of the waitlist shows it."""
    free, rows = shown.job.seats_free, shown.waitlist.rows
    if not free or not shown.job.waitlist_count:
        return "people can apply again"
    names = [s.application.name for s in rows if not _is_cooling(s, shown)][:free]
    is_front = bool(rows) and rows[0].position == 1
    if not names or not is_front or (len(names) < free and shown.waitlist.more):
        return "free seats go to the next in line"
    return f"{are_promoted(names[:2], len(names))} now"


def _pages(request: HttpRequest, shown: Board) -> dict[str, str]:
    """The addresses of the next and the first pages of both lists."""
    urls = {}
    if shown.seats.more:
        seat = place_of(shown.seats.rows[-1])
        kind = "pending" if seat.pending else "active"
        place = encode_cursor(kind, seat.moment, seat.id)
        urls["seats_next"] = url_with(request, seats=place) + "#seats"
    if "seats" in request.GET:
        urls["seats_first"] = url_with(request, seats=None) + "#seats"
    if shown.waitlist.more:
        last = shown.waitlist.rows[-1].application
        place = encode_cursor(last.ticket or 0, last.tie or 0)
        urls["waiting_next"] = url_with(request, waiting=place) + "#waitlist"
    if "waiting" in request.GET:
        urls["waiting_first"] = url_with(request, waiting=None) + "#waitlist"
    return urls
