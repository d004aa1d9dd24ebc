"""Removal of expired rows every few minutes, for the whole site."""

from __future__ import annotations

from collections import Counter

from django.db import connection

from tasks.advisory_locks import RETENTION_TURN
from tasks.context import Context
from tasks.models import HIGHEST_PRIORITY
from tasks.registry import task_type
from tasks.scheduling import schedules

BATCH = 5_000
# File parts per statement: each is up to a megabyte.
PARTS = 64
# Deliveries of webhooks and their attempts.
WEBHOOKS_DAYS = 30
# Requests of API keys.
REQUESTS_DAYS = 7
# Notifications on devices. An offer with reminders can be open for 30 days and longer.
NOTICES_DAYS = 90
# Decisions that have taken effect, with the people they were about; the log keeps what happened.
DECISIONS_DAYS = 30
# Bulk messages that have gone out, with the people to whom they went; the messages stay.
BULK_MESSAGES_DAYS = 90
# What the members of companies did, for their owners.
ACTIVITY_DAYS = 400
# Requests for a company, since the decision or the request itself.
COMPANY_REQUESTS_DAYS = 90


_BEFORE_TODAY = "day < (clock_timestamp() AT TIME ZONE 'UTC')::date"
_OVER = "SELECT id FROM pipeline_storedfile WHERE expires_at <= clock_timestamp()"


_OLD_DECISIONS = f"""
SELECT id FROM pipeline_pendingdecision WHERE finished_at IS NOT NULL
  AND created_at <= clock_timestamp() - interval '{DECISIONS_DAYS} days'
"""  # noqa: S608  of a constant


_OLD_BULK = f"""
SELECT id FROM pipeline_bulkmessage
WHERE finished_at <= clock_timestamp() - interval '{BULK_MESSAGES_DAYS} days'
"""  # noqa: S608  of a constant


def _removal_sql(table: str, key: str, condition: str, *, order: str = "") -> str:
    """Return SQL that removes some rows that meet a condition, in index order if given."""
    chosen = f"SELECT {key} FROM {table} WHERE {condition} {order} LIMIT %(batch)s"  # noqa: S608 -- of texts that stand below
    return (
        f"DELETE FROM {table} WHERE (SELECT pg_try_advisory_xact_lock(%(turn)s))"  # noqa: S608 -- of texts that stand below
        f" AND {key} = ANY(ARRAY({chosen})) AND {condition}"
    )


def _age_sql(table: str, column: str) -> str:
    """Return SQL that removes some webhook rows whose retention has ended."""
    condition = f"{column} <= clock_timestamp() - interval '{WEBHOOKS_DAYS} days'"
    return _removal_sql(table, "id", condition, order=f"ORDER BY {column}")


