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


def remove_expired() -> bool:
    """Remove answers kept for 24 h and rates all of which is back, at most 5,000 of each.

    Says whether there may be more.
    """
    with connection.cursor() as cursor:
        bounds = {"turn": _TURN, "batch": BATCH}
        cursor.execute(_RECORDS, bounds)
        records = cursor.rowcount
        cursor.execute(_THROTTLES, bounds)
        return BATCH in (records, cursor.rowcount)
