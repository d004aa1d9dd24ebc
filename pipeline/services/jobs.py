"""Jobs: life cycle, changes, drafts and planned seats."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Model
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext_lazy
from uuid_utils.compat import uuid7

from jobs import activity, time_zones
from jobs.models import MAX_CAPACITY, Job, JobPosting, JobStatus, Retention
from jobs.policies import Policy
from pipeline.domain import draw
from pipeline.domain.errors import (
    ApplicationNotFound,
    DatesRefused,
    IllegalJobMove,
    IllegalMove,
    JobNotFound,
    PlannedSeatsNotFound,
    PlanRefused,
    PositionsBelowHired,
    ReserveRefused,
    SandboxFull,
    StaleVersion,
    TooManyPlannedSeats,
)
from pipeline.domain.states import CLOSES_AT, OPENS_AT, POSITIONS, Actor, EventType, Status
from pipeline.form.questions import Question
from pipeline.form.versions import forget as forget_form
from pipeline.form.versions import write_version
from pipeline.line.clock import hold_company_clock
from pipeline.line.event_log import GENESIS
from pipeline.line.lock import line_transaction, lock_job
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import change_job_status, make_job_move
from pipeline.line.settle import fill_seats, settle_due
from pipeline.line.write import write
from pipeline.models import (
    MOST_TIMES,
    Application,
    ChangeKind,
    Criterion,
    JobFollower,
    JobReference,
    PlannedSeats,
    RotaMember,
    SavedView,
)
from pipeline.services.changes import record_application_changes, record_change
from pipeline.services.joining import write_reference
from pipeline.services.seat_limits import check_plans, check_reserve

security = logging.getLogger("security")

JOB_CHANGED = activity.declare("job.changed", activity.Group.RULES, _("Changed a job: %(what)s"))
SEATS_PLANNED = activity.declare(
    "seats.planned", activity.Group.RULES, _("Planned a change of the seats of a job: %(seats)s")
)
PLAN_CANCELLED = activity.declare(
    "seats.cancelled", activity.Group.RULES, _("Cancelled a planned change of the seats of a job")
)


MOST_SANDBOX_JOBS = 20
SANDBOX_FULL = ngettext_lazy(
    "A sandbox can have {limit} job, closed ones included.",
    "A sandbox can have {limit} jobs, closed ones included.",
    "limit",
)


@dataclass(frozen=True, slots=True)
class Posting:
    """Text that people read about a job, its facts, and how soon the company aims to decide."""

    title: str
    description: str = ""
    location: str = ""
    review_target_seconds: int | None = None
    employment_type: str = ""
    workplace: str = ""
    country: str = ""
    department: str = ""
    language: str = ""
    pay_minimum: Decimal | None = None
    pay_maximum: Decimal | None = None
    pay_currency: str = ""
    pay_period: str = ""


def check_room(company_id: UUID, job_id: UUID | None) -> None:
    """Check that a sandbox can have another job, or has this one already. Raises SandboxFull."""
    own = Job.objects.filter(company_id=company_id, posting__isnull=False)
    if own.exclude(id=job_id or company_id).count() >= MOST_SANDBOX_JOBS:
        raise SandboxFull(why=SANDBOX_FULL, limit=MOST_SANDBOX_JOBS)


@transaction.atomic(durable=True)
def create_job(
    *,
    company_id: UUID,
    posting: Posting,
    capacity: int,
    policy: Policy,
    actor: Actor,
    open_now: bool = True,
    draw_at: datetime | None = None,
    hiring: Mapping[str, Any] = MappingProxyType({}),
    job_id: UUID | None = None,
    reference: Mapping[str, Any] | None = None,
    questions: Sequence[Question] = (),
) -> UUID:
    """Create a job, as a draft or open, and return its id. The log starts with JOB_CREATED.

    `job_id`: the id of the new job. If a job with that id already exists, nothing happens.
    `draw_at`: until then people only join, and then their order is drawn by lot. `hiring` as in
    `JobChanges`. `reference`: the company's own `external_id` and `metadata`. `questions`: its
    form, published at once. Raises DrawRefused, DatesRefused, ExternalIdTaken and SandboxFull.
    """
    clock = hold_company_clock(company_id)
    if clock.is_test:
        check_room(company_id, job_id)
    planned = {name: hiring.get(name) for name in (POSITIONS, OPENS_AT, CLOSES_AT)}
    _check_dates(planned[OPENS_AT], planned[CLOSES_AT], draw_at, clock.now)
    if planned[OPENS_AT] and open_now:
        raise DatesRefused(why=_("Only a draft opens at a date. Save the job as a draft."))
    fields = {
        "company_id": company_id,
        "is_test": clock.is_test,
        "clock_offset_seconds": clock.offset_seconds,
        "capacity": capacity,
        "draw_at": draw_at,
        "chain_head": GENESIS,
        "last_event_at": clock.now,
        "created_at": clock.now,
        "form_version": int(bool(questions)),
        **planned,
        **policy.values(),
    }
    if job_id is None:
        row = Job.objects.create(**fields)
    else:
        row, is_new = Job.objects.get_or_create(id=job_id, defaults=fields)
        if not is_new:
            return row.id
    _attach(row, posting, questions, reference, actor)
    _begin(lock_job(row.id), open_now=open_now, actor=actor)
    return row.id


def _begin(job: LockedJob, *, open_now: bool, actor: Actor) -> None:
    """Log that a job was created, and open it or note when it opens."""
    make_job_move(job, EventType.JOB_CREATED, actor=actor, statuses=(None, job.status))
    if open_now:
        change_job_status(job, JobStatus.OPEN, actor=actor)
    elif job.opens_at:
        job.note_due(job.opens_at)
    write(job, commit=True)


def _attach(
    row: Job,
    posting: Posting,
    questions: Sequence[Question],
    reference: Mapping[str, Any] | None,
    actor: Actor,
) -> None:
    JobPosting.objects.create(job=row, **asdict(posting), updated_at=row.created_at)
    if questions:
        write_version(row.id, questions, actor)
    if reference:
        kept = JobReference(job=row, company_id=row.company_id, **reference)
        write_reference(kept, reference)


@line_transaction
def open_job(*, job_id: UUID, actor: Actor) -> None:
    """Open a draft or resume a paused job. Free seats go to the next in line before this returns.

    Opening a draft publishes its questions: nobody has applied without them. An open job stays as
    it is. Raises IllegalJobMove if the job is closed, JobNotFound.
    """
    _change_lifecycle(job_id, JobStatus.OPEN, actor)


@line_transaction
def pause_job(*, job_id: UUID, actor: Actor) -> None:
    """Pause a job: it takes no applications and promotes nobody, but deadlines still run.

    A paused job stays as it is. Raises IllegalJobMove if the job is a draft or closed, JobNotFound.
    """
    _change_lifecycle(job_id, JobStatus.PAUSED, actor)


@line_transaction
def close_job(*, job_id: UUID, actor: Actor) -> None:
    """Close a job immediately and finally.

    The decay worker then closes out waiting and pending people. Planned seats are deleted.

    A closed job stays as it is. Raises IllegalJobMove if the job is a draft, JobNotFound.
    """
    _change_lifecycle(job_id, JobStatus.CLOSED, actor)


def _change_lifecycle(job_id: UUID, to: JobStatus, actor: Actor) -> None:
    job = lock_job(job_id)
    settle_due(job, only_ends=to is JobStatus.CLOSED)
    if job.status is to:
        return
    before = job.status
    if before is JobStatus.DRAFT and not JobPosting.objects.filter(job_id=job.id).exists():
        raise JobNotFound
    entry = change_job_status(job, to, actor=actor)
    if before is JobStatus.DRAFT:
        job.source.publish_form(job, actor=actor)
    fill_seats(job, cause_seq=entry.seq)
    write(job, commit=True)


# Edit of a job's posting, reference, capacity, policy, positions and dates.


@dataclass(frozen=True, slots=True)
class Version:
    """Version of a job that a reader has seen: the log's last seq and the posting's version."""

    seq: int
    posting: int


@dataclass(frozen=True, slots=True)
class JobChanges:
    """New values for a job. Fields that are not named stay as they are.

    `hiring` can hold the number of positions to fill and the times at which the job opens and
    closes, under their names in the log; None unsets one.
    """

    capacity: int | None = None
    policy: Mapping[str, Any] = field(default_factory=dict)
    posting: Mapping[str, Any] = field(default_factory=dict)
    reference: Mapping[str, Any] = field(default_factory=dict)
    draw_at: datetime | None = None
    hiring: Mapping[str, Any] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Return the names of the fields that change."""
        given = [*self.policy, *self.posting, *self.reference, *self.hiring]
        single = {"capacity": self.capacity, "draw_at": self.draw_at}
        return [*given, *(name for name, value in single.items() if value is not None)]


