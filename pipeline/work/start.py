"""Start of a background task by a company: limits, ownership of ids, refusals."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from jobs import activity, keys
from jobs.models import ApiKey, Job, JobPosting, Scope
from pipeline.database import instants
from pipeline.models import ImportRun, Producer, StoredFile
from pipeline.web import rate_limit
from pipeline.web.rate_limit import Rate, Tally
from pipeline.work.catalog import COMPANY_TYPES, is_switched_off
from pipeline.work.tasks import actor_parts
from tasks import registry
from tasks.enqueue import LONGEST_DELAY_SECONDS, Enqueued, NewTask, enqueue_many
from tasks.errors import InvalidPayload, OutOfRange, TaskError, UnknownType
from tasks.models import Task
from tasks.payloads import check_payload
from tasks.sql.prepared import PreparedStatement, run_statements
from tasks.stats import site_backlog

security = logging.getLogger("security")

EXPORT_STARTED = activity.declare(
    "export.started", activity.Group.FILES, gettext_lazy("Started an export: %(what)s")
)


MOST_A_MINUTE = 1_000_000


def limit_key(
    *, key_id: UUID, types: Sequence[str] | None = None, per_minute: int | None = None
) -> None:
    """Set the types of background work that a key may start, and its tasks per minute.

    For types, None means all that a company may start; for the rate, None means the site's. Raises
    UnknownType, OutOfRange.
    """
    for key in types or ():
        if key not in COMPANY_TYPES:
            raise UnknownType(key)
    if per_minute is not None and not 1 <= per_minute <= MOST_A_MINUTE:
        raise OutOfRange("per_minute", per_minute, 1, MOST_A_MINUTE)
    if types is None and per_minute is None:
        Producer.objects.filter(key_id=key_id).delete()
        return
    kept = None if types is None else sorted(set(types))
    Producer.objects.update_or_create(
        key_id=key_id, defaults={"types": kept, "per_minute": per_minute}
    )


@transaction.atomic
def create_limited_key(
    *,
    company_id: UUID,
    name: str,
    scopes: Iterable[Scope],
    types: Sequence[str] | None = None,
    per_minute: int | None = None,
    key_id: UUID | None = None,
    expires_in_days: int | None = None,
    job_ids: Collection[UUID] = (),
    by: UUID | None = None,
) -> tuple[ApiKey, str]:
    """Create a key of a company with limits. See `create_api_key` and `limit_key`."""
    row, key = keys.create(
        company_id=company_id,
        name=name,
        scopes=scopes,
        key_id=key_id,
        expires_in_days=expires_in_days,
        job_ids=job_ids,
        by=by,
    )
    limit_key(key_id=row.id, types=types, per_minute=per_minute)
    return row, key


def read_limits(key_id: UUID | None) -> Producer | None:
    """Return the limits that an owner set for a key, or None without a key or limits."""
    return Producer.objects.filter(key_id=key_id).first() if key_id else None


def read_many_limits(key_ids: Iterable[UUID]) -> dict[UUID, Producer]:
    """Return the limits of some keys' background work, if set, in one query."""
    return Producer.objects.in_bulk(list(key_ids))


# Check that the ids in a payload belong to the company.


# Payload fields that hold ids of a company's objects, and the messages for foreign ids.
NAMES = {
    "job_id": gettext_lazy("There is no such job."),
    "import_id": gettext_lazy("There is no such import."),
}


def ids_not_owned(company_id: UUID, works: Sequence[tuple[str, Any]]) -> dict[int, InvalidPayload]:
    """Return a refusal for each payload with a foreign id, by index. One query per kind of id."""
    named: list[tuple[int, str, UUID | None]] = []
    for number, (_key, payload) in enumerate(works):
        for field in NAMES:
            if not isinstance(payload, dict) or field not in payload:
                continue
            try:
                named.append((number, field, UUID(payload[field])))
            except (ValueError, TypeError, AttributeError):
                named.append((number, field, None))
    jobs = Job.objects.filter(company_id=company_id, posting__isnull=False)
    imports = StoredFile.objects.filter(company_id=company_id, purpose=StoredFile.Purpose.IMPORT)
    own: dict[str, set[UUID]] = {}
    for field, things in (("job_id", jobs), ("import_id", imports)):
        ids = {thing for _number, name, thing in named if name == field and thing is not None}
        own[field] = set(things.filter(id__in=ids).values_list("id", flat=True)) if ids else set()
    return {
        number: InvalidPayload(works[number][0], [(field, str(NAMES[field]))])
        for number, field, thing in named
        if thing not in own[field]
    }


