"""Write of a change: applications, log, hot row and follow-up tasks, in one statement."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Model
from django.dispatch import Signal

from jobs.policies import POLICY_FIELDS
from pipeline.line.event_log import LogEntry
from pipeline.line.locked_job import LockedJob
from pipeline.line.sql import APPLICATION, APPLICATION_COLUMNS, HOT, count_people_ahead
from pipeline.models import Standing
from tasks.enqueue import NewTask, enqueue_parameter
from tasks.sql.enqueue import ENQUEUE_PARTS
from tasks.sql.prepared import PreparedStatement, Row, run_statements

log = logging.getLogger(__name__)


# Follow-up of a change: tasks derived from its events, written in the same statement. Packages
# above the line register what they derive (emails, webhooks). The line imports none of them.


Derive = Callable[[LockedJob, list[LogEntry]], list[NewTask]]

_derivations: list[Derive] = []


def register_follow_up(derive: Derive) -> None:
    """Write the tasks of `derive` with every later change. Registering twice is harmless.

    `derive` is called under the job's lock with the events about to be written, so it must be quick
    and must not use the database. If it raises, the change fails. A task holds only ids, and its
    type is registered in `pipeline.tasks`: for a type without a row, no task is written and
    an error is logged.
    """
    if derive not in _derivations:
        _derivations.append(derive)


def unregister_follow_up(derive: Derive) -> None:
    """Undo `register_follow_up`, for the demo's seed and for tests."""
    _derivations.remove(derive)


def follow_up_tasks(job: LockedJob) -> list[NewTask]:
    """Derive the tasks that follow from the unwritten events."""
    return [task for derive in _derivations for task in derive(job, job.entries)]


# Signal sent after a committed change. A receiver's error is logged and cannot affect the change.
# Receivers of `committed` are called in the process and thread that made the change, and must be
# quick. They get `job_id`, `company_id`, `seq` (the log's last), `entries` (everything that the
# transaction logged, oldest first) and `wrote_tasks` (whether tasks follow from them). A process
# that dies right after its commit sends nothing, so anything that must not be lost is a task
# (`pipeline.line.write`).


committed = Signal()


# Columns of the job's row that a change writes; the rare ones only if they change.
RARELY_WRITTEN = (
    *("positions_to_fill", "hired_count", "opens_at", "closes_at", "exception_count"),
    *("reserved_seats", "reserved_for", "reserved_count", "reserved_until"),
)
NEVER_WRITTEN = ("id", "company_id", "last_txid", "is_test", "form_version")
WRITTEN = [name for name in HOT if name not in (*NEVER_WRITTEN, *RARELY_WRITTEN)]

# Those that are fields of a locked job: not the parts of its policy.
WRITTEN_OF_JOB = ["id", "company_id", "last_txid", *(n for n in WRITTEN if n not in POLICY_FIELDS)]

# What a change never moves: the person, and what only they or the retention change.
_KEPT = ("id", "job_id", "applicant_id", "name", "language")
CHANGING = [name for name in APPLICATION if name not in _KEPT]
ENTRY = list(LogEntry.__dataclass_fields__)

_recordset = "json_populate_recordset(NULL::{table}, %({rows})s)"

CREATE = "INSERT INTO {table} ({names}) SELECT {names} FROM {source}".format(
    table="pipeline_application",
    names=APPLICATION_COLUMNS,
    source=_recordset.format(table="pipeline_application", rows="created"),
)

# Update the applications that a change moved, all of the locked job (see
# `sources.READ_APPLICATION_TO`).
CHANGE = """UPDATE pipeline_application a SET {columns} FROM {source} n
WHERE a.id = n.id AND (a.job_id = %(id)s::uuid) IS TRUE""".format(
    columns=", ".join(f"{name} = n.{name}" for name in CHANGING),
    source=_recordset.format(table="pipeline_application", rows="changed"),
)

# The same for a few rows, with a separate list of ids: the planner expects a hundred rows from the
# function that unpacks them, and for that many it would read a whole table of 20,000. With many
# ids, this would be quadratic.
FEW = 10
CHANGE_FEW = f"{CHANGE} AND a.id = ANY(%(changed_ids)s::uuid[])"