@line_transaction
def update_job(
    *, job_id: UUID, changes: JobChanges, actor: Actor, seen: Version | None = None
) -> None:
    """Change a job's posting, reference, capacity, policy, positions and dates, all or nothing.

    Extra seats go to the next in line before this returns, and free seats do if a filled job gets
    more positions. Fewer seats evict nobody: the job drains. Running deadlines, tickets and
    cool-downs stay. With `seen`, raises StaleVersion if the job has changed since. Raises
    IllegalJobMove for a closed job's capacity, policy or dates, and for a draw or an opening unless
    the job is a draft; ReserveRefused for fewer seats than are reserved, now or with the plans,
    PositionsBelowHired, DrawRefused, DatesRefused, JobNotFound, ExternalIdTaken, and ValueError if
    a policy value is out of range.
    """
    job = lock_job(job_id)
    posting = JobPosting.objects.filter(job_id=job.id).values_list("version", flat=True).first()
    if posting is None:  # a deleted draft
        raise JobNotFound
    if seen and seen != Version(job.seq, posting):
        raise StaleVersion
    settle_due(job)
    _check_rules(changes, job)
    draw_at = _updated_draw_time(changes, job)  # before anything is written: a refusal commits
    hiring = _updated_hiring(changes.hiring, job, draw_at)
    if changes.reference:
        row = JobReference(job_id=job.id, company_id=job.company_id, **changes.reference)
        write_reference(row, changes.reference)
    policy = replace(job.policy, **changes.policy)
    if (policy, draw_at) != (job.policy, job.draw_at):
        job.draw_at = draw_at
        job.policy = policy
        job.policy_version += 1
        make_job_move(job, EventType.POLICY_CHANGED, actor=actor)
    # Before the seats: none is offered for a job that this fills.
    _change_positions(job, hiring[POSITIONS], actor=actor)
    if changes.capacity is not None and changes.capacity != job.capacity:
        job.capacity = changes.capacity
        entry = make_job_move(job, EventType.CAPACITY_CHANGED, actor=actor)
        fill_seats(job, cause_seq=entry.seq)
    _change_dates(job, hiring[OPENS_AT], hiring[CLOSES_AT], actor=actor)
    if changes.posting or changes.reference:
        JobPosting.objects.filter(job_id=job.id).update(
            **changes.posting, version=F("version") + 1, updated_at=job.now
        )
        record_change(ChangeKind.JOB_CHANGED, company_id=job.company_id, job_id=job.id)
    what = {"what": ", ".join(changes.names())}
    who = {"company_id": job.company_id, "by": actor.id, "job_id": job.id}
    job.source.note_activity(JOB_CHANGED, **who, about=what)
    write(job, commit=True)


