"""Page of a job's pipeline: seats, waitlist, and the reason why nobody is being promoted."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from jobs.models import Job, JobStatus
from pipeline.domain.permissions import Action
from pipeline.pages.access import Member, for_members, own_job
from pipeline.pages.company.consequences import consequence_are_promoted
from pipeline.pages.company.jobs import REFRESH_SECONDS
from pipeline.pages.company.seat_bar import SeatBar
from pipeline.pages.live_page import live_page
from pipeline.pages.page_urls import page_place_in_url, page_url_with
from pipeline.selectors.applications import BEFORE_THE_FIRST
from pipeline.selectors.board import (
    Board,
    SeatPlace,
    board_place_of,
    read_board,
    read_decay_worker_for_board,
)
from pipeline.selectors.cursors import encode_cursor
from pipeline.wording.promotion_status import why_nobody_is_promoted

IDLE_SHOWN = 6  # free seats drawn one by one; the rest are only counted
ANSWER_ICONS = {"good": "check-circle", "bad": "exclamation-triangle", "warn": "hand-raised"}


@for_members()
def board(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show a job's pipeline; the page keeps itself up to date."""
    member, job = own_job(request, job_id)
    worker = read_decay_worker_for_board()
    # Besides the line, the page shows whether the worker is late, and counts of past hours.
    overdue = job.next_due_at is not None and job.next_due_at <= worker.now
    period = int(worker.now.timestamp()) // REFRESH_SECONDS
    return live_page(
        request,
        "company/board.html",
        "company/_board.html",
        build=lambda: _board_context(request, member, job_id),
        tag=f"{job.seq}-{job.posting.version}-{(worker.alive, overdue)}-{period}",
        jobs=[job_id],
    )


def _board_context(request: HttpRequest, member: Member, job_id: UUID) -> dict[str, Any]:
    seat = page_place_in_url(request, "seats", str, datetime, UUID)
    shown = read_board(
        job_id,
        seats_after=SeatPlace(seat[0] == "pending", *seat[1:]) if seat else None,
        waiting_after=page_place_in_url(request, "waiting", int, int) or BEFORE_THE_FIRST,
    )
    answer, last_promotion = why_nobody_is_promoted(shown.facts), shown.activity.last_promotion
    urls, rows = _board_page_urls(request, shown), shown.waitlist.rows
    is_paged = "waiting_next" in urls or "waiting_first" in urls
    is_closed = shown.job.status == JobStatus.CLOSED
    idle = 0 if shown.seats.more or is_closed else shown.job.seats_free
    return {
        "member": member,
        "job": shown.job,
        "is_closed": is_closed,
        "tab": "board",
        "board": shown,
        "now": shown.now,
        "bar": SeatBar.of(shown.job),
        "answer": answer,
        "answer_icon": ANSWER_ICONS.get(answer.tone, "clock"),
        "last_promotion": last_promotion if answer.cause != "MOVING" else None,
        "idle_shown": range(min(idle, IDLE_SHOWN)),
        "idle_more": max(0, idle - IDLE_SHOWN),
        "may": _permitted_board_buttons(member, shown.job),
        "cooling": {
            s.application.id for s in shown.waitlist.rows if _is_cooling_on_board(s, shown)
        },
        "on_resuming": _resuming_on_board(shown),
        "owner_could": not is_closed
        and member.may(Action.EDIT_POSTING)
        and not member.may(Action.CHANGE_RULES),
        "shown_places": rows and is_paged and f"{rows[0].position:,} to {rows[-1].position:,}",
        **urls,
    }


def _permitted_board_buttons(member: Member, job: Job) -> dict[str, bool]:
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


def _is_cooling_on_board(seen: Any, shown: Board) -> bool:
    end = seen.application.eligible_at
    return end is not None and end > shown.now


def _resuming_on_board(shown: Board) -> str:
    """Describe what follows when a paused job resumes, as far as this page's waitlist shows it."""
    free, rows = shown.job.seats_free, shown.waitlist.rows
    if not free or not shown.job.people_waiting:
        return "people can apply again"
    eligible = [s for s in rows if s.application.is_verified and not _is_cooling_on_board(s, shown)]
    names = [seen.application.name for seen in eligible[:free]]
    is_front = bool(rows) and next((s.position for s in rows if s.position), 1) == 1
    if not names or not is_front or (len(names) < free and shown.waitlist.more):
        return "free seats go to the next in line"
    return f"{consequence_are_promoted(names[:2], len(names))} at once"


def _board_page_urls(request: HttpRequest, shown: Board) -> dict[str, str]:
    """Return the URLs of the next and the first page of both lists."""
    urls = {}
    if shown.seats.more:
        seat = board_place_of(shown.seats.rows[-1])
        place = encode_cursor("pending" if seat.pending else "active", seat.moment, seat.id)
        urls["seats_next"] = page_url_with(request, seats=place) + "#seats"
    if "seats" in request.GET:
        urls["seats_first"] = page_url_with(request, seats=None) + "#seats"
    if shown.waitlist.more:
        last = shown.waitlist.rows[-1].application
        place = encode_cursor(last.ticket or 0, last.tie or 0)
        urls["waiting_next"] = page_url_with(request, waiting=place) + "#waitlist"
    if "waiting" in request.GET:
        urls["waiting_first"] = page_url_with(request, waiting=None) + "#waitlist"
    return urls
