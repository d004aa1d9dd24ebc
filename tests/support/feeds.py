"""Waiting for the feed, which stops below the oldest running transaction of the cluster."""

from __future__ import annotations

from django.db import connection

PATIENCE_SECONDS = 60


def wait_for_the_feed() -> None:
    """Return once the feed shows everything committed now, whoever else uses the cluster."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_current_xact_id()")
        (ours,) = cursor.fetchone()
        for _ in range(PATIENCE_SECONDS * 200):
            cursor.execute(
                "SELECT pg_snapshot_xmin(pg_current_snapshot()) > %s::xid8, pg_sleep(0.005)", [ours]
            )
            if cursor.fetchone()[0]:
                return
    raise AssertionError("some transaction never ended")
