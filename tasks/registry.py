"""Registry of the task types that this process knows, with their limits."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from django.db import connection

from tasks.errors import Fatal, UnknownType
from tasks.json import as_json
from tasks.models import MOST_ATTEMPTS, TaskType
from tasks.retry import Backoff
from tasks.signature import Signature

Handler = Callable[[dict[str, Any], Any], Any]
Hook = Callable[..., None]
F = TypeVar("F", bound=Callable[..., Any])

MEBIBYTE = 2**20
ANY_OBJECT: dict[str, Any] = {"type": "object"}


@dataclass(frozen=True)
class Hooks:
    """Functions called in the child with (payload, context); `on_fail` only if no retry follows.

    Like a handler, each can run twice. An exception in a hook is logged and has no other effect.
    """

    on_start: Hook | None = None
    on_success: Hook | None = None
    on_fail: Hook | None = None
    on_end: Hook | None = None


@dataclass(frozen=True, eq=False)
class TaskSpec:
    """Type of work: its handler and limits. Times are in seconds.

    `memory_bytes` is what a run may use on top of an idle child's memory. `cap` limits concurrent
    runs in the whole cluster; `rate` is (runs, seconds). `trusted_short` lets several attempts
    queue at one warm child; attempts of other types wait for a free child. `urgent`: every worker
    keeps a slot for such types, so they never wait for long runs of others; their own must be
    short. `waits_for_service`: a Retry that another attempt follows does not count as a failure,
    for the breaker or in the totals. `owner`: whom a run must be for; a run for another fails.
    """

    key: str
    handler: Handler
    version: int = 1
    schema: dict[str, Any] = field(default_factory=lambda: dict(ANY_OBJECT))
    owner: Literal["any", "site", "company"] = "any"
    queue: str = "default"
    timeout_seconds: float = 300.0
    memory_bytes: int = 512 * MEBIBYTE
    grace_seconds: float = 5.0
    max_attempts: int = 5
    backoff: Backoff = field(default_factory=Backoff)
    cap: int | None = None
    rate: tuple[int, float] | None = None
    sensitive: bool = False
    trusted_short: bool = False
    urgent: bool = False
    waits_for_service: bool = False
    hooks: Hooks = Hooks()

    @property
    def name(self) -> str:
        """Name of the type for people and logs: key@version."""
        return f"{self.key}@{self.version}"

    @functools.cached_property
    def has_secrets(self) -> bool:
        """Tell whether the schema marks anything as secret."""
        text = json.dumps(self.schema)
        return '"secret": true' in text or '"writeOnly": true' in text

    def run(self, payload: dict[str, Any], context: Any) -> Any:
        """Run the handler for the context's owner. Raises Fatal for a wrong owner."""
        if self.owner == "site" and context.owner_id is not None:
            raise Fatal("this task runs for the site, not for a company")
        if self.owner == "company" and context.owner_id is None:
            raise Fatal("this task runs for a company, not for the site")
        return self.handler(payload, context)


_specs: dict[tuple[str, int], TaskSpec] = {}
# What every worker process also does from time to time. Each returns the seconds until it is due.
chores: list[Callable[[], float]] = []


def register_task_type(spec: TaskSpec) -> TaskSpec:
    """Register a type in this process. Raises ValueError if its name is taken."""
    name = (spec.key, spec.version)
    if not 1 <= spec.max_attempts <= MOST_ATTEMPTS:
        raise ValueError(f"{spec.name}: max_attempts must be 1 to {MOST_ATTEMPTS}")
    taken = _specs.get(name)
    if taken and (taken.handler.__module__, taken.handler.__qualname__) != (
        spec.handler.__module__,
        spec.handler.__qualname__,
    ):
        raise ValueError(f"{spec.name} is registered twice")
    _specs[name] = spec
    return spec


