"""Findings about the database: its set-up, and what happens in it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pgtrigger
import psycopg
from django.conf import settings
from django.db import DatabaseError, connection, connections

from pipeline.database import instants, pooler, replica, roles
from pipeline.database.binaries import OLDEST_MAJOR
from pipeline.database.errors import ClusterError
from pipeline.database.fatal_errors import connection_advice
from pipeline.database.pooler import SESSION
from pipeline.database.replica import REPLICA, ReplicaState
from pipeline.line.event_log import logged_time
from pipeline.management.doctor.findings import Finding, found_ok, found_problem, found_warning
from pipeline.models import Event, RemovedLog
from pipeline.selectors.database import LOCK_SECONDS, OpenTransaction, read_gauges
from pipeline.selectors.system import missing_migrations, unknown_migrations
from pipeline.wording.english import count
from tasks import listen
from tasks.listen import TransactionPooler

# Without these, a crash of the machine can lose or damage committed data.
DURABLE = ("fsync", "full_page_writes", "synchronous_commit")
CONNECTIONS_PERCENT = 80
CHANNEL = "doctor"
NOTIFY_SECONDS = 2.0
MOST_NAMED = 5
# Signed links, authenticator apps and TLS go by this machine's clock.
CLOCK_WARNING_SECONDS, CLOCK_PROBLEM_SECONDS = 2.0, 30.0


def check_connection() -> Iterator[Finding]:
    """Connect, and check the version and whether the server accepts writes."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT current_user, pg_database_size(current_database()) / 1000000,"
                " pg_is_in_recovery(), current_setting('default_transaction_read_only') = 'on'"
            )
            user, megabytes, is_standby, is_read_only = cursor.fetchone()
    except (DatabaseError, ClusterError) as error:
        advice = connection_advice(error) or "Start PostgreSQL."
        yield found_problem(
            f"The database cannot be reached: {' '.join(str(error).split())}",
            f"{advice} The rest of the database was not checked.",
        )
        return
    number = connection.connection.info.server_version
    version = f"PostgreSQL {number // 10_000}.{number % 10_000}"
    if number // 10_000 < OLDEST_MAJOR:
        yield found_problem(f"{version} is too old.", f"Upgrade to {OLDEST_MAJOR} or newer.")
    elif is_standby or is_read_only:
        yield found_problem(
            f"{version} accepts no writes.",
            "Promote this server, or point DATABASE_URL at the primary.",
        )
    else:
        yield found_ok(
            f"{version}, reached as {user}; the database takes {megabytes} MB."
            " SQL does not show how much of its disk is free: watch that on its server."
        )


def check_server() -> Iterator[Finding]:
    """Check the server's settings that matter, and how many connections are left."""
    names = [*DURABLE, "autovacuum", "server_encoding", *SESSION]
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, current_setting(name) FROM unnest(%s::text[]) name", [names])
        now = dict(cursor.fetchall())
        cursor.execute(
            "SELECT count(*), current_setting('max_connections')::int FROM pg_stat_activity"
            " WHERE backend_type = 'client backend'"
        )
        used, most = cursor.fetchone()
    if unsafe := [name for name in DURABLE if now[name] == "off"]:
        yield found_problem(
            f"Off, so that a crash can lose committed data: {', '.join(unsafe)}.",
            "Switch them on in postgresql.conf.",
        )
    if now["autovacuum"] == "off":
        yield found_problem("autovacuum is off: tables grow without limit.", "Switch it on.")
    if now["server_encoding"] != "UTF8":
        yield found_problem(
            f"The database's encoding is {now['server_encoding']}: some names cannot be stored.",
            "Create the database with ENCODING 'UTF8'.",
        )
    if lost := [name for name, wanted in SESSION.items() if now[name] != wanted]:
        yield found_warning(
            f"A pooler has dropped settings of the connection: {', '.join(lost)}.",
            "Set them on the role with ALTER ROLE … SET, or connect without the pooler.",
        )
    is_nearly_full = 100 * used >= CONNECTIONS_PERCENT * most
    if is_nearly_full:
        yield found_warning(
            f"{used} of {most} connections are in use.",
            "Raise max_connections, or run fewer processes or threads.",
        )
    else:
        yield found_ok(f"{used} of {most} connections are in use.")


def check_notifications() -> Iterator[Finding]:
    """Send a notification to this process; live pages and workers depend on them."""
    try:
        with listen.connect(CHANNEL) as listener:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_notify(%s, '')", [CHANNEL])
            heard = any(listener.notifies(timeout=NOTIFY_SECONDS, stop_after=1))
    except TransactionPooler:
        yield found_problem(
            "LISTEN and settings of a session are lost: this address is that of a pooler in"
            " transaction mode.",
            "Set DATABASE_DIRECT_URL to the address of PostgreSQL itself.",
        )
        return
    except psycopg.Error:
        heard = False
    if heard:
        yield found_ok("LISTEN and NOTIFY work.")
    else:
        yield found_warning(
            "LISTEN and NOTIFY do not work: pages poll, and workers notice new work late.",
            "Connect to PostgreSQL directly, or through a pooler in session mode.",
        )


def check_pooler() -> Iterator[Finding]:
    """Check the pooler that web servers connect through, if there is one."""
    if not settings.POOLED_DATABASE:
        return
    faults = [
        found_problem(
            f"In DATABASE_URL, {fault}.",
            "docs/scaling.md says how to set up a pooler and the role.",
        )
        for fault in pooler.find_faults()
    ]
    yield from faults or [found_ok("The pooler in DATABASE_URL serves the web servers.")]


