"""State of the database server, as far as SQL shows it: what holds it up or endangers it.

It does not show how much space is free on the server's disk.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

# A change waits for a job's lock this long, then it is refused: lock_timeout.
LOCK_SECONDS = 3.0
# Within this time, or twice archive_timeout, a site in use has archived a file.
ARCHIVE_SECONDS = 600.0

# Open transactions: of sessions, of replicas that report theirs, and prepared ones. A snapshot in
# another database does not keep rows of this one, but a transaction that writes holds up the feed.
_TRANSACTIONS = """
WITH holder AS (
    SELECT DISTINCT coalesce(pid::text, virtualtransaction) AS id FROM pg_locks
    WHERE granted AND locktype IN ('relation', 'tuple') AND mode <> 'AccessShareLock'
      AND relation = 'jobs_job'::regclass
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
SELECT 'process ' || a.pid, coalesce(a.usename, ''), coalesce(a.application_name, ''),
       coalesce(a.state, seen.state, ''),
       extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, seen.began))::float8,
       coalesce(greatest(age(a.backend_xid), age(a.backend_xmin)), -1),
       a.pid::text IN (SELECT id FROM holder)
FROM pg_stat_activity a LEFT JOIN pipeline_transactions() seen USING (pid)
WHERE a.pid <> pg_backend_pid()
  -- Those of another database hold nothing of this one; a replica's connection has no database.
  AND coalesce(a.datname, current_database()) = current_database()
  AND coalesce(a.backend_type, '') NOT IN ('autovacuum worker', 'autovacuum launcher')
  AND (a.xact_start IS NOT NULL OR seen.began IS NOT NULL OR a.backend_xmin IS NOT NULL
       OR a.backend_xid IS NOT NULL OR a.pid::text IN (SELECT id FROM holder))
UNION ALL
SELECT 'prepared transaction ' || gid, owner, '', 'prepared',
       extract(epoch FROM clock_timestamp() - prepared)::float8, age(transaction),
       '-1/' || transaction::text IN (SELECT id FROM holder)
FROM pg_prepared_xacts WHERE database = current_database()
"""
_SLOTS = """
SELECT slot_name, active, coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery()
           THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END, restart_lsn), 0)::bigint,
       coalesce(greatest(age(xmin), age(catalog_xmin)), -1)
FROM pg_replication_slots WHERE NOT temporary ORDER BY 1
"""
# Before the first file was archived, time counts from the start of these statistics.
_ARCHIVE = """
SELECT extract(epoch FROM clock_timestamp() - coalesce(last_archived_time, stats_reset))::float8,
       coalesce(last_failed_time > coalesce(last_archived_time, '-infinity'), false),
       coalesce(last_failed_wal, ''),
       (SELECT setting::int FROM pg_settings WHERE name = 'archive_timeout')
FROM pg_stat_archiver WHERE current_setting('archive_mode') <> 'off'
"""
_SIGNS = """
SELECT pg_database_size(current_database()),
       (SELECT completed_at FROM pipeline_heartbeat WHERE worker = 'backup'),
       (SELECT completed_at FROM pipeline_heartbeat WHERE worker = 'anchors'),
       clock_timestamp()
"""


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """Transaction of another session. `seconds` is None if the site may not see its age.

    `held_back` is the number of transactions since the oldest one that it keeps from being cleaned
    up or from appearing in the feed; -1 if there is none.
    """

    name: str
    role: str
    application: str
    state: str
    seconds: float | None
    held_back: int
    locks_jobs: bool


@dataclass(frozen=True, slots=True)
class Slot:
    """Replication slot, and the write-ahead log in bytes that the server keeps for it."""

    name: str
    is_active: bool
    retained_bytes: int
    held_back: int


@dataclass(frozen=True, slots=True)
class WalArchive:
    """Archiver of the write-ahead log. `failed_file` is the last that failed, ever.

    `timeout_seconds` is after how long PostgreSQL archives a file that is not full; 0 for never.
    """

    age_seconds: float
    is_failing: bool
    failed_file: str
    timeout_seconds: int

    @property
    def is_late(self) -> bool:
        """Tell whether a file should have been archived by now, even on a quiet site."""
        due_seconds = max(ARCHIVE_SECONDS, 2.0 * self.timeout_seconds)
        return self.timeout_seconds > 0 and self.age_seconds > due_seconds


@dataclass(frozen=True, slots=True)
class DatabaseGauges:
    """State of the database server. `archive` is None if it is switched off."""

    transactions: list[OpenTransaction]
    slots: list[Slot]
    archive: WalArchive | None
    size_bytes: int
    backup_at: datetime | None
    anchors_at: datetime | None
    now: datetime

    def lock_seconds(self) -> float:
        """Return the age of the oldest transaction that holds a lock on jobs; 0 without one."""
        return max(
            (each.seconds or 0.0 for each in self.transactions if each.locks_jobs), default=0
        )

    def snapshot_seconds(self) -> float:
        """Return the age of the oldest transaction that holds a snapshot; 0 without one."""
        held = [each.seconds or 0.0 for each in self.transactions if each.held_back >= 0]
        return max(held, default=0)

    def snapshot_transactions(self) -> int:
        """Return how many transactions the oldest snapshot or slot holds back."""
        by_transactions = (each.held_back for each in self.transactions)
        by_slots = (each.held_back for each in self.slots)
        return max((0, *by_transactions, *by_slots))

    def seconds_since(self, at: datetime | None) -> float | None:
        """Return the seconds from then to the database's present; None for None."""
        return None if at is None else (self.now - at).total_seconds()


def read_gauges() -> DatabaseGauges:
    """Read the state of the database server, in four statements."""
    with connection.cursor() as cursor:
        cursor.execute(_TRANSACTIONS)
        transactions = [OpenTransaction(*row) for row in cursor.fetchall()]
        cursor.execute(_SLOTS)
        slots = [Slot(*row) for row in cursor.fetchall()]
        cursor.execute(_ARCHIVE)
        archive = [WalArchive(*row) for row in cursor.fetchall()]
        cursor.execute(_SIGNS)
        signs = cursor.fetchone()
    return DatabaseGauges(transactions, slots, archive[0] if archive else None, *signs)
