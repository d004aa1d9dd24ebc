"""A real PostgreSQL on demand, started by the first connection and stopped by its last user."""

from __future__ import annotations

import atexit
from functools import cached_property
from pathlib import Path

from pipeline.database.binaries import find_binaries, reachable_copy_of_binaries
from pipeline.database.data_dir import data_dir_of, make_dir_reachable, socket_dir_of
from pipeline.database.file_locks import SharedFileLock, hold_file_lock
from pipeline.database.server import PORT, SUPERUSER, DatabaseServer, server_user

__all__ = ["PORT", "Cluster"]


class Cluster:
    """The PostgreSQL in the folder `base`, shared by all processes that name the same `base`.

    `conf` holds settings of the server. Creating a Cluster touches nothing; `ensure` does.
    """

    def __init__(self, base: Path, **conf: str) -> None:
        self._user = server_user()
        self.base = data_dir_of(base, self._user)
        self.socket_dir = socket_dir_of(self.base)
        self.conf = conf
        self._seat: SharedFileLock | None = None

    def ensure(self) -> None:
        """Start the server if necessary, and count this process among its users until it ends.

        Quick if the server is up. Raises ClusterError if it cannot be started.
        """
        make_dir_reachable(self.base, self._user)
        with hold_file_lock(self.base / "start.lock") as lock:
            if not (self._seat and self._seat.is_mine()):  # once per process, before the start
                if self._seat:
                    self._seat.forget()
                self._seat = SharedFileLock(self.base / "users.lock")
                atexit.register(self.release)
            if not self.server.is_ready():
                self.server.start(lock=lock)
                self.prepare_roles()

    def prepare_roles(self) -> None:
        """Create the roles of the owner and the application, and give them the database."""
        from pipeline.database.roles import prepare_roles_of_cluster  # needs Django

        prepare_roles_of_cluster(self.socket_dir, superuser=SUPERUSER, port=PORT)

    def release(self) -> None:
        """Stop using the server. Its last user stops it. Runs at exit."""
        if self._seat is None or not self._seat.is_mine() or not self.base.exists():
            return
        with hold_file_lock(self.base / "start.lock"):
            if self._seat.leave():
                self.server.stop()
            self._seat = None

    @cached_property
    def server(self) -> DatabaseServer:
        """Return the server, running or not. Raises ClusterError if no PostgreSQL is found."""
        binaries = find_binaries()
        if self._user:
            binaries = reachable_copy_of_binaries(binaries, self.base)
        return DatabaseServer(binaries, self.base, self.socket_dir, self._user, self.conf)
