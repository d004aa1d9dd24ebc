"""Verification of a log: nothing changed, missing, inserted or reordered, and the rows agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet

from jobs.models import MAX_CAPACITY, Job, JobStatus
from jobs.policies import Policy, logged_policy_values
from pipeline.audit.log_fold import BadRow, LogFold
from pipeline.database import instants, replica, statement_time
from pipeline.database.instants import snapshot
from pipeline.database.replica import reads_replica
from pipeline.domain.errors import JobNotFound, LogReadersBusy, VerifierBusy
from pipeline.domain.place import PLACE
from pipeline.domain.states import (
    CLOSES_AT,
    HIRED,
    OPENS_AT,
    POSITIONS,
    ClaimState,
    Outcome,
    Status,
)
from pipeline.line import removed_logs
from pipeline.line.event_log import parse_logged_time
from pipeline.line.settle import MOST_SANDBOX_EVENTS
from pipeline.models import (
    Application,
    Contest,
    Event,
    GroupClaim,
    LineException,
    PlannedSeats,
)
from pipeline.models.reserved import claim_digest
from pipeline.selectors import past
from pipeline.selectors.past import PastPlace
from tasks.advisory_locks import HEAVY_READ_TURN, VERIFY_TURN

# Comparison of a job's live rows with the sum of its log.


COMPARED = [
    *("status", "outcome", *PLACE, "deadline_extended"),
    *("applied_at", "promoted_at", "acknowledged_at", "ended_at", "status_since"),
]


@dataclass(slots=True)
class LiveRows:
    """Rows of a job that its log must add up to."""

    job: Job
    applications: dict[UUID, Application]
    plans: list[PlannedSeats]
    contests: list[Contest]
    exceptions: list[LineException]
    claims: list[GroupClaim]


def reconcile(fold: LogFold, live: LiveRows) -> list[str]:
    """Return every difference as a sentence: in applications, counters, the job's row and hints."""
    job, rows = live.job, live.applications
    return [
        *_reconcile_applications(fold.places, rows),
        *_reconcile_job(fold, job, rows),
        *_reconcile_hints(live),
        *_reconcile_planned_seats(fold, live.plans),
        *fold.contests.differences(live.contests),
        *fold.exceptions.differences(live.exceptions),
        *_reconcile_claims(fold.reserve.digests, live),
    ]


# Rows that one statement reads, so that none holds a snapshot for long.
SLICE = 2_000


def read_live_rows(job: Job, applications: dict[UUID, Application]) -> LiveRows:
    """Complete the rows of a job, as of the current instant. `applications` are known already."""
    own = Application.objects.filter(job_id=job.id)
    if own.count() != len(applications):  # some are in no event
        ids = own.values_list("id", flat=True)
        read_applications(job.id, {each for each in ids if each not in applications}, applications)
    plans = PlannedSeats.objects.filter(job_id=job.id).order_by("id")
    contests = Contest.objects.filter(job_id=job.id).defer("text")
    exceptions = LineException.objects.filter(job_id=job.id).defer("text")
    claims = GroupClaim.objects.filter(job_id=job.id)
    return LiveRows(job, applications, list(plans), list(contests), list(exceptions), list(claims))


def read_applications(job_id: UUID, ids: Iterable[UUID], into: dict[UUID, Application]) -> None:
    """Read applications, in short statements. One that is gone is taken out."""
    remaining = iter(ids)
    while wanted := list(islice(remaining, SLICE)):
        for application_id in wanted:
            into.pop(application_id, None)
        rows = Application.objects.filter(job_id=job_id, id__in=wanted).defer("name")
        into.update((row.id, row) for row in rows)


def _reconcile_applications(
    places: dict[UUID, PastPlace], rows: dict[UUID, Application]
) -> Iterator[str]:
    for application_id in sorted(places.keys() | rows.keys()):
        place, row = places.get(application_id), rows.get(application_id)
        if place is None or row is None:
            where = "the rows" if place is None else "the log"
            yield f"application {application_id}: only in {where}"
            continue
        for name in COMPARED:
            logged, live = getattr(place, name), getattr(row, name)
            yield from _reconcile_values(f"application {application_id}: {name}", logged, live)