def _check_rules(changes: JobChanges, job: LockedJob) -> None:
    """Refuse rules of a closed job, and fewer seats than are reserved, now or with its plans."""
    if job.status is JobStatus.CLOSED and (changes.capacity or changes.policy):
        raise IllegalJobMove(status=job.status.value, verb=_("change capacity or policy"))
    # Planned seats may have left fewer than are reserved: those can be kept, or become more.
    kept = min(job.capacity, job.reserved_seats)
    if changes.capacity is not None and changes.capacity < kept:
        raise ReserveRefused(why=_("More seats than that are reserved. Reserve fewer first."))
    if changes.capacity is not None and changes.capacity < job.capacity and job.reserved_seats:
        plans = PlannedSeats.objects.filter(job_id=job.id)
        check_reserve(plans, changes.capacity, job.reserved_seats, job.reserved_until)


def _updated_draw_time(changes: JobChanges, job: LockedJob) -> datetime | None:
    """Return the time of the job's draw after the changes. Only a draft's can change."""
    if changes.draw_at is None or changes.draw_at == job.draw_at:
        return job.draw_at
    if job.status is not JobStatus.DRAFT or job.draw_at is None:
        raise IllegalJobMove(status=job.status.value, verb=_("change the draw"))
    draw.check_time(changes.draw_at, job.now)
    return changes.draw_at


