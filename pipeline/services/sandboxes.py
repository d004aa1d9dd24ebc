"""Sandboxes: their clock, and a reset that puts an empty one in their place.

It is not an outage: every deadline before the new time is settled at its own instant, in order.
"""

from __future__ import annotations

import logging
from datetime import timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from uuid_utils.compat import uuid7

from jobs.errors import CompanyNotFound
from jobs.models import ApiKey, Company, Job, JobStatus
from jobs.sandboxes import lock_sandbox
from pipeline.domain.errors import (
    ClockAtItsEnd,
    ClockMoving,
    NotASandbox,
    SandboxFull,
    TooManyAdvances,
)
from pipeline.domain.states import Actor, EventType
from pipeline.line.clock import lock_company_clock
from pipeline.line.lock import line_transaction, lock_job
from pipeline.line.locked_job import LockedJob
from pipeline.line.moves import make_job_move
from pipeline.line.settle import close_out_batch, settle_each_instant
from pipeline.line.write import write
from pipeline.models import ClockAdvance, PortalToken, WebhookEndpoint
from pipeline.services.settling import settle
from tasks.models import Schedule

security = logging.getLogger("security")


DAY_SECONDS = 86_400
MOST_SECONDS = 400 * DAY_SECONDS  # at a time
MOST_DAYS_AHEAD, MOST_ADVANCES = 3_660, 2_000
# The transactions in which one call settles; the decay worker does the rest.
MOST_SLICES = 20


def advance_clock(
    *, company_id: UUID, seconds: int, actor: Actor, advance_id: UUID | None = None
) -> ClockAdvance:
    """Move a sandbox's clock on by `seconds`, and settle what has fallen due by then.

    If there is too much of it, the decay worker settles the rest; until then, changes of those
    jobs raise ClockMoving. `advance_id`: the id of this advance. If an advance already has it,
    that one is returned and the clock stays. Must not be called inside a transaction. Raises
    NotASandbox, ClockAtItsEnd, TooManyAdvances, ClockMoving while an earlier advance is still
    being settled, and ValueError if `seconds` is out of range.
    """
    if not 1 <= seconds <= MOST_SECONDS:
        raise ValueError(f"a clock is moved by 1 to {MOST_SECONDS:,} seconds, not {seconds}")
    advance = _move_clock(company_id, seconds, actor, advance_id or uuid7())
    for _ in range(MOST_SLICES):
        job_id = jobs_behind_clock(company_id).first()
        if job_id is None:
            break
        settle(job_id=job_id)
    return advance


def jobs_behind_clock(company_id: UUID) -> QuerySet[Job, UUID]:
    """Return the ids of a sandbox's jobs in which something due before its time is unsettled."""
    due = Job.objects.filter(company_id=company_id, next_due_at__lte=Now())
    return due.order_by("next_due_at").values_list("id", flat=True)


@line_transaction
def _move_clock(company_id: UUID, seconds: int, actor: Actor, advance_id: UUID) -> ClockAdvance:
    """Move the clock of a sandbox and of all its jobs, and log that in each of them.

    All jobs are locked first, in the order of their ids, and settled up to the present.
    """
    clock = lock_company_clock(company_id)
    if not clock.is_test:
        raise NotASandbox
    earlier = ClockAdvance.objects.filter(company_id=company_id)
    if made := earlier.filter(id=advance_id).first():
        return made
    if earlier.count() >= MOST_ADVANCES:
        raise TooManyAdvances(limit=MOST_ADVANCES)
    offset = clock.offset_seconds + seconds
    if offset > MOST_DAYS_AHEAD * DAY_SECONDS:
        days = clock.offset_seconds // DAY_SECONDS
        raise ClockAtItsEnd(limit_days=MOST_DAYS_AHEAD, days=days)
    own = Job.objects.filter(company_id=company_id, posting__isnull=False)  # no deleted drafts
    ids = own.order_by("id").values_list("id", flat=True)
    jobs = [lock_job(job_id) for job_id in list(ids)]
    if any(not _settle_now(job) for job in jobs):
        raise ClockMoving
    for job in jobs:
        # Logged at the time before it. From then on the job goes by the new time.
        job.clock_offset_seconds = offset
        make_job_move(job, EventType.CLOCK_ADVANCED, actor=actor, facts={"seconds": seconds})
        job.now += timedelta(seconds=seconds)
        job.announced_due_at = None  # a worker has to be woken sooner
        write(job)
    Company.objects.filter(id=company_id).update(
        clock_offset_seconds=F("clock_offset_seconds") + seconds
    )
    ids_logged = {"company": str(company_id), "actor": str(actor.id)}
    security.info("clock.advanced", extra=ids_logged | {"seconds": seconds})
    return ClockAdvance.objects.create(
        id=advance_id,
        company_id=company_id,
        seconds=seconds,
        clock_offset_seconds=offset,
        began_at=clock.now,
    )


def _settle_now(job: LockedJob) -> bool:
    try:
        settle_each_instant(job)
        while job.status is JobStatus.CLOSED and job.is_due:
            close_out_batch(job)
    except ClockMoving:
        return False
    except SandboxFull:  # nothing happens in it any more
        return True
    return True


# Reset of a sandbox: an empty company takes its place, and its logs stay as they are.


@transaction.atomic(durable=True)
def reset_sandbox(*, company_id: UUID, meant: UUID, actor: Actor) -> Company:
    """Return a sandbox without jobs and with the live clock, which takes this one's place.

    Keys and webhook endpoints move to it. Everything else stays with the former sandbox, which
    nobody can reach any more: nothing is removed from a log, and its deadlines still run out.
    `meant`: the id of the sandbox to leave. If it has just been left, or is empty, nothing happens.
    Raises NotASandbox, and CompanyNotFound if another one is meant.
    """
    sandbox = Company.objects.get(id=company_id)
    if not sandbox.is_test:
        raise NotASandbox
    if meant != company_id:
        if not Company.objects.filter(id=meant, sandbox_of=sandbox).exists():
            raise CompanyNotFound
        return sandbox
    # Of two resets, the later one waits here and finds that the earlier one has done it.
    live, sandbox = lock_sandbox(sandbox)
    if sandbox.sandbox_of_id != live.id:
        return Company.objects.get(sandbox_of=live)
    if not sandbox.clock_offset_seconds and not Job.objects.filter(company=sandbox).exists():
        return sandbox
    fresh = _replace_sandbox(sandbox, live)
    ids = {"company": str(live.id), "former": str(sandbox.id), "sandbox": str(fresh.id)}
    security.info("sandbox.reset", extra=ids | {"actor": str(actor.id)})
    return fresh


def _replace_sandbox(former: Company, live: Company) -> Company:
    """Make an empty sandbox of a live company; the former one becomes the sandbox of that one."""
    fresh = Company.objects.create(
        name=former.name, requires_second_step=former.requires_second_step
    )
    # A company has one sandbox: the former one makes room first.
    Company.objects.filter(id=former.id).update(sandbox_of=fresh)
    Company.objects.filter(id=fresh.id).update(sandbox_of=live)
    PortalToken.objects.filter(key__company=former).delete()
    ApiKey.objects.filter(company=former).update(company=fresh)
    WebhookEndpoint.objects.filter(company=former).update(company=fresh)
    Schedule.objects.filter(owner_id=former.id).delete()
    fresh.refresh_from_db()
    return fresh