def _reconcile_job(fold: LogFold, job: Job, rows: dict[UUID, Application]) -> Iterator[str]:
    counted = Counter(row.status for row in rows.values())
    for status, counter in (
        (Status.ACTIVE, "active_count"),
        (Status.PENDING_ACKNOWLEDGMENT, "pending_count"),
        (Status.WAITLIST, "waitlist_count"),
    ):
        if counted[status] != getattr(job, counter):
            yield f"job: {counter} is {getattr(job, counter)}, its rows count {counted[status]}"
    unverified = sum(row.status == Status.WAITLIST and not row.is_verified for row in rows.values())
    yield from _reconcile_values("job: unverified_count", unverified, job.unverified_count)
    hired = sum(row.outcome == Outcome.HIRED for row in rows.values())
    if hired != job.hired_count:
        yield f"job: hired_count is {job.hired_count}, its rows count {hired}"
    logged: dict[str, Any] = {
        "status": fold.job["status"],
        "capacity": fold.job["capacity"],
        "policy_version": fold.policy_version,
        "next_ticket": fold.next_ticket,
        "last_event_at": fold.at,
        "opened_at": fold.opened_at,
        "closed_at": fold.closed_at,
        "draw_at": parse_logged_time(fold.job.get("draw_at")),
        "drawn_at": fold.draw.drawn_at,
        "positions_to_fill": fold.positions.to_fill,
        "hired_count": fold.positions.hired,
        "exception_count": len(fold.exceptions.logged),
        "reserved_seats": fold.reserve.seats,
        "reserved_for": fold.reserve.group,
        "reserved_until": fold.reserve.until,
        "reserved_count": len(fold.reserve.taken),
        "opens_at": fold.positions.opens_at,
        "closes_at": fold.positions.closes_at,
        "is_test": "clock_offset_seconds" in fold.job,
        "clock_offset_seconds": fold.job.get("clock_offset_seconds", 0),
        **logged_policy_values(fold.job["policy"]),
    }
    for name, value in logged.items():
        yield from _reconcile_values(f"job: {name}", value, getattr(job, name))


def _reconcile_hints(live: LiveRows) -> Iterator[str]:
    job, rows = live.job, live.applications
    waiting = [row for row in rows.values() if row.status == Status.WAITLIST]
    lowest = min([job.next_ticket, *(row.ticket or 0 for row in waiting)])
    if job.head_ticket > lowest:
        yield f"job: head_ticket is {job.head_ticket}, more than the lowest ticket {lowest}"
    moments = [row.acknowledge_by for row in rows.values() if row.acknowledge_by]
    moments += [row.verify_by for row in waiting if row.verify_by]
    if job.status == JobStatus.CLOSED:  # everyone is closed out at once, whatever their deadline
        moments = [job.last_event_at] if moments or waiting else []
    else:
        moments += [plan.next_at for plan in live.plans]
        is_draft = job.status == JobStatus.DRAFT
        dates = [job.opens_at] if is_draft else [job.closes_at, job.reserved_until]
        moments += [date for date in dates if date]
    if job.draw_at and job.awaits_draw and job.status in (JobStatus.OPEN, JobStatus.PAUSED):
        moments.append(job.draw_at)
    elif job.status == JobStatus.OPEN and job.unheld_seats:
        # A seat stays free although someone may take it only while passes are left to be made; then
        # the job is due at once.
        last = job.last_event_at
        able = [row for row in waiting if job.seats_free or row.is_member]
        moments += [max(row.held_until or last, last) for row in able if row.is_verified]
    due = min(moments, default=None)
    if job.is_test and due is not None:
        if job.seq >= MOST_SANDBOX_EVENTS:  # nothing happens in it any more
            return
        # While it is being settled up to a clock that was moved, it is due from the present on.
        due = max(due - timedelta(seconds=job.clock_offset_seconds), instants.now())
    if due is not None and (job.next_due_at is None or job.next_due_at > due):
        yield f"job: next_due_at is {job.next_due_at}, later than {due}"


