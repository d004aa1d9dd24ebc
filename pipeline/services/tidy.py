"""Removing what nobody needs any more."""

from __future__ import annotations

from django.db import connection

BATCH = 5_000

_TURN = 7_463_001
"""An advisory lock: of several workers one removes at a time, so that none waits for another."""

_RECORDS = """
DELETE FROM pipeline_idempotencyrecord
WHERE (SELECT pg_try_advisory_xact_lock(%(turn)s)) AND id = ANY(ARRAY(
    SELECT id FROM pipeline_idempotencyrecord WHERE expires_at <= clock_timestamp()
    ORDER BY expires_at LIMIT %(batch)s))
AND expires_at <= clock_timestamp()
"""

_THROTTLES = """
DELETE FROM pipeline_throttle
WHERE (SELECT pg_try_advisory_xact_lock(%(turn)s)) AND id = ANY(ARRAY(
    SELECT id FROM pipeline_throttle WHERE empty_at <= clock_timestamp() LIMIT %(batch)s))
AND empty_at <= clock_timestamp()
"""

_SESSIONS = """
DELETE FROM django_session
WHERE (SELECT pg_try_advisory_xact_lock(%(turn)s)) AND session_key = ANY(ARRAY(
    SELECT session_key FROM django_session WHERE expire_date <= clock_timestamp()
    ORDER BY expire_date LIMIT %(batch)s))
AND expire_date <= clock_timestamp()
"""


def remove_expired() -> bool:
    """Remove answers kept for 24 h, rates all of which is back, and sessions that have expired.

    At most 5,000 of each. Says whether there may be more.
    """
    with connection.cursor() as cursor:
        bounds = {"turn": _TURN, "batch": BATCH}
        removed = []
        for statement in (_RECORDS, _THROTTLES, _SESSIONS):
            cursor.execute(statement, bounds)
            removed.append(cursor.rowcount)
        return BATCH in removed