def _updated_hiring(
    changes: Mapping[str, Any], job: LockedJob, draw_at: datetime | None
) -> dict[str, Any]:
    """Return the job's positions to fill and its dates after the changes."""
    before: dict[str, Any] = {
        POSITIONS: job.positions_to_fill,
        OPENS_AT: job.opens_at,
        CLOSES_AT: job.closes_at,
    }
    after = before | {**changes}
    positions = after[POSITIONS]
    if positions is not None and positions < job.hired_count:
        raise PositionsBelowHired(hired=job.hired_count, positions=positions)
    opens, closes = (after[name] != before[name] for name in (OPENS_AT, CLOSES_AT))
    if (opens and job.status is not JobStatus.DRAFT) or (closes and job.status is JobStatus.CLOSED):
        verb = _("change the opening date") if opens else _("change the closing date")
        raise IllegalJobMove(status=job.status.value, verb=verb)
    if opens or closes or draw_at != job.draw_at:
        opens_at = after[OPENS_AT] if job.status is JobStatus.DRAFT else None
        _check_dates(opens_at, after[CLOSES_AT], None if job.drawn_at else draw_at, job.now)
    return after


def _check_dates(
    opens_at: datetime | None, closes_at: datetime | None, draw_at: datetime | None, now: datetime
) -> None:
    """Check the times at which a job opens, is drawn by lot and closes, in this order.

    Raises DatesRefused, DrawRefused.
    """
    latest = now + LONGEST_AHEAD
    if opens_at and not now < opens_at <= latest:
        raise DatesRefused(why=_("The opening must be in the future, at most two years ahead."))
    if closes_at and not now < closes_at <= latest:
        raise DatesRefused(why=_("The closing must be in the future, at most two years ahead."))
    if opens_at and closes_at and closes_at <= opens_at:
        raise DatesRefused(why=_("The closing must be later than the opening."))
    draw.check_time(draw_at, opens_at or now)
    if draw_at and closes_at and closes_at <= draw_at:
        raise DatesRefused(why=_("The closing must be later than the draw by lot."))


def _change_positions(job: LockedJob, positions: int | None, *, actor: Actor) -> None:
    """Change the number of positions. If that opens seats, they go to the next in line."""
    if positions == job.positions_to_fill:
        return
    job.positions_to_fill = positions
    entry = make_job_move(job, EventType.POSITIONS_CHANGED, actor=actor)
    fill_seats(job, cause_seq=entry.seq)


def _change_dates(
    job: LockedJob, opens_at: datetime | None, closes_at: datetime | None, *, actor: Actor
) -> None:
    """Announce other times at which the system opens and closes the job, or none."""
    if (opens_at, closes_at) == (job.opens_at, job.closes_at):
        return
    job.opens_at, job.closes_at = opens_at, closes_at
    make_job_move(job, EventType.DATES_CHANGED, actor=actor)
    if first := job.next_date(job.now):
        job.note_due(first)


# Change of the name given with an application.


@transaction.atomic
def rename(*, application_id: UUID, name: str) -> Application:
    """Change the name under which the company knows an application. The log holds no names.

    Someone else may have applied with the address, so its owner may correct the name. An erased
    person has no live application, so an erased name cannot return. Raises IllegalMove if the
    application has ended, ApplicationNotFound.
    """
    found = Application.objects.filter(id=application_id)
    if not found.exclude(status=Status.INACTIVE).update(name=name):
        if not found.exists():
            raise ApplicationNotFound
        raise IllegalMove(status=Status.INACTIVE, move="RENAME")
    record_application_changes(ChangeKind.APPLICATION_CHANGED, [application_id])
    return found.get()


# Deletion of a job that was never opened.


_ATTACHED: tuple[type[Model], ...] = (
    *(SavedView, JobReference, Retention, PlannedSeats),
    *(RotaMember, JobFollower, Criterion),
)


@transaction.atomic(durable=True)
def delete_draft(*, job_id: UUID, actor: Actor) -> None:
    """Delete a draft: its texts and everything that the company attached to it.

    The job's row and its log stay, as the log is append-only: ids and numbers, no text. They still
    verify, but nobody can read, change or open a job without a posting. Raises IllegalJobMove if
    the job has ever been opened, JobNotFound.
    """
    job = lock_job(job_id)
    if job.status is not JobStatus.DRAFT:
        raise IllegalJobMove(status=job.status.value, verb="DELETE")
    _change_dates(job, None, None, actor=actor)  # it must not open
    for texts in _ATTACHED:
        texts._default_manager.filter(job_id=job_id).delete()
    forget_form(job_id)
    deleted, _ = JobPosting.objects.filter(job_id=job_id).delete()
    if not deleted:
        raise JobNotFound
    record_change(ChangeKind.JOB_DELETED, company_id=job.company_id, job_id=job_id)
    write(job)
    ids = {"company": str(job.company_id), "job": str(job_id), "actor": str(actor.id)}
    security.info("draft.deleted", extra=ids)