def _reconcile_claims(digests: dict[UUID, str], live: LiveRows) -> Iterator[str]:
    """Compare statements of belonging with the digests in the log, and with who counts as a member.

    A statement is deleted with the person's data; nothing then opens its digest.
    """
    confirmed = set()
    for claim in live.claims:
        if claim.state != ClaimState.STATED:
            what = f"application {claim.application_id}: statement of belonging"
            logged = digests.get(claim.application_id)
            yield from _reconcile_values(what, logged, claim_digest(claim))
        if claim.state == ClaimState.CONFIRMED:
            confirmed.add(claim.application_id)
    members = {row.id for row in live.applications.values() if row.is_member}
    for application_id in sorted(members ^ confirmed):
        yield f"application {application_id}: is_member is not what its statement says"


def _reconcile_planned_seats(fold: LogFold, plans: list[PlannedSeats]) -> Iterator[str]:
    """Compare each plan's row with its changes in the log.

    A change that the limits of a job's seats reduced to nothing has left no event; one that was
    skipped for reserved seats has.
    """
    for plan in plans:
        what = f"planned seats {plan.id}"
        yield from _reconcile_values(f"{what}: next_at", plan.time_of(plan.done), plan.next_at)
        times, changes = (
            {plan.time_of(n) for n in range(plan.done)},
            fold.planned.changes.get(plan.id, []),
        )
        for change in changes:
            expected = min(max(change.before + plan.seats, 1), MAX_CAPACITY)
            if change.effective_at not in times:
                yield f"{what}: seq {change.seq} changed seats when the plan does not, or not yet"
            elif change.after != expected:
                yield f"{what}: seq {change.seq} left {change.after} seats, by the plan {expected}"
        skipped = fold.planned.skipped.get(plan.id, [])
        for seq, effective_at, seats in skipped:
            if effective_at not in times or seats != plan.seats:
                yield f"{what}: seq {seq} skipped a change that the plan does not make, or not yet"
        limit = MAX_CAPACITY if plan.seats > 0 else 1
        if len(changes) + len(skipped) < plan.done and limit not in fold.planned.capacities:
            yield f"{what}: done is {plan.done}, the log has {len(changes)} changes by it"


def _reconcile_values(what: str, logged: object, live: object) -> Iterator[str]:
    if logged != live:
        yield f"{what} is {live}, the log says {logged}"


# Replay of a job's whole line, at any past moment, from its log alone. It uses the fold of
# `pipeline.selectors.past` without its limits, so it returns even a million people.


@dataclass(slots=True)
class Line:
    """A job's line after one event, each list in order."""

    job_id: UUID
    seq: int
    at: datetime
    status: str
    capacity: int
    policy: Policy
    policy_version: int
    awaits_draw: bool  # nobody has a position yet
    # The positions to fill, with the people hired if there is such a number, and the dates.
    positions_to_fill: int | None = None
    hired_count: int | None = None
    opens_at: datetime | None = None
    closes_at: datetime | None = None
    active: list[PastPlace] = field(default_factory=list)
    pending: list[PastPlace] = field(default_factory=list)
    waitlist: list[PastPlace] = field(default_factory=list)
    # The number of people before the next page of the waitlist; None on the last page.
    next_after: int | None = None


@reads_replica
def replay_one_page(
    job_id: UUID,
    *,
    seq: int | None = None,
    as_of: datetime | None = None,
    after: int = 0,
    limit: int,
) -> Line:
    """Return the same as `replay`, but only one page of the waitlist.

    The page has at most `limit` people after the first `after`. Only the first page includes the
    seats.
    """
    line = _replay_line(job_id, seq, as_of)
    places = past.read_stretch(job_id, line.seq, after=after, limit=limit + 1)
    waiting = [place for place in places if place.status is Status.WAITLIST]
    line.waitlist = waiting[:limit]
    if line.awaits_draw:
        for place in line.waitlist:
            place.position = None
    line.next_after = after + limit if len(waiting) > limit else None
    _add_replayed_seats(line, places)
    return line