# Refusals when a company starts background work, beyond those of the engine.


class WorkError(Exception):
    """Base class of these refusals. The text is for people."""


def _most_tasks(limit: int, seconds: int) -> str:
    words = ngettext(
        "You can start at most %(count)s task in %(seconds)s seconds.",
        "You can start at most %(count)s tasks in %(seconds)s seconds.",
        limit,
    )
    return words % {"count": limit, "seconds": seconds}


class TypeNotAllowed(WorkError):
    """The API key may not start work of this type."""

    def __init__(self, key: str) -> None:
        super().__init__(
            _("This key may not start %(type)s. An owner can change the limits of the key.")
            % {"type": key}
        )
        self.key = key


class DemoSwitchedOff(WorkError, UnknownType):
    """The type is a demo type, and this site has switched those off."""

    def __init__(self, key: str) -> None:
        UnknownType.__init__(self, key)
        self.args = (
            _("%(type)s is a demo type, and those are switched off on this site (DEMO_TASKS=off).")
            % {"type": key},
        )


class Backlogged(WorkError):
    """Too many tasks are waiting, for this company or in total. `wait` is in seconds."""

    def __init__(self, *, own: bool, limit: int, wait: int) -> None:
        words = (
            _("Too many of your tasks are waiting (the limit is %(limit)s). Try again later.")
            if own
            else _("Too many tasks are waiting (the limit is %(limit)s). Try again later.")
        )
        super().__init__(words % {"limit": limit})
        self.own = own
        self.limit = limit
        self.wait = wait


def _describe_rate(limit: int, seconds: int) -> str:
    words = ngettext(
        "You can start at most %(limit)s task in %(seconds)s seconds.",
        "You can start at most %(limit)s tasks in %(seconds)s seconds.",
        limit,
    )
    return words % {"limit": limit, "seconds": seconds}


class RateExceeded(WorkError):
    """The caller has started too many tasks recently. `wait` is in seconds."""

    def __init__(self, *, limit: int, seconds: int, wait: int) -> None:
        super().__init__(_most_tasks(limit, seconds))
        self.limit = limit
        self.seconds = seconds
        self.wait = wait


class TooManyAtOnce(WorkError, OutOfRange):
    """The caller requests more tasks at once than its rate limit ever allows.

    Waiting does not help.
    """

    def __init__(self, *, count: int, limit: int, seconds: int) -> None:
        OutOfRange.__init__(self, "tasks", count, 1, limit)
        self.args = (_most_tasks(limit, seconds),)


class TaskRequestRefused(WorkError):
    """One of several requested tasks is refused, so none is enqueued."""

    def __init__(self, number: int, reason: Exception) -> None:
        super().__init__(str(reason))
        self.number = number  # from 0
        self.reason = reason


class TooManySchedules(WorkError):
    """The company has reached its limit of schedules."""

    def __init__(self, limit: int) -> None:
        words = ngettext(
            "A company can have %(count)s schedule. Delete one that is not needed.",
            "A company can have %(count)s schedules. Delete one that is not needed.",
            limit,
        )
        super().__init__(words % {"count": limit})
        self.limit = limit


# Start of background work for a company: check the requests, count them, enqueue them.


# The name under which starts are counted, also in settings.THROTTLE_RATES.
RATE = "tasks"
# When to try again after a full backlog: a rough estimate.
ROOM_AGAIN_SECONDS = 30

OnCount = Callable[[Rate, Tally], None]


@dataclass(frozen=True, slots=True)
class TaskRequest:
    """Task that a company asks for; `tasks.enqueue.NewTask` explains the fields."""

    key: str
    payload: Any = None
    version: int | None = None
    priority: int = 0
    run_after: datetime | None = None
    delay_seconds: float = 0
    max_attempts: int | None = None
    idempotency_key: str | None = None


