"""A real PostgreSQL on demand, started by the first connection and stopped by its last user."""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pipeline.database import file_locks
from pipeline.database.binaries import Binaries, copy_reachable, find_binaries
from pipeline.database.data_dir import (
    choose_data_folder,
    choose_socket_folder,
    make_private_folder,
    make_reachable_folder,
)
from pipeline.database.errors import ClusterError
from pipeline.database.file_locks import SharedFileLock

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


# One PostgreSQL server: its files, settings, start and stop. Nothing here prevents two processes
# from doing this at once; `Cluster` does.


PORT = 5432  # no port is opened; the number is only part of the socket's name
SUPERUSER = "postgres"
BUILTIN_LOCALE_SINCE = 17

# The SSLRequest message, the shortest one that the server answers (with one letter).
SSL_REQUEST = struct.pack("!ii", 8, 80877103)
CONNECT_SECONDS = 5
START_SECONDS = 60
STOP_SECONDS = 30
# The backends of a killed server need a moment to notice. Only then is its memory free.
START_ATTEMPTS = 40
REST_SECONDS = 0.25
PASSING = ("pre-existing shared memory block", "lock file")

DEFAULTS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "jit": "off",  # compiling takes longer than our short queries
}


def unprivileged_user() -> pwd.struct_passwd | None:
    """Return the user who runs the server instead of root, or None if this process is not root."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return pwd.getpwnam("nobody")


@dataclass(frozen=True)
class DatabaseServer:
    """The server of `base`/data-<major>, reached through a socket in `socket_dir`.

    `user` runs it; None means this process's own user. `conf` holds settings that override the
    defaults.
    """

    binaries: Binaries
    base: Path
    socket_dir: Path
    user: pwd.struct_passwd | None
    conf: Mapping[str, str]

    @property
    def data(self) -> Path:
        """Return the data directory, one per major version, so that a new version starts empty."""
        return self.base / f"data-{self.binaries.major}"

    @property
    def socket(self) -> Path:
        """Return the socket's path. The file exists while the server runs."""
        return self.socket_dir / f".s.PGSQL.{PORT}"

    @property
    def log(self) -> Path:
        """Return the server's log file. The previous start's log is kept beside it."""
        return self.base / "log" / "postgres.log"

    def is_ready(self) -> bool:
        """Return whether the server accepts queries.

        During crash recovery it listens but accepts none.
        """
        with socket.socket(socket.AF_UNIX) as client, suppress(OSError, IndexError):
            status = (self.data / "postmaster.pid").read_text().splitlines()[7].strip()
            if status != "ready":  # it is starting or stopping
                return False
            # A server that was just killed may still accept connections, but never replies.
            client.settimeout(CONNECT_SECONDS)
            client.connect(str(self.socket))
            client.sendall(SSL_REQUEST)
            return client.recv(1) != b""
        return False

    def start(self, *, lock: int) -> None:
        """Start the server and wait until it is ready. The first start creates its files.

        An interrupted first start keeps `lock` until it has really ended. Raises ClusterError with
        the end of the log.
        """
        make_private_folder(self.log.parent, self.user)
        make_private_folder(self.socket_dir, self.user)
        if not self.data.exists():
            self._create_data(lock)
        # At each start, so that changes to `conf` or the folder apply.
        durability = (
            {} if self._is_durable() else {"synchronous_commit": "off", "full_page_writes": "off"}
        )
        folder = {"unix_socket_directories": str(self.socket_dir)}
        settings = DEFAULTS | folder | durability | dict(self.conf)
        path = self.base / "embedded.conf"
        path.write_text("".join(f"{name} = '{value}'\n" for name, value in settings.items()))
        path.chmod(0o644)  # despite the umask: the server may run as another user
        with suppress(FileNotFoundError):
            self.log.replace(self.log.with_suffix(".log.1"))
        self._start_with_retries()

    def _create_data(self, lock: int) -> None:
        """Run initdb in a temporary folder, then rename it: an interrupted run leaves nothing."""
        half_made = self.base / "initdb.half-made"
        shutil.rmtree(half_made, ignore_errors=True)
        make_private_folder(half_made, self.user)
        options = [] if self._is_durable() else ["--no-sync"]
        # The same collation on every machine, and lower() beyond ASCII.
        if self.binaries.major >= BUILTIN_LOCALE_SINCE:
            options += ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        else:
            options += ["--locale=C.UTF-8"]
        made = self._run(
            "initdb", "-D", half_made, "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", *options,
            pass_fds=(lock,),
        )  # fmt: skip
        if made.returncode:
            raise ClusterError(
                "PostgreSQL cannot create its files here; set DATABASE_URL to use another one. "
                f"Its initdb said:\n{made.stdout}{made.stderr}"
            )
        with (half_made / "postgresql.conf").open("a") as settings:
            settings.write("include '../embedded.conf'\n")
        os.rename(half_made, self.data)

    def _is_durable(self) -> bool:
        return self.conf.get("fsync") != "off"

    def _start_with_retries(self) -> None:
        for _ in range(START_ATTEMPTS):
            self._remove_stale_locks()
            started = self._control("start", "-l", self.log, "-t", START_SECONDS)
            if started or self.is_ready():
                return
            if not any(words in self._end_of_log() for words in PASSING):
                break
            time.sleep(REST_SECONDS)
        raise ClusterError(
            f"PostgreSQL did not start; its log, {self.log}, ends with:\n{self._end_of_log()}"
        )

    def _end_of_log(self) -> str:
        with suppress(OSError):
            return self.log.read_text(errors="replace")[-1500:]
        return "(nothing)"

    def stop(self) -> None:
        """Stop the server and wait until it has ended. Open connections are closed."""
        self._remove_stale_locks()  # otherwise another program might be told to stop
        if (self.data / "postmaster.pid").exists() and not self._control(
            "stop", "-m", "fast", "-t", STOP_SECONDS
        ):
            self._control("stop", "-m", "immediate", "-t", STOP_SECONDS)

    def _remove_stale_locks(self) -> None:
        for lock_file in (self.data / "postmaster.pid", Path(f"{self.socket}.lock")):
            remove_stale_lock(lock_file, self.base)

    def _control(self, verb: str, *options: object) -> bool:
        return self._run("pg_ctl", verb, "-w", "-D", self.data, *options).returncode == 0

    def _run(
        self, program: str, *options: object, pass_fds: tuple[int, ...] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run one of PostgreSQL's programs as the server's user, shielded from our Ctrl-C.

        Its environment has no PGPORT, PGDATA or similar, and the locale C.
        """
        plain = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        identity: dict[str, Any] = {}
        if self.user:
            identity = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []}
        return subprocess.run(
            [str(self.binaries.folder / program), *map(str, options)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            cwd="/",  # ours may be closed to the server's user
            env=plain | {"LC_ALL": "C"},
            start_new_session=True,
            pass_fds=pass_fds,
            **identity,
        )


# Stale lock files of a killed server, which name a process id. PostgreSQL ignores such a file if no
# process has the id. It refuses to start if the id now belongs to another program, so that case is
# handled here.


PROC = Path("/proc")


def remove_stale_lock(lock_file: Path, base: Path) -> None:
    """Remove `lock_file` if its process is alive but is not a server of a folder in `base`."""
    with suppress(OSError, ValueError, IndexError):
        process_id = abs(int(lock_file.read_text().split()[0]))
        with suppress(PermissionError):  # then it is alive
            os.kill(process_id, 0)  # raises ProcessLookupError if it is not
        if not _is_process_ours(process_id, base):
            lock_file.unlink()


def _is_process_ours(process_id: int, base: Path) -> bool:
    """Return whether a process is one of our servers, working in a data folder in `base`.

    A dead process that is not yet reaped has no working directory and serves nothing.
    """
    if not (PROC / "self").exists():
        command = ["/bin/ps", "-ww", "-o", "command=", "-p", str(process_id)]
        said = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        return str(base) in said
    with suppress(OSError):
        return (PROC / str(process_id) / "cwd" / "..").samefile(base)
    return False
