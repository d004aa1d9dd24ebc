"""The backend's `DatabaseWrapper`; Django looks for it in a module of this name."""

from __future__ import annotations

from time import monotonic
from typing import Any

import psycopg
from django.conf import settings
from django.db.backends.postgresql import base

from pipeline.database.cluster import PORT

# A connection that was alive so long ago is used without being asked whether it still is.
TRUSTED_SECONDS = 1.0


class DatabaseWrapper(base.DatabaseWrapper):
    """PostgreSQL, embedded or not, whose health is checked at most once a second.

    A request that meets a connection lost within that second is answered with 503, and the next
    request gets a new connection.
    """

    _alive_at = float("-inf")

    def close_if_health_check_failed(self) -> None:
        """Close a connection that is lost, unless it was alive a moment ago."""
        if monotonic() - self._alive_at < TRUSTED_SECONDS:
            self.health_check_done = True  # of this request: never in the middle of a transaction
        super().close_if_health_check_failed()

    def is_usable(self) -> bool:
        """Ask whether the connection is alive, and note when it was."""
        usable = super().is_usable()
        self._alive_at = monotonic() if usable else float("-inf")
        return usable

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect to the database. Raises ClusterError if the embedded one cannot be started."""
        if cluster := settings.EMBEDDED_POSTGRES:
            cluster.ensure()
            # Given explicitly, or libpq would take it from the environment's PGPORT.
            conn_params = {"port": PORT, **conn_params}
        try:
            connection = super().get_new_connection(conn_params)
        except psycopg.OperationalError as error:
            if not cluster or 'role "' not in str(error):
                raise
            cluster.prepare_roles()  # an earlier release has started this server, and runs it still
            connection = super().get_new_connection(conn_params)
        self._alive_at = monotonic()
        return connection
