"""Sources of the rows and the log of a line: in the database under the lock, or in memory.

The decisions about a line (`pipeline.line.settle`, `pipeline.line.admission`) ask a source and
nothing else, so the same rules run on both. A what-if runs them in memory.
"""

from __future__ import annotations

import logging
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import MISSING, fields
from datetime import datetime
from itertools import islice, takewhile
from operator import attrgetter
from typing import Any
from uuid import UUID

from uuid_utils.compat import uuid7

from jobs import activity
from jobs.models import JobStatus
from jobs.policies import Policy
from pipeline.domain.states import Actor, EventType, Status
from pipeline.line.event_log import GENESIS, LogEntry
from pipeline.line.locked_job import Due, Front, LockedJob, Next
from pipeline.line.misses import DECIDED, LastMiss, read_last_miss, read_waiting_place
from pipeline.line.sql import (
    APPLICATION,
    APPLICATION_COLUMNS,
    TIME_ZONE,
    count_people_ahead,
)
from pipeline.line.write import PUBLISH_FORM, write_to_database
from pipeline.models import Application, ApplicationRow, Event, PlannedSeats
from tasks.sql.prepared import PreparedStatement, Row, run_statements

security = logging.getLogger("security")

_WIDTH = len(APPLICATION)

_APPLICATION = f"SELECT {APPLICATION_COLUMNS}, {TIME_ZONE} FROM pipeline_application"

# An application, if it is one to a job. The job's key is compared by an expression: where most
# lines are short, PostgreSQL would go by an index of the whole line.
READ_APPLICATION_TO = PreparedStatement(
    f"{_APPLICATION} WHERE id = %(application)s AND (job_id = %(job)s) IS TRUE"
)

# Overdue applications, offered or unverified, in the order in which they are settled.
READ_DUE = PreparedStatement(f"""
SELECT * FROM (
    SELECT {APPLICATION_COLUMNS} FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'PENDING_ACKNOWLEDGMENT' AND acknowledge_by <= %(now)s
    UNION ALL
    SELECT {APPLICATION_COLUMNS} FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND verify_by <= %(now)s
) overdue ORDER BY coalesce(acknowledge_by, verify_by), id
""")

# The next deadline to acknowledge or to verify, or time of planned seats.
READ_NEXT_DEADLINE = PreparedStatement("""
SELECT least((
    SELECT min(acknowledge_by) FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'PENDING_ACKNOWLEDGMENT' AND acknowledge_by > %(now)s
), (
    SELECT min(verify_by) FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND verify_by > %(now)s
), (
    SELECT min(next_at) FROM pipeline_plannedseats
    WHERE job_id = %(job)s AND next_at > %(now)s
))
""")

PLANNED: list[str] = [field.attname for field in PlannedSeats._meta.concrete_fields]

# Planned changes of the number of seats whose time has come.
READ_DUE_SEATS = PreparedStatement(f"""
SELECT {", ".join(PLANNED)} FROM pipeline_plannedseats
WHERE job_id = %(job)s AND next_at <= %(now)s ORDER BY next_at, id
""")

_eligible = """(eligible_at IS NULL OR eligible_at <= %(now)s)
      AND (not_before IS NULL OR not_before <= %(now)s) AND verify_by IS NULL"""

# The first eligible people in line, and at most `passes` among them who pass their turn and take no
# seat; their time zones, and the first ticket that was skipped.
_NEXT_IN_LINE = f"""
WITH taking AS MATERIALIZED (
    SELECT {APPLICATION_COLUMNS} FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND ticket >= %(head)s
      AND {_eligible}{{which}} AND NOT pass_next
    ORDER BY ticket, tie LIMIT %(seats)s
), next AS MATERIALIZED (SELECT {APPLICATION_COLUMNS} FROM taking UNION ALL (
    SELECT {APPLICATION_COLUMNS} FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND {_eligible}{{which}} AND pass_next
      AND ticket BETWEEN %(head)s AND (
          SELECT CASE WHEN count(*) < %(seats)s THEN {2**63 - 1} ELSE max(ticket) END FROM taking)
    ORDER BY ticket, tie LIMIT %(passes)s))
SELECT {APPLICATION_COLUMNS}, {TIME_ZONE}, (
    SELECT min(ticket) FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST'
      AND (eligible_at > %(now)s OR not_before > %(now)s OR verify_by IS NOT NULL)
      AND ticket >= %(head)s AND ticket < (SELECT max(ticket) FROM next)
) FROM next ORDER BY ticket, tie
"""
READ_NEXT_IN_LINE = PreparedStatement(_NEXT_IN_LINE.format(which=""))
# The same for people of the job's group.
READ_NEXT_MEMBERS = PreparedStatement(_NEXT_IN_LINE.format(which=" AND is_member"))

