"""The backend's `DatabaseWrapper`, in a module with the name that Django expects."""

from __future__ import annotations

from time import monotonic
from typing import Any

import psycopg
from django.conf import settings
from django.db import OperationalError
from django.db.backends.postgresql import base
from django.db.utils import DatabaseErrorWrapper
from django.utils.functional import cached_property

from pipeline.database.cluster import PORT

# A connection that was alive this recently is used without another check.
TRUSTED_SECONDS = 1.0


class _StandbyErrors(DatabaseErrorWrapper):
    """Django's translation of errors; a server that takes no writes counts as away.

    During a failover, connections can reach a standby that is not the primary yet, or is no
    longer. A
    write in a transaction that was declared to be READ ONLY stays a mistake of the program.
    """

    wrapper: DatabaseWrapper

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
            said = self.wrapper.connection.info.parameter_status
            if "on" in (said("in_hot_standby"), said("default_transaction_read_only")):
                self.wrapper.errors_occurred = self.wrapper.is_standby = True
                raise OperationalError(*error.args).with_traceback(traceback) from error
        super().__exit__(kind, error, traceback)


class DatabaseWrapper(base.DatabaseWrapper):
    """PostgreSQL, embedded or not, whose health is checked at most once a second.

    If a connection is lost within that second, the request gets 503, and the next request gets a
    new connection.
    """

    _alive_at = float("-inf")
    is_standby = False  # it has refused a write, so the next request gets a new connection

    @cached_property
    def wrap_database_errors(self) -> DatabaseErrorWrapper:
        """Return the context manager that translates the driver's errors."""
        return _StandbyErrors(self)

    def close_if_health_check_failed(self) -> None:
        """Close a lost connection, unless it was alive a moment ago."""
        if monotonic() - self._alive_at < TRUSTED_SECONDS:
            self.health_check_done = True  # in this request: never in the middle of a transaction
        super().close_if_health_check_failed()

    def is_usable(self) -> bool:
        """Check whether the connection is alive, and note when it was."""
        usable = not self.is_standby and super().is_usable()
        self._alive_at = monotonic() if usable else float("-inf")
        return usable

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        """Connect to the database. Raises ClusterError if the embedded one cannot be started."""
        if cluster := settings.EMBEDDED_POSTGRES:
            cluster.ensure()
            # Given explicitly, because libpq would otherwise take it from PGPORT.
            conn_params = {"port": PORT, **conn_params}
        try:
            connection = super().get_new_connection(conn_params)
        except psycopg.OperationalError as error:
            if not cluster or 'role "' not in str(error):
                raise
            cluster.prepare_roles()  # an earlier release started this server, and it still runs
            connection = super().get_new_connection(conn_params)
        self._alive_at, self.is_standby = monotonic(), False
        return connection