def check_replica() -> Iterator[Finding]:
    """Check that the replica, if there is one, has replayed what the primary has committed."""
    if REPLICA not in settings.DATABASES:
        return
    try:
        state = replica.read_state(connections[REPLICA], replica.committed_place())
    except DatabaseError as error:
        yield found_problem(
            f"The replica in REPLICA_URL cannot be reached: {' '.join(str(error).split())}",
            "Start it, or remove REPLICA_URL. Until then the primary serves all reads.",
        )
        return
    if state is ReplicaState.CURRENT:
        yield found_ok("The replica in REPLICA_URL is current.")
    elif state is ReplicaState.STRANGER:
        yield found_problem(
            "The server in REPLICA_URL is not a replica of this primary: its history differs.",
            "Rebuild it from this primary, as docs/scaling.md says. The primary serves the reads"
            " meanwhile.",
        )
    elif state is ReplicaState.FORMER_TIMELINE:
        yield found_warning(
            "The replica in REPLICA_URL has all events, but has not noted the primary's timeline.",
            "After a failover, wait for its next checkpoint, or run CHECKPOINT on it. The primary"
            " serves the reads meanwhile. If this lasts, rebuild it; see docs/scaling.md.",
        )
    else:
        yield found_warning(
            "The replica in REPLICA_URL lags.",
            "Look at pg_stat_replication on the primary. The primary serves the reads meanwhile.",
        )


def check_roles() -> Iterator[Finding]:
    """Check the application's rights, and which roles own the tables and may rewrite the log."""
    if forbidden := roles.find_forbidden_tables():
        yield found_problem(
            f"The site's role lacks rights on {_shorten_names(forbidden)}.",
            "Run manage.py migrate with MIGRATION_DATABASE_URL, which grants them.",
        )
    owners = roles.table_owners()
    if len(owners) > 1:
        yield found_problem(
            f"The tables belong to several roles: {', '.join(owners)}. Migrations will fail.",
            "Give all tables to one role with REASSIGN OWNED BY … TO …",
        )
    migrator = (settings.MIGRATION_DATABASE or {}).get("USER")
    if migrator and owners and migrator not in owners:
        yield found_problem(
            f"MIGRATION_DATABASE_URL names {migrator}, but the tables belong to {owners[0]}.",
            f"Put {owners[0]} into MIGRATION_DATABASE_URL.",
        )
    if roles.may_rewrite_log():
        is_for_one_machine = settings.EMBEDDED_POSTGRES is not None
        yield (found_warning if is_for_one_machine else found_problem)(
            "The site's role can rewrite the log, because it owns the tables or is a superuser.",
            "Use two roles: MIGRATION_DATABASE_URL for the owner, DATABASE_URL for the site.",
        )
    elif not forbidden:
        yield found_ok("The site's role has the rights it needs, and cannot rewrite the log.")


def check_triggers() -> Iterator[Finding]:
    """Check that the triggers that protect the log are installed and on."""
    off = []
    pairs = [(each, model) for model in (Event, RemovedLog) for each in model._meta.triggers]  # type: ignore[union-attr]
    for trigger, model in pairs:
        status, is_enabled = trigger.get_installation_status(model)
        if status != pgtrigger.core.INSTALLED or not is_enabled:
            off.append(trigger.name)
    if off:
        yield found_problem(
            f"The log is not protected; missing or switched off: {', '.join(off)}.",
            "Run manage.py pgtrigger enable as the owner of the tables, then manage.py verify_log.",
        )
    else:
        yield found_ok("The triggers that protect the log are on.")


def check_migrations() -> Iterator[Finding]:
    """Compare the migrations in the database with those of this code."""
    missing, unknown = missing_migrations(), unknown_migrations()
    if missing:
        yield found_problem(
            f"Migrations are missing: {_shorten_names(missing)}.",
            "Run manage.py migrate.",
        )
    if unknown:
        yield found_warning(
            f"This code does not know migrations that the database has: {_shorten_names(unknown)}.",
            "Start the release that the database was migrated to.",
        )
    if not missing and not unknown:
        yield found_ok("All migrations are applied.")


def check_clock() -> Iterator[Finding]:
    """Compare this machine's clock with the database's, between two readings of the former."""
    started = time.monotonic()
    before = datetime.now(UTC)
    there = instants.now()
    answer_seconds = time.monotonic() - started
    off = (there - before).total_seconds() - answer_seconds / 2
    if abs(off) <= CLOCK_WARNING_SECONDS + answer_seconds / 2:
        yield found_ok(f"This machine's clock and the database's agree to {abs(off):.1f} s.")
        return
    said = "behind" if off > 0 else "ahead of"
    text = f"This machine's clock is {abs(off):.0f} s {said} the database's."
    found = found_problem if abs(off) > CLOCK_PROBLEM_SECONDS else found_warning
    yield found(text, "Synchronise both machines' clocks, for example with chrony.")


def _shorten_names(names: list[str]) -> str:
    """Join the first names, and say how many are left out."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


# Findings about what happens in the database: open transactions, replication, archive, backup.


MOST_TRANSACTIONS = 5
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
        for each in oldest[:MOST_TRANSACTIONS]
    ]
    more = len(oldest) - MOST_TRANSACTIONS
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


ACTIVITY_CHECKS = {
    "transactions": check_transactions,
    "slots": check_slots,
    "WAL archive": check_wal_archive,
    "backup": check_backup,
}