# The earliest end of a cool-down or a deferral among verified people in line. Someone can be in
# both, so nobody may be eligible at that time; the next settlement then finds the later end.
READ_NEXT_HELD = PreparedStatement("""
SELECT least((
    SELECT min(eligible_at) FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND eligible_at > %(now)s
      AND verify_by IS NULL
), (
    SELECT min(not_before) FROM pipeline_application
    WHERE job_id = %(job)s AND status = 'WAITLIST' AND not_before > %(now)s
))
""")

# People with an offered seat, by deadline.
READ_PENDING = PreparedStatement(f"""
SELECT {APPLICATION_COLUMNS} FROM pipeline_application
WHERE job_id = %(job)s AND status = 'PENDING_ACKNOWLEDGMENT'
ORDER BY acknowledge_by, id LIMIT %(most)s
""")

# People on the waitlist, in order, eligible or not.
READ_WAITING = PreparedStatement(f"""
SELECT {APPLICATION_COLUMNS} FROM pipeline_application
WHERE job_id = %(job)s AND status = 'WAITLIST' AND ticket >= %(head)s
ORDER BY ticket, tie LIMIT %(most)s
""")

# Everyone on the waitlist.
READ_ALL_WAITING = PreparedStatement(f"""
SELECT {APPLICATION_COLUMNS} FROM pipeline_application
WHERE job_id = %(job)s AND status = 'WAITLIST'
""")

# The first ticket of the waitlist, eligible or not, and the verified people ahead of a place.
READ_FRONT = PreparedStatement(f"""
SELECT (SELECT min(ticket) FROM pipeline_application
        WHERE job_id = %(job)s AND status = 'WAITLIST' AND ticket >= job.head_ticket),
       {count_people_ahead("%(ticket)s::bigint", "%(tie)s::bigint")}
FROM jobs_job job WHERE job.id = %(job)s
""")


def attach_locked_row(job: LockedJob, row: Row) -> Application:
    """Attach an application from a row of `APPLICATION` followed by its person's time zone."""
    return job.attach(_application(row[:_WIDTH]), row[_WIDTH])


def _earliest(*moments: datetime | None) -> datetime | None:
    return min((at for at in moments if at), default=None)


def _application(row: Row) -> Application:
    """Make an application from a row of `APPLICATION`."""
    return Application.from_db("default", APPLICATION, row)


