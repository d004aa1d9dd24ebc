"""A real PostgreSQL on demand, started by the first connection and stopped by its last user."""

from __future__ import annotations

import atexit
from functools import cached_property
from pathlib import Path

from pipeline.database import file_locks
from pipeline.database.binaries import copy_reachable, find_binaries
from pipeline.database.data_dir import (
    choose_data_folder,
    choose_socket_folder,
    make_reachable_folder,
)
from pipeline.database.file_locks import SharedFileLock
from pipeline.database.server import PORT, SUPERUSER, DatabaseServer, unprivileged_user

__all__ = ["PORT", "Cluster"]


class Cluster:
    """The PostgreSQL in the folder `base`, shared by all processes that name the same `base`.

    `conf` holds settings of the server. Creating a Cluster touches nothing; `ensure` does.
    """

    def __init__(self, base: Path, **conf: str) -> None:
        self._user = unprivileged_user()
        self.base = choose_data_folder(base, self._user)
        self.socket_dir = choose_socket_folder(self.base)
        self.conf = conf
        self._seat: SharedFileLock | None = None

    def ensure(self) -> None:
        """Start the server if necessary, and count this process among its users until it ends.

        Quick if the server is up. Raises ClusterError if it cannot be started.
        """
        make_reachable_folder(self.base, self._user)
        with file_locks.hold(self.base / "start.lock") as lock:
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
        from pipeline.database import roles  # needs Django

        roles.prepare_cluster(self.socket_dir, superuser=SUPERUSER, port=PORT)

    def release(self) -> None:
        """Stop using the server. Its last user stops it. Runs at exit."""
        if self._seat is None or not self._seat.is_mine() or not self.base.exists():
            return
        with file_locks.hold(self.base / "start.lock"):
            if self._seat.leave():
                self.server.stop()
            self._seat = None

    @cached_property
    def server(self) -> DatabaseServer:
        """Return the server, running or not. Raises ClusterError if no PostgreSQL is found."""
        binaries = find_binaries()
        if self._user:
            binaries = copy_reachable(binaries, self.base)
        return DatabaseServer(binaries, self.base, self.socket_dir, self._user, self.conf)