# Plan of seats that open or close at a time, once or weekly.


MOST_PLANS = 20
LONGEST_AHEAD = timedelta(days=731)


@dataclass(frozen=True, slots=True)
class SeatPlan:
    """Seats that open, or close if negative, at `first_at` and then weekly, `times` times in all.

    The weeks are counted in `zone`, so that the local time stays the same.
    """

    seats: int
    first_at: datetime
    zone: str = "UTC"
    times: int = 1

    def check(self, now: datetime) -> None:
        """Check the values of a plan that is made at `now`. Raises PlanRefused."""
        why: Promise | None = None
        if not self.seats or abs(self.seats) > MAX_CAPACITY:
            why = _("Plan 1 to {seats} seats, or a negative number to close.")
        elif not now < self.first_at <= now + LONGEST_AHEAD:
            why = _("The first time must be in the future, at most two years ahead.")
        elif not 1 <= self.times <= MOST_TIMES:
            why = _("Plan 1 to {times} times.")
        elif self.zone not in time_zones.known():
            why = _("There is no such time zone.")
        if why:
            raise PlanRefused(why=why, seats=MAX_CAPACITY, times=MOST_TIMES)


@line_transaction
def plan_seats(
    *, job_id: UUID, plan: SeatPlan, actor: Actor, planned_id: UUID | None = None
) -> PlannedSeats:
    """Plan a change of a job's number of seats, which the settlement then carries out once.

    `planned_id`: the id of the new row; if it exists, it is returned as it is. Raises JobNotFound,
    also for a deleted draft, IllegalJobMove for a closed job, TooManyPlannedSeats, PlanRefused
    if a value is out of range or the plans together would leave the limits of a job's seats, and
    ReserveRefused if they would close reserved seats.
    """
    job = lock_job(job_id)
    if not JobPosting.objects.filter(job_id=job.id).exists():  # a deleted draft
        raise JobNotFound
    settle_due(job)
    plans = list(PlannedSeats.objects.filter(job_id=job.id))
    for known in plans:
        if known.id == planned_id:
            return known
    if job.status is JobStatus.CLOSED:
        raise IllegalJobMove(status=job.status.value, verb=_("plan seats"))
    if len(plans) >= MOST_PLANS:
        raise TooManyPlannedSeats(limit=MOST_PLANS)
    plan.check(job.now)
    row = PlannedSeats(
        id=planned_id or uuid7(), job_id=job.id, next_at=plan.first_at, **asdict(plan)
    )
    check_plans(job, [*plans, row])
    row.save(force_insert=True)
    record_change(ChangeKind.PLANNED_SEATS_CHANGED, company_id=job.company_id, job_id=job.id)
    job.note_due(row.next_at)
    who = {"company_id": job.company_id, "by": actor.id, "job_id": job.id}
    job.source.note_activity(SEATS_PLANNED, **who, about={"seats": f"{row.seats:+d}"})
    write(job, commit=True)
    ids = {"company": job.company_id, "job": job.id, "actor": actor.id, "planned_seats": row.id}
    facts = {name: str(value) for name, value in ids.items()}
    security.info("seats.planned", extra=facts | {"seats": row.seats, "times": row.times})
    return row


# Cancellation of planned seats.


@line_transaction
def cancel_seats(*, job_id: UUID, planned_id: UUID, actor: Actor) -> None:
    """Cancel a plan's coming changes. Changes that are due are carried out first, and stay.

    Raises JobNotFound, and PlannedSeatsNotFound if the plan has no changes left.
    """
    job = lock_job(job_id)
    settle_due(job, only_ends=True)
    deleted, _rows = PlannedSeats.objects.filter(job_id=job.id, id=planned_id).delete()
    if not deleted:
        raise PlannedSeatsNotFound
    record_change(ChangeKind.PLANNED_SEATS_CHANGED, company_id=job.company_id, job_id=job.id)
    who = {"company_id": job.company_id, "by": actor.id, "job_id": job.id}
    job.source.note_activity(PLAN_CANCELLED, **who)
    write(job, commit=True)
    ids = {"company": job.company_id, "job": job.id, "actor": actor.id, "planned_seats": planned_id}
    security.info("seats.cancelled", extra={name: str(value) for name, value in ids.items()})