class Database:
    """The database, under the lock of the job."""

    def application(self, job: LockedJob, id: UUID) -> tuple[Application, str] | None:
        row = READ_APPLICATION_TO.first(application=id, job=job.id)
        return (_application(row[:_WIDTH]), row[_WIDTH]) if row else None

    def due(self, job: LockedJob) -> Due:
        moment = {"job": job.id, "now": job.now}
        rows, ((next_at,),), planned = run_statements(
            [READ_DUE, READ_NEXT_DEADLINE, READ_DUE_SEATS], moment
        )
        plans = [PlannedSeats.from_db("default", PLANNED, row) for row in planned]
        next_at = _earliest(next_at, job.next_date(job.now))
        return Due([_application(row) for row in rows], plans, next_at)

    def next_in_line(self, job: LockedJob, *, passes: int) -> Next:
        values: Any = {"job": job.id, "now": job.now, "head": job.head_ticket}
        values |= {"seats": job.unheld_seats, "passes": passes}
        rows = READ_NEXT_IN_LINE.all(**values)
        people = [(_application(row[:_WIDTH]), row[_WIDTH]) for row in rows]
        return Next(people, rows[0][-1] if rows else None)

    def next_members(self, job: LockedJob, *, passes: int) -> list[tuple[Application, str]]:
        values: Any = {"job": job.id, "now": job.now, "head": job.head_ticket}
        values |= {"seats": job.reserved_seats_free, "passes": passes}
        rows = READ_NEXT_MEMBERS.all(**values)
        return [(_application(row[:_WIDTH]), row[_WIDTH]) for row in rows]

    def next_held(self, job: LockedJob) -> datetime | None:
        ((at,),) = READ_NEXT_HELD.all(job=job.id, now=job.now)
        return at  # type: ignore[no-any-return]

    def next_instant(self, job: LockedJob) -> datetime | None:
        since = {"job": job.id, "now": job.last_event_at}
        found = run_statements([READ_NEXT_DEADLINE, READ_NEXT_HELD], since)
        return _earliest(*(at for ((at,),) in found), job.next_date(job.last_event_at))

    def waiting(self, job: LockedJob) -> list[Application]:
        return [_application(row) for row in READ_ALL_WAITING.all(job=job.id)]

    def left_open(self, job: LockedJob, *, most: int) -> tuple[int, list[Application]]:
        own = Event.objects.filter(job_id=job.id, application_id=None)
        closing = own.filter(event=EventType.JOB_CLOSED).values_list("seq", flat=True).get()
        line: Any = {"job": job.id, "head": job.head_ticket}
        rows = READ_PENDING.all(**line, most=most)
        rows += READ_WAITING.all(**line, most=most - len(rows))
        return closing, [_application(row) for row in rows]

    def unanswered_pass(self, job: LockedJob) -> int | None:
        passes = Event.objects.filter(
            job_id=job.id, event=EventType.PASSED, from_status=Status.WAITLIST
        ).order_by("-seq")
        last = passes.values_list("seq", flat=True).first()
        following = Event.objects.filter(job_id=job.id, seq=(last or 0) + 1)
        return None if following.filter(cause_seq=last).exists() else last

    def last_miss(self, application: Application) -> LastMiss:
        return read_last_miss(application)

    def place_before_offer(self, application: Application) -> tuple[int, int]:
        return read_waiting_place(application)

    def front(self, job: LockedJob, application: Application) -> Front:
        place = {"ticket": application.ticket, "tie": application.tie}
        return Front(*READ_FRONT.all(job=job.id, **place)[0])

    def drop_plans(self, job: LockedJob) -> None:
        PlannedSeats.objects.filter(job_id=job.id).delete()

    def put_plan(self, plan: PlannedSeats) -> None:
        if plan.times_left:
            plan.save(update_fields=["done", "next_at"])
        else:
            plan.delete()

    def publish_form(self, job: LockedJob, *, actor: Actor) -> None:
        line = {"job": job.id, "current": job.form_version}
        if row := PUBLISH_FORM.first(**line, id=uuid7(), by=actor.id):
            (job.form_version,) = row
            ids = {"company": job.company_id, "job": job.id, "actor": actor.id}
            told = {name: str(value) for name, value in ids.items()}
            security.info("form.published", extra=told | {"form_version": str(job.form_version)})

    def note_activity(self, kind: activity.Kind, **about: Any) -> None:
        activity.note(kind, **about)

    def write(self, job: LockedJob, *, commit: bool) -> None:
        write_to_database(job, commit=commit)


DATABASE = Database()


_row_of = attrgetter(*ApplicationRow._fields)
# The fields of a job that a change leaves to the next; the others are of one change.
_HOT = [
    each.name
    for each in fields(LockedJob)
    if each.default is MISSING and each.default_factory is MISSING
]
_hot_of = attrgetter(*_HOT)


