"""Page of a job's line: its seats, the people who wait for one, and what happened lately."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from jobs.models import MAX_CAPACITY, Job, JobStatus
from pipeline.correspondence.threads import count_unread_of_job
from pipeline.domain.permissions import Action
from pipeline.form import answers
from pipeline.form.versions import published_form, read_draft
from pipeline.line.removed_logs import removal_time
from pipeline.pages import page_urls
from pipeline.pages.access import Member, for_members, own_job
from pipeline.pages.company import decisions, single_jobs
from pipeline.pages.company.consequences import (
    describe_added_seat,
    describe_opened_form,
    describe_resuming,
)
from pipeline.pages.company.jobs import REFRESH_SECONDS
from pipeline.pages.live_page import live_page
from pipeline.selectors.ageing import ReviewAge
from pipeline.selectors.applications import BEFORE_THE_FIRST, SeenApplication
from pipeline.selectors.board import (
    BOARD_MISSES_SPAN,
    Board,
    DecayWorkerStatus,
    SeatPlace,
    Trend,
    find_place,
    previous_page_place,
    read_board,
    read_decay_worker,
    seat_place,
)
from pipeline.selectors.jobs import recent_events, recent_misses
from pipeline.selectors.pages import encode_cursor
from pipeline.selectors.review import AwaitedDecision
from pipeline.wording.events import find_words
from pipeline.wording.language import number as in_digits
from pipeline.wording.status import Cause, describe_pending_draw, explain_promotion

MISSES_SHOWN, ACTIVITY_SHOWN = 5, 6
# Seats drawn before the others are folded, so that the line begins on the first screen; up to how
# many of them are drawn large; and free seats drawn one by one, of which the rest are only counted.
SLOTS_SHOWN, LARGE_SLOTS, IDLE_SHOWN = 8, 4, 6
PRESSING = 0.8  # from this share of the target on, a review is marked
# Why nobody is promoted is only said where the page does not show it.
TOLD = {
    Cause.CLOSING_OUT,
    Cause.WORKER_SILENT,
    Cause.SETTLING,
    Cause.PAUSED,
    Cause.DRAINING,
    Cause.UNVERIFIED,
    Cause.COOL_DOWNS,
}


@for_members()
def show(request: HttpRequest, job_id: UUID) -> HttpResponse:
    """Show a job's line; the page keeps itself up to date.

    `?place=` opens the page of the waitlist that begins with that position. An interviewer sees
    the people in seats alone.
    """
    member, job = own_job(request, job_id, Action.READ_APPLICATION)
    if not member.may(Action.READ_JOB):
        return single_jobs.show_seats(request, job, member)
    wanted = request.GET.get("place", "")
    if wanted.isdecimal() and len(wanted) < 10:
        start = find_place(job_id, min(int(wanted), job.people_waiting))
        place = encode_cursor(*start)
        return redirect(page_urls.change_query(request, place=None, waiting=place) + "#waitlist")
    worker = read_decay_worker(job_id)
    # Besides the line, the page shows whether the worker is late, and counts of past hours.
    overdue = job.next_due_at is not None and job.next_due_at <= worker.now
    period = int(worker.now.timestamp()) // REFRESH_SECONDS
    status = (worker.alive, overdue, worker.decisions, worker.form_revision)
    unread = count_unread_of_job(job_id)
    return live_page(
        request,
        "company/board.html",
        "company/_board.html",
        build=lambda: _context(request, member, job_id, worker) | {"unread_messages": unread},
        tag=f"{job.seq}-{job.posting.version}-{status}-{period}-{unread}",
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
    notices = decisions.read_notices(job_id, member) if worker.decisions else {"awaited": {}}
    is_closed = shown.job.status == JobStatus.CLOSED
    may = _permitted_buttons(member, shown.job)
    form = published_form(shown.job) if worker.form_revision is None else read_draft(shown.job)
    return {
        "member": member,
        "job": shown.job,
        "is_closed": is_closed,
        "public_link": request.build_absolute_uri(reverse("opening", args=[job_id])),
        "tab": "board",
        "board": shown,
        "now": shown.now,
        "may": may,
        "most_seats": MAX_CAPACITY,
        "more_seats": describe_added_seat(shown.job, shown.next_names),
        "draft": form,
        "asked_on_opening": describe_opened_form(form),
        "on_resuming": describe_resuming(shown.job, shown.next_names),
        "owner_could": not is_closed
        and member.may(Action.EDIT_POSTING)
        and not member.may(Action.CHANGE_RULES),
        "log_removed_at": removal_time(shown.job),
        "summaries": answers.read_summaries(
            shown.job, [seen.application.id for seen in (*shown.seats.rows, *shown.waitlist.rows)]
        ),
        **notices,
        **_seats(request, shown, notices["awaited"]),
        **_waiting(request, shown),
        **_lately(shown),
        **_page_urls(request, shown),
    }


# A free seat that only people of the job's group can take, among the seats of a board.
RESERVED_SLOT = "reserved"


@dataclass(frozen=True, slots=True)
class Slot:
    """A seat with the person who holds it, and how much of the time there is they have used."""

    seen: SeenApplication
    age: ReviewAge | None
    share: float | None  # of the time to confirm, or of the review target; above 1 if overdue
    frees_at: datetime | None  # unless the decision on them is undone

    @classmethod
    def of(cls, seen: SeenApplication, decision: AwaitedDecision | None) -> Slot:
        """Build the seat of a person."""
        row, age = seen.application, seen.review_age
        share = age.share if age else None
        if row.acknowledge_by and row.promoted_at:
            share = (seen.now - row.promoted_at) / (row.acknowledge_by - row.promoted_at)
        return cls(seen, age, share, decision and decision.due_at)

    @property
    def is_pressing(self) -> bool:
        """Tell whether little of the time is left."""
        return self.seen.application.acknowledge_by is not None or (self.share or 0) >= PRESSING


def _seats(
    request: HttpRequest, shown: Board, awaited: Mapping[UUID, AwaitedDecision]
) -> dict[str, Any]:
    """Return the seats, taken ones first; those after the first few are folded."""
    job = shown.job
    is_cut = shown.seats.more or job.status == JobStatus.CLOSED
    idle, reserved = (0, 0) if is_cut else (job.seats_free, job.reserved_seats_free)
    slots: list[Slot | str | None] = [
        Slot.of(seen, awaited.get(seen.application.id)) for seen in shown.seats.rows
    ]
    slots += [None] * min(idle, IDLE_SHOWN)
    slots += [RESERVED_SLOT] * min(reserved, IDLE_SHOWN)
    most = len(slots) if "seats" in request.GET else SLOTS_SHOWN
    people = [slot for slot in slots if isinstance(slot, Slot)]
    in_review = [slot for slot in people if slot.seen.review_since and not slot.frees_at]
    held = job.active_count + job.pending_count
    return {
        "slots": slots[:most],
        "folded": slots[most:],
        "is_compact": len(slots) > LARGE_SLOTS,
        "idle_more": max(0, idle - IDLE_SHOWN) + max(0, reserved - IDLE_SHOWN),
        "seats_over": max(0, held - job.capacity),
        "review_next": in_review[0].seen.application.id if in_review else None,
    }


def _waiting(request: HttpRequest, shown: Board) -> dict[str, Any]:
    """Return what marks the people on the shown page of the waitlist, and their places."""
    held = {name: _held_people(shown, column) for name, column in RUNNING_ON_BOARD.items()}
    rows = shown.waitlist.rows
    places = [seen.position for seen in rows if seen.position]
    is_paged = shown.waitlist.more or "waiting" in request.GET
    stays = held["cooling"] | held["deferring"]
    may_go = (
        seen.application.id
        for seen in rows
        if seen.position and not seen.application.pass_next and seen.application.id not in stays
    )
    return {
        **held,
        "next_in_line": None if "waiting" in request.GET else next(may_go, None),
        "is_paged": is_paged,
        "waiting_words": _describe_waiting(shown.job, places if is_paged else []),
    }


def _describe_waiting(job: Job, places: Sequence[int]) -> str:
    """Say how many people wait, and which of them are shown; no `places`: all."""
    if not job.people_waiting and not job.unverified_count:
        return pgettext("people waiting", "nobody")
    number = job.people_waiting
    if job.unverified_count and places:
        words = ngettext(
            "%(people)s person and %(unverified)s not verified, %(first)s to %(last)s shown",
            "%(people)s people and %(unverified)s not verified, %(first)s to %(last)s shown",
            number,
        )
    elif job.unverified_count:
        words = ngettext(
            "%(people)s person and %(unverified)s not verified",
            "%(people)s people and %(unverified)s not verified",
            number,
        )
    elif places:
        words = ngettext(
            "%(people)s person, %(first)s to %(last)s shown",
            "%(people)s people, %(first)s to %(last)s shown",
            number,
        )
    else:
        words = ngettext("%(people)s person", "%(people)s people", number)
    numbers = {"people": number, "unverified": job.unverified_count}
    if places:
        numbers |= {"first": places[0], "last": places[-1]}
    return words % {name: in_digits(each) for name, each in numbers.items()}


def _lately(shown: Board) -> dict[str, Any]:
    """Return what happened in the line, and what is wrong in it, in at most two queries."""
    answer = explain_promotion(shown.facts)
    if shown.job.awaits_draw and shown.job.draw_at and shown.job.status == JobStatus.OPEN:
        answer = describe_pending_draw(shown.facts, shown.job.draw_at)
    trend = shown.trend
    return {
        "answer": answer if answer.cause in TOLD or answer.tone == "bad" else None,
        "sparkline": trend.waiting if trend and len(set(trend.waiting)) > 1 else None,
        "is_young": (is_young := trend is not None and trend.since == shown.job.created_at),
        "trend_words": _describe_trend(trend, is_young=is_young) if trend else "",
        "latest": [
            (event, name, find_words(event))
            for event, name in recent_events(shown.job.id, limit=ACTIVITY_SHOWN)
        ],
        "misses": (
            recent_misses(shown.job.id, BOARD_MISSES_SPAN, limit=MISSES_SHOWN)
            if shown.activity.misses
            else []
        ),
    }


def _describe_trend(trend: Trend, *, is_young: bool) -> str:
    change = trend.waiting[-1] - trend.waiting[0]
    if not change:
        return _("waiting")
    more, fewer = (
        _("waiting, %(number)s more than last week"),
        _("waiting, %(number)s fewer than last week"),
    )
    if is_young:
        more, fewer = (
            _("waiting, %(number)s more than at the start"),
            _("waiting, %(number)s fewer than at the start"),
        )
    return (more if change > 0 else fewer) % {"number": in_digits(abs(change))}


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