def start_tasks(
    *,
    company_id: UUID,
    producer: str,
    requests: Sequence[TaskRequest],
    key_id: UUID | None = None,
    on_count: OnCount | None = None,
) -> list[Enqueued]:
    """Enqueue all requested tasks for a company, or none. The results are in the same order.

    `producer` is "member:<user id>" or "key:<key id>". `key_id` is the API key, whose limits an
    owner may have set. `on_count` receives the remainder of the producer's rate.

    Raises UnknownType (also for what no company may start), InvalidPayload (also for ids that are
    not the company's), PayloadTooLarge, OutOfRange, TypeNotAllowed, Backlogged, RateExceeded,
    TooManyAtOnce; for one of several requests TaskRequestRefused, with its index and the reason.
    """
    allowed, waiting = _read_bounds(company_id, key_id)
    now = instants.now() if any(request.run_after for request in requests) else None
    checked = [_check_task(request, company_id, producer, allowed, now) for request in requests]
    foreign = ids_not_owned(company_id, [(request.key, request.payload) for request in requests])
    tasks = []
    for number, task in enumerate(checked):
        error = task if isinstance(task, Exception) else foreign.get(number)
        if error is not None:
            raise error if len(requests) == 1 else TaskRequestRefused(number, error)
        tasks.append(cast(NewTask, task))
    _refuse_overflow(waiting, len(tasks))
    _count_started_tasks(producer, len(tasks), allowed, on_count)
    enqueued = enqueue_many(tasks)
    for made, request in zip(enqueued, requests, strict=True):
        if request.key.endswith(".export"):
            ids = {"company": str(company_id), "task": str(made.id)}
            security.info("export.started", extra=ids | {"what": request.key})
            by = actor_parts(producer)[1]
            activity.note(EXPORT_STARTED, company_id=company_id, by=by, about={"what": request.key})
    return enqueued


def _check_task(
    request: TaskRequest,
    company_id: UUID,
    producer: str,
    allowed: Producer | None,
    now: datetime | None,
) -> NewTask | TaskError | WorkError:
    """Return the task to enqueue, or the error that refuses it.

    A time in the past counts as now, so that a task cannot use it to get ahead of others.
    """
    run_after, delay_seconds = request.run_after, request.delay_seconds
    try:
        check_type(request.key, allowed)
        spec = registry.find_registered_type(request.key, request.version)
        payload = check_payload(spec, {} if request.payload is None else request.payload)
        if run_after is not None and now is not None:
            ahead_seconds = (run_after - now) / timedelta(seconds=1)
            if ahead_seconds > LONGEST_DELAY_SECONDS:
                latest = now + timedelta(seconds=LONGEST_DELAY_SECONDS)
                raise OutOfRange("run_after", run_after.isoformat(), "now", latest.isoformat())
            if ahead_seconds <= 0:
                run_after, delay_seconds = None, 0
    except (TaskError, WorkError) as error:
        return error
    return NewTask(
        key=request.key,
        payload=payload,
        priority=request.priority,
        run_after=run_after,
        delay_seconds=delay_seconds,
        max_attempts=request.max_attempts,
        idempotency_key=request.idempotency_key,
        owner_id=company_id,
        producer=producer,
    )


def allowed_types(key_id: UUID | None) -> Container[str]:
    """Return the types that an API key may start, or without a key all that companies may start."""
    allowed = read_limits(key_id)
    return COMPANY_TYPES if allowed is None or allowed.types is None else allowed.types


def check_type(key: str, allowed: Producer | None = None) -> None:
    """Refuse a type that no company may start, or that this key may not start.

    Raises UnknownType (DemoSwitchedOff for a demo type), TypeNotAllowed.
    """
    if key not in COMPANY_TYPES:
        raise UnknownType(key)
    if is_switched_off(key):
        raise DemoSwitchedOff(key)
    if allowed is not None and allowed.types is not None and key not in allowed.types:
        raise TypeNotAllowed(key)


_LIMITS = PreparedStatement(
    "SELECT types, per_minute FROM pipeline_producer WHERE key_id = %(key_id)s",
    lambda types, per_minute: Producer(types=types, per_minute=per_minute),
)
_WAITING = PreparedStatement(
    """
SELECT count(*) FROM (
    SELECT FROM tasks_task WHERE owner_id = %(company_id)s AND status = 'PENDING' LIMIT %(most)s
) waiting
"""
)