def task_type(
    *,
    key: str,
    on_start: Hook | None = None,
    on_success: Hook | None = None,
    on_fail: Hook | None = None,
    on_end: Hook | None = None,
    **limits: Any,
) -> Callable[[F], F]:
    """Register the decorated function as the handler of a type; `TaskSpec` lists the limits.

    Its parameters declare the payload (`tasks.signature`). A type whose function takes `owner_id`
    is a company's. The function may return a JSON value. It must be safe to run twice. Hooks take
    some of the same arguments. Raises TypeError for a parameter that cannot be one.
    """

    def register_function(function: F) -> F:
        signature = Signature(function)
        hooks = [_hook_of(signature, each) for each in (on_start, on_success, on_fail, on_end)]
        if signature.takes_owner and "owner" in limits:
            raise TypeError(f"{key}: a function that takes owner_id is a company's")
        owner: dict[str, Any] = {"owner": "company"} if signature.takes_owner else {}

        @functools.wraps(function)
        def handler(payload: dict[str, Any], context: Any) -> Any:
            return signature.call(payload, context)

        declared: dict[str, Any] = {"schema": signature.schema, "hooks": Hooks(*hooks)}
        register_task_type(TaskSpec(key=key, handler=handler, **declared, **owner, **limits))
        return function

    return register_function


def _hook_of(signature: Signature, hook: Hook | None) -> Hook | None:
    if hook is None:
        return None
    taken = Signature(hook)
    unknown = taken.names - signature.names
    if unknown and not signature.takes_anything:
        raise TypeError(f"the hook {hook.__qualname__} takes {sorted(unknown)}, unlike its task")
    return taken.call


def registered_types() -> Iterator[TaskSpec]:
    """Iterate over the registered types in the order of their names."""
    yield from (_specs[name] for name in sorted(_specs))


def find_registered_type(key: str, version: int | None = None) -> TaskSpec:
    """Find a registered type: the given version, or the newest. Raises UnknownType."""
    if version is None:
        version = max((each for of, each in _specs if of == key), default=0)
    spec = _specs.get((key, version))
    if spec is None:
        raise UnknownType(key, version or None)
    return spec


_SYNC = """
INSERT INTO tasks_tasktype AS k (key, version, queue, max_attempts, cap, rate_count, rate_seconds,
                                 sensitive, schema)
SELECT key, version, queue, max_attempts, cap, rate_count, rate_seconds, sensitive, schema
FROM json_populate_recordset(NULL::tasks_tasktype, %s::json) ORDER BY key, version
ON CONFLICT (key, version) DO UPDATE SET
    queue = excluded.queue, max_attempts = excluded.max_attempts, cap = excluded.cap,
    rate_count = excluded.rate_count, rate_seconds = excluded.rate_seconds,
    sensitive = excluded.sensitive, schema = excluded.schema
WHERE (k.queue, k.max_attempts, k.cap, k.rate_count, k.rate_seconds, k.sensitive, k.schema)
    IS DISTINCT FROM (excluded.queue, excluded.max_attempts, excluded.cap, excluded.rate_count,
                      excluded.rate_seconds, excluded.sensitive, excluded.schema)
"""


def write_registered_types() -> dict[tuple[str, int], int]:
    """Write changed registry entries to the database; return the row id of each type.

    Rows of types that this process does not know stay unchanged: another release may run them.
    """
    types = [
        {
            "key": spec.key,
            "version": spec.version,
            "queue": spec.queue,
            "max_attempts": spec.max_attempts,
            "cap": spec.cap,
            "rate_count": spec.rate[0] if spec.rate else None,
            "rate_seconds": spec.rate[1] if spec.rate else None,
            "sensitive": spec.sensitive,
            "schema": spec.schema,
        }
        for spec in registered_types()
    ]
    with connection.cursor() as cursor:
        cursor.execute(_SYNC, [as_json(types)])
    rows = TaskType.objects.values_list("key", "version", "id")
    return {(key, version): row_id for key, version, row_id in rows if (key, version) in _specs}
