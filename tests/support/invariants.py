"""The invariants of a line, checked on its rows and its log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from jobs.models import Job
from pipeline.audit.verify import verify_job
from pipeline.line import settle
from pipeline.line.event_log import GENESIS, chained_hash
from pipeline.models import Application, Event, PlannedSeats
from tests.support.clock import database_now

# Every whole number below this is exact in clients whose numbers are floating-point (JavaScript).
EXACT = 2**53


def assert_line_is_sound(
    job_id: UUID, *, most_seats: int | None = None, with_log: bool = True
) -> None:
    """Check everything that holds for a job's line at every commit.

    `most_seats`: how many may be held after a capacity was lowered; the capacity if not given.
    `with_log` false leaves out the log, whose checks take longer the longer it is.
    """
    job = Job.objects.get(id=job_id)
    people = list(Application.objects.filter(job_id=job_id).order_by("id"))
    plans = list(PlannedSeats.objects.filter(job_id=job_id))
    assert_rows_are_sound(job, people, plans, most_seats=most_seats)
    assert not seat_is_idle(job, people) or _walk_is_unfinished(job)
    if not with_log:
        return
    log = list(Event.objects.filter(job_id=job_id).order_by("seq"))
    _log_is_whole(job, log)
    _log_tells_each_change(log)
    verdict = verify_job(job_id)
    assert (verdict.chain, verdict.first_bad_seq) == ("ok", None)
    assert verdict.differences == []
    assert verdict.replay_matches
    assert (verdict.head_seq, verdict.head_hash) == (job.seq, bytes(job.chain_head).hex())


def assert_rows_are_sound(
    job: Job, people: list[Application], plans: list[PlannedSeats], *, most_seats: int | None
) -> None:
    """Check everything that holds for a line's rows at every commit, but for idle seats."""
    _counters_are_counts(job, people)
    _reserved_seats_are_for_members(job, people)
    _seats_are_within(max(most_seats or 0, job.capacity), people)
    _nobody_is_live_twice(people)
    _order_is_total(job, people)
    _hints_are_bounds(job, people, plans)


def _of(people: list[Application], *statuses: str) -> list[Application]:
    return [person for person in people if person.status in statuses]


def _counters_are_counts(job: Job, people: list[Application]) -> None:
    counted = Counter(person.status for person in people)
    assert (job.active_count, job.pending_count, job.waitlist_count) == (
        counted["ACTIVE"],
        counted["PENDING_ACKNOWLEDGMENT"],
        counted["WAITLIST"],
    )
    assert job.hired_count == sum(person.outcome == "HIRED" for person in people)
    assert job.positions_to_fill is None or job.hired_count <= job.positions_to_fill
    unverified = [person for person in people if person.verify_by is not None]
    assert job.unverified_count == len(_of(unverified, "WAITLIST"))
    assert not _of(unverified, "ACTIVE", "PENDING_ACKNOWLEDGMENT")


def _reserved_seats_are_for_members(job: Job, people: list[Application]) -> None:
    reserved = [person for person in people if person.reserved_seat]
    assert all(person.is_member for person in reserved)
    assert len(reserved) == job.reserved_count
    assert reserved == _of(reserved, "ACTIVE", "PENDING_ACKNOWLEDGMENT")


def _seats_are_within(seats: int, people: list[Application]) -> None:
    assert len(_of(people, "ACTIVE", "PENDING_ACKNOWLEDGMENT")) <= seats


def _nobody_is_live_twice(people: list[Application]) -> None:
    live = Counter(person.applicant_id for person in people if person.status != "INACTIVE")
    assert all(times == 1 for times in live.values()), live


def _order_is_total(job: Job, people: list[Application]) -> None:
    places = [(person.ticket, person.tie) for person in _of(people, "WAITLIST")]
    assert len(set(places)) == len(places)
    ties = [tie for _, tie in places]
    assert len(set(ties)) == len(ties)
    assert all(1 <= tie <= job.seq for tie in ties if tie is not None)
    clean = [p.ticket for p in _of(people, "WAITLIST") if not p.decay_count and p.ticket]
    # Who was offered a seat on applying drew no ticket; given back, the place is before the next.
    assert all(ticket <= job.next_ticket for ticket in clean)