class Memory:
    """A line that is in no database: its rows, its plans and its log. Pure.

    `job` is the job as it was last written; `lock` begins the next change. `looks` counts how many
    people in line were looked at.
    """

    def __init__(self) -> None:
        self.job: LockedJob | None = None
        self.rows: dict[UUID, ApplicationRow] = {}
        self.zones: dict[UUID, str] = {}
        self.plans: list[PlannedSeats] = []
        self.log: list[LogEntry] = []
        self.looks = 0
        self._log_of: defaultdict[UUID | None, list[LogEntry]] = defaultdict(list)
        self._applications_of: defaultdict[UUID, set[UUID]] = defaultdict(set)
        # Sorted: the waitlist by place, those of it who pass or are of the job's group, deadlines,
        # and the ends of cool-downs and deferrals.
        self._waiting: list[tuple[int, int, UUID]] = []
        self._passing: list[tuple[int, int, UUID]] = []
        self._members: list[tuple[int, int, UUID]] = []
        self._deadlines: list[tuple[datetime, UUID]] = []
        self._ends: list[tuple[datetime, UUID]] = []

    def create(
        self, now: datetime, *, capacity: int = 1, policy: Policy | None = None
    ) -> LockedJob:
        """Return the job as a draft, to be logged and written."""
        return LockedJob(
            id=uuid7(),
            company_id=uuid7(),
            status=JobStatus.DRAFT,
            capacity=1,
            active_count=0,
            pending_count=0,
            waitlist_count=0,
            unverified_count=0,
            next_ticket=1,
            head_ticket=1,
            seq=0,
            chain_head=GENESIS,
            next_due_at=None,
            policy_version=1,
            form_version=0,
            policy=Policy(),
            opened_at=None,
            closed_at=None,
            last_event_at=now,
            last_txid=0,
            is_test=False,
            clock_offset_seconds=0,
            draw_at=None,
            drawn_at=None,
            positions_to_fill=None,
            hired_count=0,
            exception_count=0,
            reserved_seats=0,
            reserved_for="",
            reserved_count=0,
            reserved_until=None,
            opens_at=None,
            closes_at=None,
            webhook_types=[],
            now=now,
            announced_due_at=None,
            source=self,
        )

    def lock(self, now: datetime) -> LockedJob:
        """Return the job for a change at a time, or at that of its last event if that is later."""
        assert self.job is not None  # noqa: S101  it was written
        job = LockedJob(**dict(zip(_HOT, _hot_of(self.job), strict=True)))
        job.now, job.announced_due_at = max(now, job.last_event_at), job.next_due_at
        return job

    def application(self, job: LockedJob, id: UUID) -> tuple[Application, str] | None:
        return (self._read(id), self.zones.get(id, "")) if id in self.rows else None

    def due(self, job: LockedJob) -> Due:
        people = [self._read(id) for at, id in self._until(self._deadlines, job.now)]
        plans = [each for each in self.plans if each.next_at <= job.now]
        plans.sort(key=lambda each: (each.next_at, each.id))
        return Due(people, plans, self._next_deadline(job, job.now))

    def next_in_line(self, job: LockedJob, *, passes: int) -> Next:
        return self._next(job, self._waiting, self._passing, job.unheld_seats, passes)

    def next_members(self, job: LockedJob, *, passes: int) -> list[tuple[Application, str]]:
        passing = [place for place in self._members if self.rows[place[-1]].pass_next]
        return self._next(job, self._members, passing, job.reserved_seats_free, passes).people

    def _next(
        self,
        job: LockedJob,
        waiting: list[tuple[int, int, UUID]],
        passing_people: list[tuple[int, int, UUID]],
        seats: int,
        passes: int,
    ) -> Next:
        found: list[tuple[int, int, UUID]] = []
        skipped = None
        for place in self._from_ticket(waiting, job.head_ticket):
            self.looks += 1
            row = self.rows[place[-1]]
            if not self._is_eligible(row, job.now):
                skipped = row.ticket if skipped is None else skipped
            elif not row.pass_next:
                found.append(place)
                if len(found) == seats:
                    break
        end = found[-1][0] if len(found) == seats else None
        passing = self._from_ticket(passing_people, job.head_ticket)
        if end is not None:
            passing = takewhile(lambda place: place[0] <= end, passing)
        eligible = (each for each in passing if self._is_eligible(self.rows[each[-1]], job.now))
        found = sorted([*found, *islice(eligible, passes)])
        if skipped is not None and (not found or skipped >= found[-1][0]):
            skipped = None
        return Next([(self._read(id), self.zones.get(id, "")) for *_, id in found], skipped)

    def next_held(self, job: LockedJob) -> datetime | None:
        return self._after(self._ends, job.now)

    def next_instant(self, job: LockedJob) -> datetime | None:
        since = job.last_event_at
        return _earliest(self._next_deadline(job, since), self._after(self._ends, since))

    def waiting(self, job: LockedJob) -> list[Application]:
        return [self._read(id) for *_, id in self._waiting]

    def left_open(self, job: LockedJob, *, most: int) -> tuple[int, list[Application]]:
        own = self._log_of[None]
        closing = next(each.seq for each in own if each.event == EventType.JOB_CLOSED)
        rows = [self.rows[id] for _, id in self._deadlines]
        pending = [row.id for row in rows if row.status == Status.PENDING_ACKNOWLEDGMENT]
        waiting = self._from_ticket(self._waiting, job.head_ticket)
        people = [*pending, *(id for *_, id in waiting)]
        return closing, [self._read(id) for id in people[:most]]

    def unanswered_pass(self, job: LockedJob) -> int | None:
        waited, passed = Status.WAITLIST, EventType.PASSED
        passes = (x.seq for x in reversed(self.log) if (x.event, x.from_status) == (passed, waited))
        last = next(passes, None)
        following = self.log[last or 0 :][:1]
        return None if any(each.cause_seq == last for each in following) else last

    def last_miss(self, application: Application) -> LastMiss:
        own, person = application.id, application.applicant_id
        is_decided = application.outcome in DECIDED
        kinds = ["REMOVED"] if is_decided else ["DECAYED", "LAPSED", "REINSTATED"]
        others = [self.rows[id] for id in self._applications_of[person] - {own}]
        is_live = any(each.status != Status.INACTIVE for each in others)
        since = application.applied_at
        is_later = any(each.applied_at > since and each.is_verified for each in others)
        miss = next((each for each in reversed(self._log_of[own]) if each.event in kinds), None)
        if miss is None:
            return LastMiss(None, None, None, None, False, False, is_live, is_later)
        ticket, tie = self._stood(own, miss.seq)
        is_given_back = miss.event == EventType.REINSTATED
        return LastMiss(
            miss.seq, miss.effective_at, ticket, tie, is_given_back, False, is_live, is_later
        )

    def place_before_offer(self, application: Application) -> tuple[int, int]:
        return self._stood(application.id, len(self.log) + 1)

    def front(self, job: LockedJob, application: Application) -> Front:
        own = bisect_left(self._waiting, (application.ticket, application.tie, application.id))
        ahead = [self.rows[id] for *_, id in self._waiting[:own]]
        return Front(self._waiting[0][0], sum(row.is_verified for row in ahead))

    def drop_plans(self, job: LockedJob) -> None:
        self.plans.clear()

    def put_plan(self, plan: PlannedSeats) -> None:
        at = self.plans.index(plan)
        self.plans[at : at + 1] = [plan] if plan.times_left else []

    def publish_form(self, job: LockedJob, *, actor: Actor) -> None:
        pass  # nobody answers a form here

    def note_activity(self, kind: activity.Kind, **about: Any) -> None:
        pass

    def write(self, job: LockedJob, *, commit: bool) -> None:
        self.keep(job)
        job.mark_written()

    def keep(self, job: LockedJob) -> None:
        """Keep the changes of a job."""
        for application in (*job.created.values(), *job.changed.values()):
            self.put(ApplicationRow._make(_row_of(application)))
        self.zones |= job.zones
        self.log += job.entries
        for entry in job.entries:
            self._log_of[entry.application_id].append(entry)
        self.job = job

    def put(self, row: ApplicationRow) -> None:
        """Keep a row, instead of the former one of that application."""
        if row.id in self.rows:
            for order, key in self._keys(self.rows[row.id]):
                del order[bisect_left(order, key)]
        self.rows[row.id] = row
        self._applications_of[row.applicant_id].add(row.id)
        for order, key in self._keys(row):
            insort(order, key)

    def _read(self, id: UUID) -> Application:
        return _application(self.rows[id])

    def _keys(self, row: ApplicationRow) -> Iterator[tuple[list[Any], tuple[Any, ...]]]:
        """Yield the sorted lists in which a row stands, and its key there."""
        if row.status == Status.PENDING_ACKNOWLEDGMENT:
            yield self._deadlines, (row.acknowledge_by, row.id)
        if row.status != Status.WAITLIST:
            return
        yield self._waiting, (row.ticket, row.tie, row.id)
        if row.pass_next:
            yield self._passing, (row.ticket, row.tie, row.id)
        if row.is_member:
            yield self._members, (row.ticket, row.tie, row.id)
        if row.verify_by:
            yield self._deadlines, (row.verify_by, row.id)
            return
        for end in (row.eligible_at, row.not_before):
            if end:
                yield self._ends, (end, row.id)

    def _until(self, order: list[tuple[datetime, UUID]], now: datetime) -> list[Any]:
        return order[: bisect_right(order, now, key=lambda each: each[0])]

    def _after(self, order: list[tuple[datetime, UUID]], now: datetime) -> datetime | None:
        at = bisect_right(order, now, key=lambda each: each[0])
        return order[at][0] if at < len(order) else None

    def _from_ticket(
        self, order: list[tuple[int, int, UUID]], ticket: int
    ) -> Iterator[tuple[int, int, UUID]]:
        """Yield the places of a sorted list from a ticket on."""
        return islice(order, bisect_left(order, ticket, key=lambda each: each[0]), None)

    def _is_eligible(self, row: ApplicationRow, now: datetime) -> bool:
        return row.is_verified and not (row.held_until and row.held_until > now)

    def _next_deadline(self, job: LockedJob, since: datetime) -> datetime | None:
        plans = (each.next_at for each in self.plans if each.next_at > since)
        return _earliest(*plans, self._after(self._deadlines, since), job.next_date(since))

    def _stood(self, id: UUID, before: int) -> tuple[int, int]:
        """Return the place before an event: as it was logged, or as it would have been."""
        stood = next(
            each
            for each in reversed(self._log_of[id])
            if each.seq < before and (each.to_status == "WAITLIST" or each.from_status is None)
        )
        if "ticket" in stood.data:
            return stood.data["ticket"], stood.data["tie"]
        rules = next(each for each in reversed(self._log_of[None]) if each.seq < stood.seq)
        behind = stood.data["decay_count"] * rules.data["policy"]["penalty_places"]
        return stood.data["next_ticket"] + behind, stood.seq
