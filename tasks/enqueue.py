"""Enqueueing: one INSERT in the caller's transaction, and a wake-up after its commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from uuid_utils.compat import uuid7

from tasks import log_context, registry, tracing
from tasks.errors import OutOfRange
from tasks.json import as_json
from tasks.models import HIGHEST_PRIORITY, LOWEST_PRIORITY, MOST_ATTEMPTS
from tasks.payloads import CheckedPayload, check_payloads
from tasks.sql.enqueue import ENQUEUE_PARTS, WAKE, without_keys
from tasks.sql.prepared import PreparedStatement

LONGEST_DELAY_SECONDS = 366 * 86_400.0
LONGEST_KEY = 256  # characters

# Returns the numbers of the kinds whose type has a row, and the places and types of the tasks with
# a known idempotency key.
ENQUEUE = f"""
WITH {ENQUEUE_PARTS}
SELECT (SELECT array_agg(number) FROM tasks_kinds), array_agg(n - 1), array_agg(type_id)
FROM tasks_given WHERE id NOT IN (SELECT id FROM tasks_made)
"""  # noqa: S608  a constant
_ENQUEUE = PreparedStatement(ENQUEUE)
# Without idempotency keys there is nothing to look for before or after a row is written.
_ENQUEUE_WITHOUT_KEYS = PreparedStatement(
    f"""
WITH {without_keys(ENQUEUE_PARTS)}
SELECT array_agg(number), NULL::bigint[], NULL::bigint[] FROM tasks_kinds
"""  # noqa: S608  a constant
)


# Each lookup is by the index of keys, which holds rows without an owner too.
_FIRST_OF_KEYS = PreparedStatement(
    """
SELECT asked.n, t.id
FROM json_to_recordset(%(asked)s::json) AS asked(n int, type_id bigint, owner_id uuid, key text)
CROSS JOIN LATERAL (
    SELECT id FROM tasks_task
    WHERE type_id = asked.type_id AND owner_id = asked.owner_id AND idempotency_key = asked.key
    UNION ALL
    SELECT id FROM tasks_task
    WHERE asked.owner_id IS NULL AND type_id = asked.type_id AND owner_id IS NULL
      AND idempotency_key = asked.key) t
"""
)


class NewTask(NamedTuple):
    """Task to enqueue.

    `enqueue` checks `payload` unless it is already checked (`payloads.check_payload`); None counts
    as an empty object. `version` defaults to the newest version that this process knows,
    `max_attempts` and `queue` to those of the type. `run_after`, an aware time, takes precedence
    over `delay_seconds`. `owner_id` is the company the task runs for. `producer` names the caller.
    """

    key: str
    payload: Any = None
    version: int | None = None
    priority: int = 0
    run_after: datetime | None = None
    delay_seconds: float = 0.0
    max_attempts: int | None = None
    queue: str | None = None
    idempotency_key: str | None = None
    owner_id: UUID | None = None
    producer: str = ""
    request_id: str | None = None


class Enqueued(NamedTuple):
    """Result of enqueueing. For a known idempotency key, the id is that of the first task."""

    id: UUID
    is_new: bool


def enqueue(key: str, payload: Any = None, **options: Any) -> Enqueued:
    """Enqueue one task in the caller's transaction; the options are fields of `NewTask`.

    Raises UnknownType, InvalidPayload, PayloadTooLarge, OutOfRange.
    """
    return enqueue_many([NewTask(key, payload, **options)])[0]


def enqueue_many(tasks: Sequence[NewTask]) -> list[Enqueued]:
    """Enqueue all tasks or none, in one statement. Results keep the order of the tasks."""
    ids = [uuid7() for _ in tasks]
    known = _insert(tasks, ids)
    wake_workers_later()
    made = [Enqueued(each, True) for each in ids]
    if known:
        for n, first in _first_of_keys(tasks, known).items():
            made[n] = Enqueued(first, is_new=False)
    return made


def enqueue_parameter(tasks: Sequence[NewTask]) -> tuple[str, list[UUID]]:
    """Return the parameter `tasks` of `sql.enqueue.ENQUEUE_PARTS`, and the ids of the new tasks.

    Use it in a statement that writes tasks together with other rows; afterwards call
    `wake_workers_later`. The types need rows, which `migrate` or a starting
    worker writes.
    Raises the errors of `enqueue`.
    """
    ids = [uuid7() for _ in tasks]
    return _Batch(tasks).as_parameter(ids), ids


def wake_workers_later() -> None:
    """Wake sleeping workers after the commit; further calls in the transaction do nothing."""
    if not any(entry[1] is wake_workers for entry in connection.run_on_commit):
        transaction.on_commit(wake_workers, robust=True)


def wake_workers() -> None:
    """Wake sleeping workers now."""
    with connection.cursor() as cursor:
        cursor.execute(WAKE)


def _first_of_keys(tasks: Sequence[NewTask], known: Mapping[int, int]) -> dict[int, UUID]:
    """Return the id of the first task of each known key, by the places in `known`."""
    # Only a later statement has a snapshot that shows the first task of an idempotency key.
    asked = [
        {"n": n, "type_id": type_id, "owner_id": tasks[n].owner_id, "key": tasks[n].idempotency_key}
        for n, type_id in known.items()
    ]
    return dict(_FIRST_OF_KEYS.all(asked=as_json(asked)))


def _insert(tasks: Sequence[NewTask], ids: Sequence[UUID]) -> dict[int, int]:
    """Insert tasks; return the place and the type's id of each that has a known key."""
    batch = _Batch(tasks)
    statement = _ENQUEUE if any(batch.keys) else _ENQUEUE_WITHOUT_KEYS
    [(found, places, types)] = statement.all(tasks=batch.as_parameter(ids))
    known = dict(zip(places or (), types or (), strict=True))
    if len(found or ()) < len(batch.kinds):  # the first use of a type in this database
        registry.write_registered_types()
        left = [n for n, number in enumerate(batch.of) if number not in (found or ())]
        later = _insert([tasks[n] for n in left], [ids[n] for n in left])
        known |= {left[n]: type_id for n, type_id in later.items()}
    return known