def seat_is_idle(job: Job, people: list[Application]) -> bool:
    """Whether a seat is free that someone in line may take."""
    if job.status != "OPEN" or job.awaits_draw or job.hired_count == job.positions_to_fill:
        return False
    seated = _of(people, "ACTIVE", "PENDING_ACKNOWLEDGMENT")
    eligible = [
        person
        for person in _of(people, "WAITLIST")
        if person.verify_by is None
        and (person.held_until is None or person.held_until <= job.last_event_at)
    ]
    if len(seated) >= job.capacity:
        return False
    if not job.reserved_seats:
        return bool(eligible)
    reserved = sum(person.reserved_seat for person in seated)
    is_open = len(seated) - reserved < job.capacity - job.reserved_seats
    return bool(eligible) if is_open else any(person.is_member for person in eligible)


def _walk_is_unfinished(job: Job) -> bool:
    """Whether the last change passed as many turns as it may, and left the job due at once."""
    passed = Event.objects.filter(job_id=job.id, event="PASSED", from_status="WAITLIST")
    last = passed.order_by("-seq").first()
    if last is None or job.next_due_at is None:
        return False
    at = last.at - timedelta(seconds=job.clock_offset_seconds)
    made = passed.filter(at=last.at).count()
    due = job.next_due_at <= max(at, database_now() if job.is_test else at)
    return due and made >= settle.MOST_PASSES


def _log_is_whole(job: Job, log: list[Event]) -> None:
    assert [event.seq for event in log] == list(range(1, job.seq + 1))
    head = GENESIS
    at = log[0].at
    for event in log:
        assert bytes(event.prev_hash) == head
        head = chained_hash(head, event)
        assert bytes(event.hash) == head
        assert event.at >= at
        assert event.effective_at <= event.at
        assert event.cause_seq is None or event.cause_seq < event.seq
        assert all(abs(number) < EXACT for number in numbers_in(event.data)), event.data
        at = event.at
    assert bytes(job.chain_head) == head
    assert job.last_event_at == at


def numbers_in(data: Any) -> Iterator[int]:
    """Yield every number in decoded JSON. Raises TypeError for one that is not whole."""
    if isinstance(data, float):
        raise TypeError(f"{data} is not a whole number")
    if isinstance(data, int):
        yield data
    elif isinstance(data, dict | list):
        for part in data.values() if isinstance(data, dict) else data:
            yield from numbers_in(part)


def _log_tells_each_change(log: list[Event]) -> None:
    stands: dict[UUID, str | None] = {}
    for event in log:
        if event.application_id:
            assert event.from_status == stands.get(event.application_id)
            stands[event.application_id] = event.to_status


def _hints_are_bounds(job: Job, people: list[Application], plans: list[PlannedSeats]) -> None:
    tickets = [person.ticket for person in _of(people, "WAITLIST") if person.ticket is not None]
    assert job.head_ticket <= min([job.next_ticket, *tickets])
    due = _true_due(job, people, plans)
    if due and job.is_test:  # due by the database's clock, and at once if its time has passed
        due = max(due - timedelta(seconds=job.clock_offset_seconds), database_now())
    assert due is None or (job.next_due_at is not None and job.next_due_at <= due)


def _true_due(job: Job, people: list[Application], plans: list[PlannedSeats]) -> datetime | None:
    pending, waiting = _of(people, "PENDING_ACKNOWLEDGMENT"), _of(people, "WAITLIST")
    moments = [person.acknowledge_by for person in pending]
    if job.awaits_draw and job.status in ("OPEN", "PAUSED"):
        moments.append(job.draw_at)
    elif (
        job.status == "OPEN"
        and job.capacity > len(pending) + len(_of(people, "ACTIVE"))
        and job.hired_count != job.positions_to_fill
    ):
        at = job.last_event_at
        reserved = sum(person.reserved_seat for person in people)
        held = len(pending) + len(_of(people, "ACTIVE"))
        is_open = held - reserved < job.capacity - job.reserved_seats or not job.reserved_seats
        able = [p for p in waiting if p.verify_by is None and (is_open or p.is_member)]
        moments += [max(p.held_until or at, at) for p in able]
    moments += [person.verify_by for person in waiting]
    assert job.status != "CLOSED" or not plans
    for plan in plans:
        assert plan.done < plan.times
        assert plan.next_at == plan.time_of(plan.done) > job.last_event_at
    moments += [plan.next_at for plan in plans]
    moments += [job.opens_at] if job.status == "DRAFT" else [job.closes_at, job.reserved_until]
    if job.status == "CLOSED":  # everyone is closed out, whatever deadlines have passed
        moments = [job.last_event_at] if pending + waiting else []
    return min((moment for moment in moments if moment), default=None)
