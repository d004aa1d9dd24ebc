"""`manage.py restart_feed`: continue the feed after a restore into another cluster."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand
from django.db import connection, transaction

from pipeline.database import roles

_STATE = """
SELECT greatest((SELECT max(txid) FROM pipeline_event),
                (SELECT max(last_txid) FROM pipeline_removedlog),
                (SELECT max(txid) FROM pipeline_change), 0),
       pipeline_feed_place(), pg_snapshot_xmin(pg_current_snapshot())::text::bigint
"""

_FUNCTIONS = """
CREATE OR REPLACE FUNCTION pipeline_feed_place() RETURNS bigint STABLE LANGUAGE sql
    AS 'SELECT pg_current_xact_id()::text::bigint + {ahead}';
CREATE OR REPLACE FUNCTION pipeline_feed_horizon() RETURNS bigint STABLE LANGUAGE sql
    AS 'SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + {ahead}';
"""


class Command(BaseCommand):
    requires_system_checks = ("environment",)  # the other checks load every URL
    help = (
        "Run this once after restoring a dump into another cluster, before anything is written. A "
        "new cluster numbers its transactions from the start, so the feed would hold back all "
        "restored events until the numbers have caught up. Cursors stay valid. In other cases it "
        "does nothing."
    )

    def handle(self, **_: Any) -> None:
        with roles.migrating(), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("LOCK TABLE pipeline_event, pipeline_change IN SHARE ROW EXCLUSIVE MODE")
            cursor.execute(_STATE)
            last, place, oldest = cursor.fetchone()
            if last < place:
                self.stdout.write("Nothing to do: this cluster's transaction numbers are ahead.")
                return
            cursor.execute(_FUNCTIONS.format(ahead=last + 1 - oldest))
        self.stdout.write(self.style.SUCCESS("The feed continues after its last event."))