def _read_bounds(company_id: UUID, key_id: UUID | None) -> tuple[Producer | None, int]:
    """Return the limits of a key, and how many tasks wait, counted up to the company's limit."""
    asked = {"key_id": key_id, "company_id": company_id, "most": settings.TASK_BACKLOG_PER_COMPANY}
    limits, [(waiting,)] = run_statements([_LIMITS, _WAITING], asked)
    return (limits[0] if limits else None), waiting


def _refuse_overflow(waiting: int, more: int) -> None:
    """Refuse work if the backlog of this company or of all is full."""
    own, whole = settings.TASK_BACKLOG_PER_COMPANY, settings.TASK_BACKLOG_LIMIT
    if waiting + more > own:
        raise Backlogged(own=True, limit=own, wait=ROOM_AGAIN_SECONDS)
    if site_backlog(whole) + more > whole:
        raise Backlogged(own=False, limit=whole, wait=ROOM_AGAIN_SECONDS)


def _count_started_tasks(
    producer: str, cost: int, allowed: Producer | None, on_count: OnCount | None
) -> None:
    """Count started tasks against the key's own rate or the site's.

    Raises RateExceeded, TooManyAtOnce.
    """
    given = settings.THROTTLE_RATES[RATE]
    if allowed is not None and allowed.per_minute is not None:
        given = (allowed.per_minute, 60)
    if given is None:
        return
    rate = Rate(*given)
    if cost > rate.limit:
        raise TooManyAtOnce(count=cost, limit=rate.limit, seconds=rate.seconds)
    tally = rate_limit.count(RATE, producer, rate, cost)
    if on_count is not None:
        on_count(rate, tally)
    if not tally.allowed:
        raise RateExceeded(limit=rate.limit, seconds=rate.seconds, wait=tally.wait_seconds)


# Subjects of a company's tasks: the job or the import that a payload names.


# How many jobs are offered as choices.
MOST_JOBS = 200


class Import(NamedTuple):
    """An import: its job, and its number of rows once known."""

    job_id: UUID
    rows: int | None


@dataclass(frozen=True, slots=True)
class Subjects:
    """Subjects of tasks: titles of jobs and facts of imports, by the ids in payloads."""

    jobs: dict[str, str]
    imports: dict[str, Import]


def find_subjects(company_id: UUID, tasks: Iterable[Task]) -> Subjects:
    """Return the subjects of a company's tasks, in at most two queries."""
    return find_payload_subjects(company_id, [task.payload for task in tasks])


def find_payload_subjects(company_id: UUID, given: Iterable[object]) -> Subjects:
    """Return the subjects of payloads, in at most two queries."""
    payloads = [payload for payload in given if isinstance(payload, dict)]
    imports = {}
    if ids := _subject_ids(payloads, "import_id"):
        runs = ImportRun.objects.filter(file_id__in=ids, file__company_id=company_id)
        for file_id, job_id, rows in runs.values_list("file_id", "file__job_id", "total_rows"):
            imports[str(file_id)] = Import(job_id, rows or None)  # 0: not read yet
    wanted = _subject_ids(payloads, "job_id") | {found.job_id for found in imports.values()}
    titles = JobPosting.objects.filter(job_id__in=wanted, job__company_id=company_id)
    found = titles.values_list("job_id", "title") if wanted else []
    return Subjects({str(job_id): title for job_id, title in found}, imports)


def _subject_ids(payloads: list[dict[str, object]], name: str) -> set[UUID]:
    found = set()
    for payload in payloads:
        try:
            found.add(UUID(str(payload[name])))
        except (KeyError, ValueError):
            continue
    return found


def job_subject_choices(company_id: UUID, *, and_this: str = "") -> list[tuple[str, str]]:
    """Return ids and titles of a company's newest jobs as choices, always including `and_this`."""
    theirs = JobPosting.objects.filter(job__company_id=company_id)
    found = theirs.order_by("-job_id").values_list("job_id", "title")
    choices = [(str(job_id), title) for job_id, title in found[:MOST_JOBS]]
    if and_this and and_this not in dict(choices):
        choices += [(str(job_id), title) for job_id, title in found.filter(job_id=and_this)]
    return choices