# What is removed: each kind with its statement and the most rows it removes. A file's parts and
# import records are removed before the file.
STATEMENTS: dict[str, tuple[str, int]] = {
    "answers": (
        _removal_sql(
            "pipeline_idempotencyrecord",
            "id",
            "expires_at <= clock_timestamp()",
            order="ORDER BY expires_at",
        ),
        BATCH,
    ),
    "rates": (
        _removal_sql("pipeline_throttle", "id", "empty_at <= clock_timestamp()"),
        BATCH,
    ),
    "sessions": (
        _removal_sql(
            "django_session",
            "session_key",
            "expire_date <= clock_timestamp()",
            order="ORDER BY expire_date",
        ),
        BATCH,
    ),
    "web_servers": (
        _removal_sql(
            "pipeline_webserver", "name", "answered_at <= clock_timestamp() - interval '1 day'"
        ),
        BATCH,
    ),
    "tokens": (
        _removal_sql(
            "applicants_applicanttoken",
            "id",
            "expires_at <= clock_timestamp()",
            order="ORDER BY expires_at",
        ),
        BATCH,
    ),
    "portal_tokens": (
        _removal_sql(
            "pipeline_portaltoken",
            "id",
            "expires_at <= clock_timestamp()",
            order="ORDER BY expires_at",
        ),
        BATCH,
    ),
    "requests": (
        _removal_sql(
            "pipeline_requestrecord",
            "id",
            f"at <= clock_timestamp() - interval '{REQUESTS_DAYS} days'",
        ),
        BATCH,
    ),
    "activity": (
        _removal_sql(
            "jobs_activity",
            "id",
            f"at <= clock_timestamp() - interval '{ACTIVITY_DAYS} days'",
            order="ORDER BY at",
        ),
        BATCH,
    ),
    "notices": (
        _removal_sql(
            "applicants_devicenotice",
            "id",
            f"at <= clock_timestamp() - interval '{NOTICES_DAYS} days'",
            order="ORDER BY at",
        ),
        BATCH,
    ),
    "company_requests": (
        _removal_sql(
            "jobs_companyrequest",
            "id",
            "coalesce(decided_at, asked_at)"
            f" <= clock_timestamp() - interval '{COMPANY_REQUESTS_DAYS} days'",
        ),
        BATCH,
    ),
    # Hashes of yesterday's visitors, and the salt with which they were made.
    "visitors": (_removal_sql("pipeline_visitor", "digest", _BEFORE_TODAY), BATCH),
    "visitor_salts": (_removal_sql("pipeline_visitorsalt", "day", _BEFORE_TODAY), BATCH),
    "codes": (
        _removal_sql(
            "applicants_signincode",
            "address",
            "counted_until <= clock_timestamp() AND expires_at <= clock_timestamp()",
            order="ORDER BY counted_until",
        ),
        BATCH,
    ),
    "attempts": (_age_sql("pipeline_webhookattempt", "at"), BATCH),
    "deliveries": (_age_sql("pipeline_webhookdelivery", "created_at"), BATCH),
    "chat_messages": (_age_sql("pipeline_chatmessage", "created_at"), BATCH),
    "private_emails": (
        _removal_sql(
            "applicants_privateemail",
            "id",
            "expires_at <= clock_timestamp()",
            order="ORDER BY expires_at",
        ),
        BATCH,
    ),
    "decision_items": (
        _removal_sql("pipeline_decisionitem", "id", f"decision_id IN ({_OLD_DECISIONS})"),
        BATCH,
    ),
    "decisions": (
        _removal_sql(
            "pipeline_pendingdecision",
            "id",
            f"id IN ({_OLD_DECISIONS}) AND NOT EXISTS (SELECT FROM pipeline_decisionitem item"
            " WHERE item.decision_id = pipeline_pendingdecision.id)",
        ),
        BATCH,
    ),
    "bulk_message_items": (
        _removal_sql("pipeline_bulkmessageitem", "id", f"bulk_id IN ({_OLD_BULK})"),
        BATCH,
    ),
    "bulk_messages": (
        _removal_sql(
            "pipeline_bulkmessage",
            "id",
            f"id IN ({_OLD_BULK}) AND NOT EXISTS (SELECT FROM pipeline_bulkmessageitem item"
            " WHERE item.bulk_id = pipeline_bulkmessage.id)",
        ),
        BATCH,
    ),
    "refusals": (
        _removal_sql("pipeline_importrefusal", "id", f"run_id IN ({_OVER})"),
        BATCH,
    ),
    "imports": (
        _removal_sql(
            "pipeline_importrun",
            "file_id",
            f"file_id IN ({_OVER}) AND NOT EXISTS (SELECT FROM pipeline_importrefusal refusal"
            " WHERE refusal.run_id = pipeline_importrun.file_id)",
        ),
        BATCH,
    ),
    "parts": (
        _removal_sql("pipeline_storedpart", "id", f"file_id IN ({_OVER})"),
        PARTS,
    ),
    "files": (
        _removal_sql(
            "pipeline_storedfile",
            "id",
            "expires_at <= clock_timestamp()"
            " AND NOT EXISTS (SELECT FROM pipeline_storedpart part WHERE part.file_id ="
            " pipeline_storedfile.id)"
            " AND NOT EXISTS (SELECT FROM pipeline_importrun run WHERE run.file_id ="
            " pipeline_storedfile.id)",
            order="ORDER BY expires_at",
        ),
        BATCH,
    ),
}


def remove_batch() -> dict[str, int]:
    """Remove expired rows: responses kept for 24 h, fully refilled rates, sessions.

    Also removes applicants' tokens and codes, webhook deliveries, and files with everything that
    belongs to them.

    Returns the number of removed rows of each kind. Each kind has its own transaction and a limit.
    If a kind reaches its limit (`has_more`), there may be more.
    """
    removed = {}
    with connection.cursor() as cursor:
        for kind, (statement, batch) in STATEMENTS.items():
            cursor.execute(statement, {"turn": RETENTION_TURN, "batch": batch})
            removed[kind] = cursor.rowcount
    return removed


def has_more(removed: dict[str, int]) -> bool:
    """Return True if a kind reached its limit."""
    return any(count >= STATEMENTS[kind][1] for kind, count in removed.items())


# Task that removes expired rows every few minutes, for the whole site.


KEY = "retention.site"
EVERY_FIVE_MINUTES = "*/5 * * * *"


@task_type(key=KEY, owner="site", queue="upkeep", timeout_seconds=240, max_attempts=3, cap=1)
def remove_expired(context: Context) -> dict[str, int]:
    """Remove all expired rows, batch by batch. Returns the number of rows of each kind."""
    removed: Counter[str] = Counter()
    while not context.cancelled:
        batch = remove_batch()
        removed.update(batch)
        context.progress(removed.total(), removed.total(), "rows removed")
        if not has_more(batch):
            break
    return {kind: count for kind, count in removed.items() if count}


def ensure_expiry() -> None:
    """Create the schedule. Safe to call at every start and from many processes at once."""
    schedules.ensure("Retention", EVERY_FIVE_MINUTES, KEY, priority=HIGHEST_PRIORITY)