@reads_replica
def replay(job_id: UUID, *, seq: int | None = None, as_of: datetime | None = None) -> Line:
    """Return the line after event `seq`, or at time `as_of`, or now.

    A change that commits right now may have been recorded before `as_of`, so the line at a time
    that has only just passed can still gain an event. The line after a `seq` never changes.

    Raises JobNotFound; NoSuchMoment before the job's first event; FutureMoment.
    """
    line = _replay_line(job_id, seq, as_of)
    places = past.read_places(job_id, line.seq)
    add_replayed_people(line, places)
    return line


def add_replayed_people(line: Line, places: Collection[PastPlace]) -> None:
    """Fill the lists of a whole line, each in its order, and set the positions."""
    _add_replayed_seats(line, places)
    line.waitlist = [place for place in places if place.status is Status.WAITLIST]
    line.waitlist.sort(key=lambda place: (place.ticket, place.tie))
    verified = [place for place in line.waitlist if place.is_verified and not line.awaits_draw]
    for position, place in enumerate(verified, start=1):
        place.position = position


def _replay_line(job_id: UUID, seq: int | None, as_of: datetime | None) -> Line:
    moment = past.read_state(job_id, seq=seq, as_of=as_of, shown=0)
    return Line(
        job_id=job_id,
        seq=moment.seq,
        at=moment.event.at,
        status=moment.job["status"],
        capacity=moment.job["capacity"],
        policy=Policy(**logged_policy_values(moment.job["policy"])),
        policy_version=moment.policy_version,
        awaits_draw=moment.awaits_draw,
        positions_to_fill=moment.job.get(POSITIONS),
        hired_count=moment.event.data.get(HIRED),
        opens_at=parse_logged_time(moment.job.get(OPENS_AT)),
        closes_at=parse_logged_time(moment.job.get(CLOSES_AT)),
    )


def _add_replayed_seats(line: Line, places: Iterable[PastPlace]) -> None:
    """Fill the lists of seats, each in its order."""
    seats = {Status.ACTIVE: line.active, Status.PENDING_ACKNOWLEDGMENT: line.pending}
    for place in places:
        if place.status in seats:
            seats[place.status].append(place)
    line.active.sort(key=lambda place: (place.status_since, place.application_id))
    line.pending.sort(key=lambda place: (place.acknowledge_by, place.application_id))


# Turns to read long logs: one read at a time per company, across all processes.


# Shorter logs need no turn.
LONG_LOG = 5_000
LONGEST_SECONDS = 5.0  # for one statement


@contextmanager
def heavy_read(company_id: UUID, *, events: int) -> Iterator[None]:
    """Run a read of a log of that many events. A long one gets a snapshot, a time limit and a turn.

    Raises LogReadersBusy if another read for the company has the turn.
    """
    if events <= LONG_LOG:
        yield
        return
    with replica.current_or_primary(), snapshot():
        claim_heavy_read(company_id)
        statement_time.limit(LONGEST_SECONDS)
        yield


def claim_heavy_read(company_id: UUID) -> None:
    """Take the company's turn until the transaction ends. Raises LogReadersBusy."""
    number = int.from_bytes(company_id.bytes[-4:], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [HEAVY_READ_TURN, number])
        if not cursor.fetchone()[0]:
            raise LogReadersBusy


MOST_DIFFERENCES = 100
# Limit of logs verified at once with `in_turn`, across all processes.
TURNS = 2


@dataclass(slots=True)
class Verdict:
    """Result of verifying a job's log. `differences` are sentences, earliest first.

    `known` tells whether the noted hash is that of the noted seq; None without a note.
    """

    chain: str
    first_bad_seq: int | None
    head_seq: int
    head_hash: str
    differences: list[str] = field(default_factory=list)
    known: bool | None = None

    @property
    def replay_matches(self) -> bool:
        """Tell whether the live rows equal the sum of the log."""
        return not self.differences

    @property
    def is_sound(self) -> bool:
        """Tell whether the chain is intact and the rows agree."""
        return self.chain == "ok" and self.replay_matches