# Append a change's events to the log, each with its place in the feed.
#
# A transaction that got its number before it waited for the lock can have a lower number than the
# changes before its own. It then takes the number of the event before it.
APPEND = """
INSERT INTO pipeline_event ({names}, company_id, txid)
SELECT {names},
       %(company_id)s::uuid,
       (SELECT greatest(pipeline_feed_place(), %(last_txid)s))
FROM {source}
""".format(names=", ".join(ENTRY), source=_recordset.format(table="pipeline_event", rows="entries"))

# Write back the hot row, with the place in the feed of its last event (see APPEND).
WRITE_JOB = """
UPDATE jobs_job SET {columns}, last_txid = CASE WHEN seq < %(seq)s
    THEN greatest(pipeline_feed_place(), last_txid) ELSE last_txid END
WHERE id = %(id)s
""".format(columns=", ".join(f"{name} = %({name})s" for name in WRITTEN))

# The positions of people who have just joined the waitlist.
READ_POSITIONS = PreparedStatement(f"""
SELECT joined.id, {count_people_ahead("joined.ticket", "joined.tie")} + 1
FROM jobs_job job, unnest(%(joined)s::uuid[], %(tickets)s::bigint[], %(ties)s::bigint[])
    AS joined (id, ticket, tie)
WHERE job.id = %(job)s
""")

# Wake the decay workers for a job that becomes due before their next check.
NOTIFY_DUE = PreparedStatement("SELECT pg_notify('line_due', '')")

# The longest sleep of a decay worker: it finds anything due later without being woken.
LOOK_AHEAD = timedelta(seconds=5)


def write(job: LockedJob, *, commit: bool = False) -> None:
    """Write everything that this change has done so far. The job can still be changed afterwards.

    With `commit`, commit in the same round trip, and set the applications' `standing`. A service
    does this last: it releases the lock, for which all other changes to the job wait.
    """
    job.source.write(job, commit=commit)


def write_to_database(job: LockedJob, *, commit: bool) -> None:
    """Write the changes of a job whose rows are in the database."""
    few = len(job.changed) <= FEW
    tables = [
        ("created", CREATE, job.created.values(), APPLICATION),
        ("changed", CHANGE_FEW if few else CHANGE, job.changed.values(), APPLICATION),
        ("entries", APPEND, job.entries, ENTRY),
        *_tables_beside(job),
    ]
    names = (*WRITTEN_OF_JOB, *RARELY_WRITTEN) if job.has_rare_changes else WRITTEN_OF_JOB
    values: dict[str, Any] = {name: getattr(job, name) for name in names}
    values |= job.policy.values() | {"status": job.status.value}
    values["next_due_at"] = job.database_due_at
    values |= {name: _encode_rows(rows, columns) for name, _, rows, columns in tables if rows}
    values["changed_ids"] = list(job.changed) if few else []
    tasks = follow_up_tasks(job) if job.entries else []
    if tasks:
        values["tasks"], job.wrote_tasks = enqueue_parameter(tasks)[0], True
    parts = [(name, text) for name, text, rows, _ in tables if rows]
    statements = [build_statement(*parts, with_tasks=bool(tasks), with_rare=job.has_rare_changes)]
    due = job.next_due_at
    if due and due != job.announced_due_at and due - job.now < LOOK_AHEAD:
        statements.append(NOTIFY_DUE)
    counts = commit and not job.awaits_draw
    joined = [each for each in job.created.values() if counts and each.ticket and each.is_verified]
    if joined:
        statements.append(READ_POSITIONS)
        values |= {
            "job": job.id,
            "joined": [each.id for each in joined],
            "tickets": [each.ticket for each in joined],
            "ties": [each.tie for each in joined],
        }
    found = run_statements(statements, values, commit=commit)
    if tasks and found[0] != [(len(tasks),)]:
        log.error("follow-up tasks are lost, a type has no row: %s", {each.key for each in tasks})
    if commit:
        _set_standings(job, dict(found[-1]) if joined else {})
    if job.entries and committed.has_listeners():
        if not job.announced_entries:
            transaction.on_commit(lambda: _announce_written(job))
        job.announced_entries += job.entries
    job.mark_written()


