"""Offers of free seats to the next in line, strictly in order."""

from __future__ import annotations

from typing import Any

from jobs.models import JobStatus
from pipeline.domain.states import PLANNED_SEATS, EventType, Status
from pipeline.line import sql
from pipeline.line.lock import attach_locked_row
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import promote
from pipeline.line.round_trips import fetch_in_one_trip
from pipeline.models import Event

# The most turns that one transaction passes for people who asked for it. Each is an event, and all
# other changes to the job wait meanwhile.
MOST_PASSES = 1_000


def fill_seats(job: LockedJob, *, cause_seq: int | None = None) -> None:
    """Offer every free seat of an open job to the first eligible people.

    Each promotion names as its cause the event that opened its seat, oldest first, or else
    `cause_seq`; also the plan, if the seat was planned. People who asked to pass this turn pass
    it; this event is the cause of the promotion into the same seat. If seats stay free because
    everyone who waits is in a cool-down or has deferred, the job becomes due when the first of
    these may end. Nobody is promoted before a draw, or in a sandbox with a full log.

    One transaction passes at most MOST_PASSES turns. If there are more, it stops there with the
    seat still free, and the job stays due: the next settlement goes on from the same place.
    """
    if job.status is not JobStatus.OPEN or job.is_full or job.awaits_draw:
        return
    if job.is_walk_unfinished:  # a second call of this transaction
        return
    if not job.seats_free or not job.people_waiting:
        return
    values: Any = {"job": job.id, "now": job.now, "head": job.head_ticket, "seats": job.seats_free}
    values["passes"] = MOST_PASSES - job.turns_passed + 1  # one more shows that there are more
    (rows,) = fetch_in_one_trip(sql.READ_NEXT_IN_LINE, parameters=values)
    if rows:
        promote_in_order(job, rows, cause_seq)
    if job.is_walk_unfinished:
        job.note_due(job.now)
    elif job.seats_free and job.people_waiting:
        held: Any = {"job": job.id, "now": job.now}
        (rows,) = fetch_in_one_trip(sql.READ_NEXT_HELD, parameters=held)
        ends = [end for (end,) in rows if end]
        ends += [
            person.held_until
            for person in job.changed.values()
            if person.status == Status.WAITLIST and person.held_until and person.is_verified
        ]
        if ends:
            job.note_due(min(ends))


def promote_in_order(job: LockedJob, rows: list[Any], cause_seq: int | None) -> None:
    """Offer the free seats to people in the order of `rows`."""
    planned = {
        entry.seq: {PLANNED_SEATS: entry.data[PLANNED_SEATS]}
        for entry in job.entries
        if PLANNED_SEATS in entry.data
    }
    last = 0
    for application in [attach_locked_row(job, row) for row in rows]:
        if not job.seats_free:
            break
        last = application.ticket or 0
        if application.pass_next and job.turns_passed >= MOST_PASSES:
            job.is_walk_unfinished = True
            break
        cause = job.freed_by.popleft() if job.freed_by else cause_seq
        facts = planned.get(cause or 0, {})
        if passed := promote(job, application, cause_seq=cause, facts=facts):
            job.turns_passed += 1
            job.freed_by.appendleft(passed.seq)
    # The next promotion searches from here. The last promoted ticket would be too late: people in a
    # cool-down, deferred, passing or unverified stay behind when later ones move on, and a miss can
    # give a ticket beyond the next newcomer's. People whom this change put back are not in the
    # rows yet.
    back = [each.ticket for each in job.changed.values() if each.status == Status.WAITLIST]
    bounds = [rows[0][-1], job.next_ticket, last, *back]
    job.head_ticket = min(bound for bound in bounds if bound is not None)


def left_walk_unfinished(job: LockedJob) -> bool:
    """Tell whether the change before this one may have stopped at its limit of turns.

    A job is due at or before its last event only then, because every change settles first.
    """
    if job.status is not JobStatus.OPEN or job.awaits_draw or not job.seats_free:
        return False
    return job.next_due_at is not None and job.next_due_at <= job.last_event_at


def take_up_walk(job: LockedJob) -> None:
    """Take up a walk that an earlier change left unfinished: its last pass opened the next seat."""
    passes = Event.objects.filter(
        job_id=job.id, event=EventType.PASSED, from_status=Status.WAITLIST
    ).order_by("-seq")
    last = passes.values_list("seq", flat=True).first()
    following = Event.objects.filter(job_id=job.id, seq=(last or 0) + 1)
    if last and not following.filter(cause_seq=last).exists():  # nobody has been offered that seat
        job.freed_by.append(last)