@reads_replica
def verify_job(
    job_id: UUID, *, noted: tuple[int, str] | None = None, in_turn: bool = False
) -> Verdict:
    """Check a job's whole chain, then compare its live rows with the sum of the log.

    `noted`: a seq and the hash (hex) that a reader noted earlier. Nothing is blocked, and no
    snapshot is held for long: see `_read_ahead`. The end of the log, the job's row and the live
    rows that it touched last are read as of one instant. With `in_turn`, at most TURNS
    verifications run at once across all processes; more raise VerifierBusy. Only one of a company's
    long logs is verified at a time; more raise LogReadersBusy. Raises JobNotFound, LogArchived.
    """
    job = _job_with_log(job_id)
    fold, verdict = LogFold(job_id), Verdict("ok", None, 0, "")
    try:
        with _turn_to_verify(job) if in_turn else nullcontext():
            applications = _read_ahead(fold)
        with snapshot():
            job = _job_with_log(job_id)
            tail = list(_events_after(fold))
            read_applications(job_id, _applications_in(tail), applications)
            live = read_live_rows(job, applications)
        _fold_to_end(fold, tail, job)
        verdict.differences = reconcile(fold, live)[:MOST_DIFFERENCES]
    except BadRow as bad:
        verdict.chain, verdict.first_bad_seq = "broken", bad.seq
        verdict.differences = [f"seq {bad.seq}: {bad}"]
    verdict.head_seq, verdict.head_hash = job.seq, bytes(job.chain_head).hex()
    if noted:
        seq, digest = noted
        rows = Event.objects.filter(job_id=job_id, seq=seq).values_list("hash", flat=True)
        row = rows.first()
        verdict.known = row is not None and bytes(row).hex() == digest.lower()
    return verdict


def _job_with_log(job_id: UUID) -> Job:
    """Return a job's row. Raises JobNotFound, LogArchived."""
    job = Job.objects.filter(id=job_id).first()
    if job is None:
        raise JobNotFound
    if not Event.objects.filter(job_id=job_id).exists():
        removed_logs.refuse(job_id)
    return job


@contextmanager
def _turn_to_verify(job: Job) -> Iterator[None]:
    """Hold a turn in a transaction, which has no snapshot between its statements."""
    with transaction.atomic(durable=True):
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ ONLY")
        _claim_verification()
        if job.seq > LONG_LOG:
            claim_heavy_read(job.company_id)
        yield


def _claim_verification() -> None:
    with connection.cursor() as cursor:
        for turn in range(TURNS):
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", [VERIFY_TURN, turn])
            if cursor.fetchone()[0]:
                return
    raise VerifierBusy


# After this number of rounds, the rest is read at once, however much there is.
MOST_ROUNDS = 100


def _read_ahead(fold: LogFold) -> dict[UUID, Application]:
    """Fold the log and read the applications in it, each in short statements. Raises BadRow.

    Rows of a log never change, and every change of an application leaves an event. So it is enough
    to read those again that later events name, until few are left for the last instant.
    """
    applications: dict[UUID, Application] = {}
    for _ in range(MOST_ROUNDS):
        named: set[UUID] = set()
        is_more = True
        while is_more:
            events = list(_events_after(fold)[:SLICE])
            for event in events:
                fold.fold_event(event)
            named |= _applications_in(events)
            is_more = len(events) == SLICE
        read_applications(fold.job_id, named, applications)
        if len(named) < SLICE:
            break
    return applications


def _events_after(fold: LogFold) -> QuerySet[Event]:
    return Event.objects.filter(job_id=fold.job_id, seq__gt=fold.seq).order_by("seq")


def _applications_in(events: Iterable[Event]) -> set[UUID]:
    return {event.application_id for event in events if event.application_id}


def _fold_to_end(fold: LogFold, tail: list[Event], job: Job) -> None:
    """Fold the rest and compare its end with the job's seq and chain head. Raises BadRow."""
    for event in tail:
        fold.fold_event(event)
    if not fold.seq:
        raise BadRow(1, "the log is empty; it must start with JOB_CREATED")
    if fold.seq != job.seq:
        first_missing = min(fold.seq, job.seq) + 1
        raise BadRow(first_missing, f"the log ends at {fold.seq}, the job's row at {job.seq}")
    if fold.head != bytes(job.chain_head):
        raise BadRow(job.seq, "the job's row holds another chain head")
    fold.refuse_unfinished()
