"""The backend's `DatabaseWrapper`; Django looks for it in a module of this name."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db.backends.postgresql import base
from django.db.backends.postgresql.base import Database

from pipeline.database.cluster import PORT


class DatabaseWrapper(base.DatabaseWrapper):
    """PostgreSQL, where a new connection first makes sure that there is a server to talk to."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect to the embedded server. Raises ClusterError if it cannot be started."""
        if cluster := settings.EMBEDDED_POSTGRES:
            cluster.ensure()
        # Said aloud, or libpq would take it from the environment's PGPORT.
        given = {"port": PORT, **conn_params}
        try:
            return super().get_new_connection(given)
        except Database.OperationalError as error:
            if not cluster or "does not exist" not in str(error):
                raise
            cluster.prepare_roles()  # an earlier release has started this server, and runs it still
            return super().get_new_connection(given)