def _tables_beside(job: LockedJob) -> list[tuple[str, str, Any, list[str]]]:
    """Return the statements for the new rows of other tables, one for each table."""
    by_kind: dict[type[Model], list[Model]] = {}
    for row in job.beside:
        by_kind.setdefault(type(row), []).append(row)
    found = []
    for kind, rows in by_kind.items():
        text, columns = _insertion(kind)
        found.append((f"new_{kind._meta.db_table}", text, rows, columns))
    return found


@cache
def _insertion(kind: type[Model]) -> tuple[str, list[str]]:
    """Return the statement that inserts rows of a model, and their columns."""
    table, columns = kind._meta.db_table, [each.attname for each in kind._meta.concrete_fields]
    names, source = ", ".join(columns), _recordset.format(table=table, rows=f"new_{table}")
    return f"INSERT INTO {table} ({names}) SELECT {names} FROM {source}", columns


def _set_standings(job: LockedJob, positions: dict[UUID, int]) -> None:
    waiting, max_decays = job.people_waiting, job.policy.max_decays
    for application in job.people.values():
        position = positions.get(application.id)
        application.standing = Standing(waiting, max_decays, position, job.now)


@cache
def build_statement(
    *parts: tuple[str, str], with_tasks: bool = False, with_rare: bool = False
) -> PreparedStatement[Row]:
    """Join statements into one. The same parts give the same statement, which is prepared once."""
    named = [f"{name} AS ({text})" for name, text in parts] + [ENQUEUE_PARTS] * with_tasks
    written = " RETURNING (SELECT count(*) FROM tasks_given)" if with_tasks else ""
    rare = "".join(f"{name} = %({name})s, " for name in RARELY_WRITTEN) if with_rare else ""
    write_job = WRITE_JOB.replace("SET ", f"SET {rare}", 1)
    return PreparedStatement(
        f"WITH {', '.join(named)} {write_job}{written}" if named else write_job
    )


def _announce_written(job: LockedJob) -> None:
    committed.send_robust(
        LockedJob,
        job_id=job.id,
        company_id=job.company_id,
        seq=job.seq,
        entries=job.announced_entries,
        wrote_tasks=job.wrote_tasks,
    )


def _encode_rows(rows: Any, columns: list[str]) -> str:
    """Encode rows as the database unpacks them. An omitted column is NULL."""
    records = [
        {name: value for name in columns if (value := getattr(row, name)) is not None}
        for row in rows
    ]
    return json.dumps(records, default=_Plain(), separators=(",", ":"), check_circular=False)


class _Plain:
    """Encoder of values that JSON does not support. A value shared by many rows is encoded once.

    Values are recognised by identity, which is safe while the rows that hold them exist.
    """

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def __call__(self, value: object) -> str:
        text = self._known.get(id(value))
        if text is not None:
            return text
        match value:
            case UUID():
                text = str(value)
            case datetime():
                text = value.isoformat()
            case bytes() | memoryview():
                text = f"\\x{bytes(value).hex()}"
            case _:
                raise TypeError(f"{type(value)} does not belong in the line's rows")
        self._known[id(value)] = text
        return text


# The edited form of a job as its next version, unless the current version asks the same.
PUBLISH_FORM = PreparedStatement("""
WITH edited AS (
    SELECT questions FROM pipeline_formdraft
    WHERE job_id = %(job)s AND questions <> coalesce((
        SELECT questions FROM pipeline_formversion
        WHERE job_id = %(job)s AND number = %(current)s), '[]')
), published AS (
    INSERT INTO pipeline_formversion (id, job_id, number, questions, published_by)
    SELECT %(id)s, %(job)s, 1 + coalesce((
        SELECT max(number) FROM pipeline_formversion WHERE job_id = %(job)s), 0), questions, %(by)s
    FROM edited WHERE questions <> '[]' RETURNING number
)
UPDATE jobs_job SET form_version = coalesce((SELECT number FROM published), 0)
FROM edited WHERE id = %(job)s RETURNING form_version
""")
