"""Findings about what happens in the database: open transactions, replication, archive, backup."""

from __future__ import annotations

from collections.abc import Iterator

from django.conf import settings

from pipeline.database import roles
from pipeline.line.event_log import logged_time
from pipeline.management.doctor.findings import Finding, found_ok, found_problem, found_warning
from pipeline.selectors.database import LOCK_SECONDS, OpenTransaction, read_gauges
from pipeline.wording.english import count

MOST_NAMED = 5
# The same numbers as in deploy/prometheus/alerts.yaml.
SNAPSHOT_SECONDS, SNAPSHOT_TRANSACTIONS = 600.0, 100_000
RETAINED_BYTES = 5 * 2**30
BACKUP_SECONDS = 2 * 86_400.0
MEGABYTE = 10**6


def check_transactions() -> Iterator[Finding]:
    """Check whether other sessions hold locks of jobs or old snapshots."""
    gauges = read_gauges()
    locking = [
        each
        for each in gauges.transactions
        if each.locks_jobs and each.seconds is not None and each.seconds > LOCK_SECONDS
    ]
    snapshots = [
        each
        for each in gauges.transactions
        if each not in locking
        and each.held_back >= 0
        and ((each.seconds or 0) > SNAPSHOT_SECONDS or each.held_back > SNAPSHOT_TRANSACTIONS)
    ]
    hidden = [each for each in gauges.transactions if not each.state]
    if locking:
        yield found_problem(
            f"Locks of jobs are held, so changes are refused with BUSY: {_shorten(locking)}.",
            "End that program, or run SELECT pg_terminate_backend(its process) as its role or as a"
            " superuser. A prepared transaction ends with ROLLBACK PREPARED.",
        )
    if snapshots:
        yield found_warning(
            f"Old snapshots keep removed rows in the tables, which slows down all changes:"
            f" {_shorten(snapshots)}.",
            "End that program; run long reports and dumps on a replica without"
            " hot_standby_feedback.",
        )
    if hidden:
        yield found_warning(
            f"The site may not see how old these transactions are: {_shorten(hidden)}.",
            f"As PostgreSQL's superuser, run GRANT pg_read_all_stats TO {roles.table_owners()[0]};",
        )
    if not (locking or snapshots or hidden):
        yield found_ok("No other session holds a lock of a job or an old snapshot.")


def _shorten(transactions: list[OpenTransaction]) -> str:
    """Name the oldest transactions, and say how many are left out."""
    oldest = sorted(transactions, key=lambda each: -(each.seconds or 0))
    named = [
        f"{each.name} of {each.role} ({each.application or 'no application_name'},"
        f" {each.state or 'unknown state'}"
        + (f", for {each.seconds:.0f} s)" if each.seconds is not None else ")")
        for each in oldest[:MOST_NAMED]
    ]
    more = len(oldest) - MOST_NAMED
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def check_slots() -> Iterator[Finding]:
    """Check whether replication slots make the server keep much write-ahead log, or old rows."""
    advice = "Start its replica, or drop it: SELECT pg_drop_replication_slot(name)."
    for slot in read_gauges().slots:
        megabytes = slot.retained_bytes // MEGABYTE
        text = f"The replication slot {slot.name} keeps {megabytes} MB of write-ahead log"
        if slot.retained_bytes > RETAINED_BYTES:
            yield found_problem(f"{text}, and fills the database's disk.", advice)
        elif not slot.is_active:
            yield found_warning(f"{text}, but nobody reads it.", advice)
        elif slot.held_back > SNAPSHOT_TRANSACTIONS:
            yield found_warning(
                f"The replication slot {slot.name} holds back {slot.held_back} transactions.",
                "End long queries on its replica, or switch off hot_standby_feedback there.",
            )
        else:
            yield found_ok(f"{text}, and is in use.")


def check_wal_archive() -> Iterator[Finding]:
    """Check whether the write-ahead log reaches its archive, if there is one."""
    archive = read_gauges().archive
    if archive is None:
        yield found_ok("The write-ahead log is not archived: archive_mode is off.")
    elif archive.is_failing:
        yield found_problem(
            f"The write-ahead log cannot be archived: {archive.failed_file} failed. The last"
            f" success was {archive.age_seconds:.0f} s ago, and no later moment can be restored.",
            "PostgreSQL's log has the output of archive_command. Is the archive's disk full?",
        )
    elif archive.is_late:
        yield found_problem(
            f"No write-ahead log has been archived for {archive.age_seconds:.0f} s.",
            "archive_command hangs, or nothing is written: see PostgreSQL's log.",
        )
    else:
        yield found_ok(f"Write-ahead log was archived {archive.age_seconds:.0f} s ago.")


def check_backup() -> Iterator[Finding]:
    """Check the age of the last backup, as the backup's own command recorded it."""
    gauges = read_gauges()
    age_seconds = gauges.seconds_since(gauges.backup_at)
    if gauges.backup_at is None or age_seconds is None:
        if settings.EMBEDDED_POSTGRES is not None:
            yield found_ok("No backup is recorded. This is a site for one machine.")
            return
        yield found_warning(
            "No backup has been recorded.",
            "Back up as docs/operations.md says; its last command records the time.",
        )
        return
    text = f"The last backup is from {logged_time(gauges.backup_at)}"
    if age_seconds > BACKUP_SECONDS:
        yield found_problem(
            f"{text}: it is {count(int(age_seconds // 86_400), 'day')} old.",
            "Find out why the nightly backup fails, or does not record its time.",
        )
    else:
        yield found_ok(f"{text}.")


CHECKS = {
    "transactions": check_transactions,
    "slots": check_slots,
    "WAL archive": check_wal_archive,
    "backup": check_backup,
}