class _Batch:
    """Tasks in columns, and their kinds with the checked limits of each."""

    def __init__(self, tasks: Sequence[NewTask]) -> None:
        columns = dict(zip(NewTask._fields, zip(*tasks, strict=True), strict=bool(tasks)))
        self.keys = columns.pop("idempotency_key", ())
        for key in self.keys:
            if key is not None:
                _check_limit("length of idempotency_key", len(key), 1, LONGEST_KEY)
        given = columns.pop("payload", ())
        self.payloads = [{} if payload is None else payload for payload in given]
        specs = [each.spec if isinstance(each, CheckedPayload) else None for each in given]
        # What tasks usually have in common makes them one kind.
        kinds = zip(specs, *columns.values(), strict=True)
        numbers: dict[tuple[Any, ...], int] = {}
        self.of = [numbers.setdefault(kind, len(numbers)) for kind in kinds]  # of each task
        self.specs: list[registry.TaskSpec] = []  # of each kind
        self.kinds = [
            self._kind(number, spec, **dict(zip(columns, common, strict=True)))
            for number, (spec, *common) in enumerate(numbers)
        ]

    def as_parameter(self, ids: Sequence[UUID]) -> str:
        """Return the parameter `tasks` of the statement. Raises the errors of `check_payloads`."""
        columns = f'"ids":"{{{",".join([f"{each.int:032x}" for each in ids])}}}"'
        specs = [self.specs[number] for number in self.of]
        columns += f',"payloads":{check_payloads(specs, self.payloads)}'
        if any(self.keys):
            columns += f',"keys":{as_json(self.keys)}'
        if len(self.kinds) > 1:
            columns += f',"of":{as_json(self.of)}'
        return f'{{{columns},"kinds":{as_json(self.kinds)}}}'

    def _kind(
        self,
        number: int,
        spec: registry.TaskSpec | None,
        *,
        key: str,
        version: int | None,
        **common: Any,
    ) -> dict[str, Any]:
        spec = spec or registry.find_registered_type(key, version)
        self.specs.append(spec)
        _check_limit("priority", common["priority"], LOWEST_PRIORITY, HIGHEST_PRIORITY)
        _check_limit("delay_seconds", common["delay_seconds"], 0, LONGEST_DELAY_SECONDS)
        if common["max_attempts"] is not None:
            _check_limit("max_attempts", common["max_attempts"], 1, MOST_ATTEMPTS)
        if common["request_id"] is None:
            common["request_id"] = str(log_context.current_fields().get("request_id", ""))
        named = {"number": number, "key": spec.key, "version": spec.version}
        return named | common | {"trace": tracing.current_trace()}


def _check_limit(name: str, value: float, lowest: float, highest: float) -> None:
    if not lowest <= value <= highest:
        raise OutOfRange(name, value, lowest, highest)
